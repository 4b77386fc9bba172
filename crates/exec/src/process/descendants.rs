//! Finds processes in `/proc` by descent or by a mark in their environment.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

pub(super) fn descendants(root: Pid) -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in pids() {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw_pid()];
    while let Some(pid) = open.pop() {
        let born = children.remove(&pid).unwrap_or_default();
        found.extend(born.iter().filter_map(|pid| Pid::from_raw(*pid)));
        open.extend(born);
    }
    found
}

/// Kills every process whose environment carries `NAME=value`. The last resort, when the keeper that knows the descendants is gone.
pub(super) fn end_marked(mark: &str) {
    // Each round can miss only processes forked during it.
    for _ in 0..100 {
        let marked: Vec<Pid> = pids().filter(|pid| is_marked(*pid, mark)).filter_map(Pid::from_raw).collect();
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn is_marked(pid: i32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The parent of a process that is not yet dead.
fn parent(pid: i32) -> Option<i32> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(stat: &str) -> Option<i32> {
    // The name, in parentheses, may hold anything.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then(|| fields.next()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_read_past_hostile_names() {
        assert_eq!(parse("7 (sh) S 3 7 7"), Some(3));
        assert_eq!(parse("7 (a) Z 1 (b) R 4 7"), Some(4));
        assert_eq!(parse("7 (sh) Z 3 7 7"), None);
        assert_eq!(parse("nonsense"), None);
    }
}
