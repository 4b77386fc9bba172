//! A worker: this program again, in a process of its own, that does one thing, says lines on the way, and ends.
//!
//! It dies with whoever started it: its first act is [`bind`]. So it must be started by a thread that lives as long as the
//! program does.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// A worker that was started.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    said: Option<Lines<BufReader<ChildStdout>>>,
    complained: Option<Lines<BufReader<ChildStderr>>>,
}

/// What is heard of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line on its standard output.
    Line(String),
    /// A line on its standard error.
    Complaint(String),
    /// It is over, with this code; none when a signal ended it.
    Ended(Option<i32>),
}

impl Worker {
    /// Starts one and gives it something to read. It must be called by the program's main thread.
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
        // A Ctrl-C at the terminal is for us, who then tell it to end.
        command.process_group(0);
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that dies before it has read everything says so by its end.
            let _ = stdin.write_all(input).await;
        }
        let said = child.stdout.take().map(|out| BufReader::new(out).lines());
        let complained = child.stderr.take().map(|err| BufReader::new(err).lines());
        Ok(Worker { child, said, complained })
    }

    /// What it says next. Nothing is lost when somebody stops waiting for it.
    pub async fn hear(&mut self) -> io::Result<Heard> {
        loop {
            tokio::select! {
                line = next(&mut self.said), if self.said.is_some() => match line? {
                    Some(line) => return Ok(Heard::Line(line)),
                    None => self.said = None,
                },
                line = next(&mut self.complained), if self.complained.is_some() => match line? {
                    Some(line) => return Ok(Heard::Complaint(line)),
                    None => self.complained = None,
                },
                ended = self.child.wait(), if self.said.is_none() && self.complained.is_none() => {
                    return Ok(Heard::Ended(ended?.code()));
                }
            }
        }
    }

    /// Kills it as `kill -9` does.
    pub async fn kill(mut self) -> io::Result<()> {
        self.child.kill().await
    }

    /// Asks it to end.
    pub fn stop(&self) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // One that is gone does not have to be asked.
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

/// Ends this process when the one that started it, which is `parent`, is gone; also when it already is.
pub fn bind(parent: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if now != i32::try_from(parent).ok() {
        return Err(io::Error::other("whoever started this is gone"));
    }
    Ok(())
}
