//! The real program, run as its user runs it.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A command ready to run, with nothing on its standard input.
#[expect(clippy::disallowed_methods, reason = "the tests' one place that starts processes")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

/// Pilot itself, ready to run.
pub(crate) fn pilot(args: &[&str]) -> Command {
    let mut pilot = command(env!("CARGO_BIN_EXE_pilot"));
    pilot.args(args);
    pilot
}

/// The same where the kernel gives no PID namespace: inside a user namespace that may not have any.
pub(crate) fn pilot_without_namespaces(args: &[&str]) -> Command {
    let mut pilot = command("unshare");
    let forbid = "echo 0 >/proc/sys/user/max_pid_namespaces && exec \"$@\"";
    pilot.args(["--user", "--map-root-user", "sh", "-c", forbid, "sh", env!("CARGO_BIN_EXE_pilot")]);
    pilot.args(args);
    pilot
}

/// Runs a command to its end, with `input` on its standard input.
pub(crate) fn feed(mut command: Command, input: &[u8]) -> Ended {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A thread, because a program that answers while it reads would fill its output pipe and wait for us for ever.
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program may end before it has read everything; that is its right.
            _ = stdin.write_all(input);
        });
        child.wait_with_output().expect("wait")
    });
    Ended::from(output)
}

/// Runs a command to its end.
pub(crate) fn run(mut command: Command) -> Ended {
    Ended::from(command.output().expect("start"))
}

/// How long a test waits for what must come: far longer than it takes, and far shorter than what must not be waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Looks until it is so, or the time is over.
pub(crate) fn within(time: Duration, mut so: impl FnMut() -> bool) -> bool {
    let step = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    while !so() {
        if waited >= time {
            return false;
        }
        let _ = rustix::event::poll(&mut [], Some(&step.try_into().expect("a short time")));
        waited += step;
    }
    true
}

/// Whether the long version of the tests was asked for.
#[expect(clippy::disallowed_methods, reason = "the tests' one switch")]
pub(crate) fn is_full() -> bool {
    std::env::var_os("PILOT_TEST_FULL").is_some_and(|value| value == "1")
}

/// A number that is another one for another commit: which part of something long its ordinary run takes.
pub(crate) fn turn() -> u64 {
    let mut git = command("git");
    git.args(["rev-parse", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let commit = run(git).stdout;
    u64::from_str_radix(commit.get(..8).unwrap_or_default(), 16).unwrap_or(0)
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    /// What it complained about.
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }
}
