//! In which order gates run.

use super::Gate;

/// The gates by their place in the list, in batches that run one after the other. Gates of one group run together, at the
/// place of the first of them; without a group each runs alone, or with `parallel` together with the others that have none.
pub fn schedule(gates: &[Gate], parallel: bool) -> Vec<Vec<usize>> {
    let mut batches: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (index, gate) in gates.iter().enumerate() {
        let group = gate.group.as_deref();
        let together = group.is_some() || parallel;
        match batches.iter_mut().find(|(of, _)| together && *of == group) {
            Some((_, batch)) => batch.push(index),
            None => batches.push((group, vec![index])),
        }
    }
    batches.into_iter().map(|(_, batch)| batch).collect()
}

#[cfg(test)]
mod tests {
    use super::schedule;
    use crate::gate::{Gate, GateKind};

    #[test]
    fn groups_run_together_and_other_gates_alone() {
        let check = |groups: &[&str], parallel: bool, expect: &[&[usize]]| {
            let gate = |group: &&str| Gate {
                group: Some((*group).to_owned()).filter(|group| !group.is_empty()),
                ..Gate::new("x", GateKind::Custom, "true")
            };
            let gates: Vec<Gate> = groups.iter().map(gate).collect();
            assert_eq!(schedule(&gates, parallel), expect, "{groups:?} {parallel}");
        };
        check(&[], false, &[]);
        check(&["", "", ""], false, &[&[0], &[1], &[2]]);
        check(&["", "", ""], true, &[&[0, 1, 2]]);
        check(&["", "a", "a", ""], false, &[&[0], &[1, 2], &[3]]);
        check(&["a", "", "a", "b", "b"], false, &[&[0, 2], &[1], &[3, 4]]);
        check(&["a", "", "a", ""], true, &[&[0, 2], &[1, 3]]);
    }
}
