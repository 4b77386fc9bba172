//! Runs the CI command in a process group, with a timeout and a watchdog.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout};
use tokio::sync::Notify;

use super::log::Log;
use crate::context::Context;
use crate::process;

/// Runs a command beside a watchdog that waits for the end of standard input. The forge holds the other end of the pipe: when
/// it closes, the watchdog kills the process group. So not even `kill -9` of the forge leaves a run behind.
const WATCHDOG: &str = "exec 3<&0 </dev/null 2>&1; (cat <&3 >/dev/null 2>&1; kill -9 0) >/dev/null & exec 3<&-; \
                        exec \"$@\"";

/// How long to read output after the command has ended, from processes that left the group.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Passed,
    Failed,
    TimedOut,
    Cancelled,
}

/// Runs the command in a checkout and appends its output to the log.
pub(super) async fn run(
    ctx: &Context,
    work: &Path,
    home: &Path,
    cancel: &Notify,
    log: &mut Log,
) -> std::io::Result<Ending> {
    let mut command = process::command("sh", ctx.git.search_path());
    command.args(["-c", WATCHDOG, "ci"]);
    match &ctx.ci.command {
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
    let watchdog_pipe = child.stdin.take();
    let mut stdout = child.stdout.take();
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let ending = tokio::select! {
        ending = watch(&mut child, &mut stdout, log) => ending?,
        () = tokio::time::sleep(ctx.ci.timeout) => Ending::TimedOut,
        () = cancel.notified() => Ending::Cancelled,
    };
    drop(watchdog_pipe);
    if let Some(group) = group {
        // Kills the rest of the group; the watchdog may have done so already.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait().await;
    if let Some(stdout) = &mut stdout {
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, drain(stdout, log)).await;
    }
    Ok(ending)
}

/// Reads until the command has ended, even if other processes keep its output open.
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
