//! The name that was probably meant.

/// Longer names are not compared: they are no typing errors.
const LONGEST: usize = 64;

/// The candidate nearest to a name, when one is near enough to be worth a question.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = normal(name);
    if plain.len() > LONGEST {
        return None;
    }
    let limit = (plain.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&plain, &normal(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters only, so that `maxTurns`, `max-turns` and `max_turns` are the same.
fn normal(name: &str) -> Vec<char> {
    let letters = name.chars().filter(|c| !['_', '-', ' '].contains(c));
    letters.flat_map(char::to_lowercase).take(LONGEST + 1).collect()
}

/// How many letters to add, drop, change or swap with the neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = last[j] + usize::from(x != y);
            let mut best = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typing_errors_find_their_name() {
        let names = ["backend", "timeout", "max_turns", "silence_timeout", "env"];
        for (name, meant) in [
            ("bakend", Some("backend")),
            ("backedn", Some("backend")),
            ("Backend", Some("backend")),
            ("timout", Some("timeout")),
            ("max-turns", Some("max_turns")),
            ("maxTurns", Some("max_turns")),
            ("silence_timeuot", Some("silence_timeout")),
            ("envs", Some("env")),
            ("gateway", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, names), meant, "{name:?}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
