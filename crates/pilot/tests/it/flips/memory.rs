//! Want of memory: only the kernel's word counts, so here it is put into its mouth.

use std::fs;

use crate::program::{command, run};
use crate::yard::Yard;

/// Lays a file of the test's own over every counter that Pilot may ask, and becomes the program behind it.
const OVER_THE_COUNTERS: &str = r#"
events=$1; shift
awk -F: '$2 == "" { print "/sys/fs/cgroup" $3 "/memory.events" } $2 == "memory" { print "/sys/fs/cgroup/memory" $3 "/memory.oom_control" }
  END { print "/proc/vmstat" }' /proc/self/cgroup | while read -r counter; do
  if [ -e "$counter" ]; then mount --bind "$events" "$counter" || exit 9; fi
done || exit 9
exec "$@""#;

/// The first session ends as one that the kernel has killed; the second does its work.
const KILLED: &str = "[ -e @/again ] && { commit a; echo done; exit; }; touch @/again; echo 'oom_kill 1' >@/events; kill -KILL $$";

#[test]
fn want_of_memory_is_tried_again_as_configured() {
    for (variable, value, verdict) in [
        ("PILOT_EXECUTOR_MODEL", "m", ("completed", "", Some(0))),
        ("PILOT_EXECUTOR_RETRY_OOM_KILLED_MAX_ATTEMPTS", "0", ("failed", "oom_killed", Some(1))),
        ("PILOT_EXECUTOR_RETRY_OOM_KILLED_INITIAL_BACKOFF", "5m", ("failed", "oom_killed", Some(1))),
    ] {
        let yard = Yard::new();
        yard.agent(KILLED, &["retry: {oom_killed: {initial_backoff: 0s}}"]);
        fs::write(yard.file("events"), "oom_kill 0\n").expect("a file");
        let pilot = yard.pilot(&["task", "--json", "--no-gates", "--no-review", "Do it"]);
        let mut held = command("unshare");
        held.args(["--user", "--map-root-user", "--mount", "sh", "-c", OVER_THE_COUNTERS, "sh"]);
        held.arg(yard.file("events")).arg(pilot.get_program()).args(pilot.get_args());
        held.current_dir(yard.repo()).env_clear();
        held.envs(pilot.get_envs().filter_map(|(name, value)| Some((name, value?)))).env(variable, value);
        let ended = run(held);
        if ended.stdout.is_empty() && ended.stderr.contains("unshare") || ended.code == Some(9) {
            println!("skipped: nothing can be laid over the kernel's counters here: {}", ended.stderr);
            return;
        }
        let finished = yard.finished(&ended);
        assert_eq!(finished.verdict(), verdict, "{variable}={value}: {finished:?}");
    }
}
