//! Whether the kernel killed a process because memory ran out. A SIGKILL alone does not prove it.

use std::fs;
use std::path::{Path, PathBuf};

/// How often the kernel has killed a process because memory ran out, where it is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OomCounter {
    file: PathBuf,
    count: u64,
}

impl OomCounter {
    /// The counter of our own control group, which the program shares; else the machine's.
    pub(super) fn read() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let files = groups.lines().filter_map(counter_file);
        files.chain([PathBuf::from("/proc/vmstat")]).find_map(|file| {
            let count = count(&fs::read_to_string(&file).ok()?)?;
            Some(Self { file, count })
        })
    }

    pub(super) fn has_risen(&self) -> bool {
        fs::read_to_string(&self.file).ok().and_then(|text| count(&text)).is_some_and(|now| now > self.count)
    }
}

/// The file that counts for one line of `/proc/self/cgroup`.
fn counter_file(line: &str) -> Option<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?.trim_start_matches('/'));
    match controllers {
        "" => Some(Path::new("/sys/fs/cgroup").join(group).join("memory.events")),
        "memory" => Some(Path::new("/sys/fs/cgroup/memory").join(group).join("memory.oom_control")),
        _ => None,
    }
}

fn count(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_in_both_kinds_of_groups() {
        assert_eq!(
            counter_file("0::/user.slice/a:b").unwrap(),
            Path::new("/sys/fs/cgroup/user.slice/a:b/memory.events")
        );
        assert_eq!(
            counter_file("4:memory:/x").unwrap(),
            Path::new("/sys/fs/cgroup/memory/x/memory.oom_control")
        );
        assert_eq!(counter_file("8:pids:/"), None);
        assert_eq!(counter_file(""), None);
    }

    #[test]
    fn counts_are_read_from_every_file() {
        assert_eq!(count("low 0\noom 3\noom_kill 2\noom_group_kill 1\n"), Some(2));
        assert_eq!(count("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"), Some(5));
        assert_eq!(count("oom_kill_disable 0\n"), None);
    }
}
