//! A worker: this program again, in a process of its own, that reads one request, prints lines and exits.
//!
//! It dies with the process that started it: its first act is [`bind`]. The kernel ties that to the starting thread, so it must
//! be started by one that lives as long as the program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

#[derive(Debug)]
pub struct Worker {
    child: Child,
    stdout: Option<Lines<BufReader<ChildStdout>>>,
    stderr: Option<Lines<BufReader<ChildStderr>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerOutput {
    Line(String),
    Complaint(String),
    Ended(Option<i32>),
}

impl Worker {
    /// Starts one with this standard input. Must be called by the program's main thread.
    pub async fn start(
        program: &Path,
        args: &[&str],
        env: &BTreeMap<OsString, OsString>,
        input: &[u8],
    ) -> io::Result<Worker> {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts workers")]
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(env).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C at the terminal goes to the parent alone, which then stops the worker.
        command.process_group(0);
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A worker that dies before it has read everything is noticed by its exit.
            let _ = stdin.write_all(input).await;
        }
        let stdout = child.stdout.take().map(|out| BufReader::new(out).lines());
        let stderr = child.stderr.take().map(|err| BufReader::new(err).lines());
        Ok(Worker { child, stdout, stderr })
    }

    /// Waits for its next line or its exit. Cancel safe.
    pub async fn next_output(&mut self) -> io::Result<WorkerOutput> {
        loop {
            tokio::select! {
                line = next(&mut self.stdout), if self.stdout.is_some() => match line? {
                    Some(line) => return Ok(WorkerOutput::Line(line)),
                    None => self.stdout = None,
                },
                line = next(&mut self.stderr), if self.stderr.is_some() => match line? {
                    Some(line) => return Ok(WorkerOutput::Complaint(line)),
                    None => self.stderr = None,
                },
                ended = self.child.wait(), if self.stdout.is_none() && self.stderr.is_none() => {
                    return Ok(WorkerOutput::Ended(ended?.code()));
                }
            }
        }
    }

    pub async fn kill(mut self) -> io::Result<()> {
        self.child.kill().await
    }

    pub fn stop(&self) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // An error means that it is gone already.
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
    }
}

async fn next<R: tokio::io::AsyncBufRead + Unpin>(
    lines: &mut Option<Lines<R>>,
) -> io::Result<Option<String>> {
    match lines {
        Some(lines) => lines.next_line().await,
        None => Ok(None),
    }
}

/// Makes the kernel end this process with its parent; an error when `parent` is gone already.
pub fn bind(parent: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if now != i32::try_from(parent).ok() {
        return Err(io::Error::other("the process that started this worker is gone"));
    }
    Ok(())
}
