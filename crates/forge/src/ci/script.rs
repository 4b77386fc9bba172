//! Running the command of a repository: in a process group, with a lifeline, for so long and no longer.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout};
use tokio::sync::Notify;

use super::log::Log;
use crate::process;
use crate::site::Site;

/// Runs a command beside a watcher that waits for the end of standard input. The forge holds the other end: when it dies, or
/// lets go, the watcher ends everybody in the group. So not even `kill -9` of the forge leaves a run behind.
const LIFELINE: &str = "exec 3<&0 </dev/null 2>&1; (cat <&3 >/dev/null 2>&1; kill -9 0) >/dev/null & exec 3<&-; \
                        exec \"$@\"";

/// How long output may come after the command has ended, from somebody who left the group.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With 0.
    Passed,
    /// With something else.
    Failed,
    /// It took too long.
    TimedOut,
    /// Somebody did not want it any more.
    Cancelled,
}

/// Runs the command in a checkout.
pub(super) async fn run(
    site: &Site,
    work: &Path,
    home: &Path,
    cancel: &Notify,
    log: &mut Log,
) -> std::io::Result<Ending> {
    let mut command = process::command("sh", site.git.search_path());
    command.args(["-c", LIFELINE, "ci"]);
    match &site.ci.command {
        Some(line) => command.args(["sh", "-c", line]),
        None => command.args(["sh", ".pilot/ci.sh"]),
    };
    let mut child = command
        .current_dir(work)
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("CI", "true")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let lifeline = child.stdin.take();
    let mut stdout = child.stdout.take();
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let ending = tokio::select! {
        ending = watch(&mut child, &mut stdout, log) => ending?,
        () = tokio::time::sleep(site.ci.timeout) => Ending::TimedOut,
        () = cancel.notified() => Ending::Cancelled,
    };
    drop(lifeline);
    if let Some(group) = group {
        // Whoever is left of the group; the lifeline may have been faster.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait().await;
    if let Some(stdout) = &mut stdout {
        let _ = tokio::time::timeout(AFTERWARDS, drain(stdout, log)).await;
    }
    Ok(ending)
}

/// Reads until the command itself has ended, whoever else still has its output open.
async fn watch(
    child: &mut Child,
    stdout: &mut Option<ChildStdout>,
    log: &mut Log,
) -> std::io::Result<Ending> {
    let Some(stdout) = stdout else { return Ok(Ending::Failed) };
    let status = tokio::select! {
        biased;
        status = child.wait() => status?,
        read = drain(stdout, log) => {
            read?;
            child.wait().await?
        }
    };
    Ok(if status.success() { Ending::Passed } else { Ending::Failed })
}

async fn drain(stdout: &mut ChildStdout, log: &mut Log) -> std::io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        match stdout.read(&mut chunk).await? {
            0 => return Ok(()),
            read => log.push(&chunk[..read]),
        }
    }
}
