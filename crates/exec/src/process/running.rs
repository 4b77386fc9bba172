//! A running program: its output as it arrives, its deadlines, and how it ended.
//!
//! Nothing is spawned and nothing is buffered here beyond one chunk: the caller of [`Running::next`] drives everything. A slow
//! reader makes the program wait at its pipe, as a terminal would; it never makes Pilot grow, and never ends a run. Deadlines
//! are checked only while `next` is awaited, so keep awaiting it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pilot_core::outcome::{EndedBy, ProcessEnd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until, timeout};

use super::containment::{Containment, ContainmentKind};
use super::descendants;
use super::excerpt::Excerpt;
use super::launch::{Launch, StartError};
use super::oom::OomCounter;
use super::read_pacer::ReadPacer;
use super::stop_clock::{Due, StopClock};
use super::wire::{self, KeeperReport, KeeperRequest};
use crate::pause::pause;

const CHUNK: usize = 64 * 1024;
/// The size asked for each pipe, so that the program rarely waits.
const PIPE: usize = 1024 * 1024;
/// A keeper needs milliseconds to start a program; a machine that swaps may need more.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a drop waits until every process is gone.
const DROP: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub exit: ProcessEnd,
    pub by: EndedBy,
    pub oom: bool,
    /// Whether it left processes behind, which were killed.
    pub leaked: bool,
    pub duration: Duration,
    pub output_bytes: u64,
    pub stderr: Excerpt,
}

/// A running program. Dropping it kills the program and all its descendants.
#[derive(Debug)]
pub struct Running {
    keeper: Child,
    link: UnixStream,
    /// An incomplete line from the keeper.
    line: Vec<u8>,
    link_closed: bool,
    stdin: Option<(pipe::Sender, Vec<u8>, usize)>,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    buffer: Box<[u8]>,
    watch: StopClock,
    read_pacer: ReadPacer,
    exit: Option<ProcessEnd>,
    by: EndedBy,
    killed: bool,
    leaked: bool,
    excerpt: Excerpt,
    output_bytes: u64,
    oom: Option<OomCounter>,
    /// In the fallback, what the program's environment carries.
    mark: Option<String>,
    grace: Duration,
}

impl Running {
    /// Starts a program. When this returns, it runs.
    pub async fn start(mut launch: Launch, containment: &Containment) -> Result<Self, StartError> {
        let program = launch.program()?;
        let mark = mark(&mut launch, containment);
        let broken = |error| StartError::Keeper { keeper: containment.keeper().to_owned(), error };
        let oom = OomCounter::read();
        let (theirs, ours) = pipes().map_err(broken)?;
        let (keeper, link) = containment.start_keeper().map_err(broken)?;
        link.set_nonblocking(true).map_err(broken)?;
        let link = UnixStream::from_std(link).map_err(broken)?;
        let stdin = std::mem::take(&mut launch.stdin);
        let mut running = Self {
            keeper,
            link,
            line: Vec::new(),
            link_closed: false,
            stdin: Some((ours.stdin, stdin, 0)).filter(|(_, bytes, _)| !bytes.is_empty()),
            stdout: Some(ours.stdout),
            stderr: Some(ours.stderr),
            buffer: vec![0; CHUNK].into_boxed_slice(),
            watch: StopClock::new(launch.deadlines, now()),
            read_pacer: ReadPacer::new(ours.room, now()),
            exit: None,
            by: EndedBy::Itself,
            killed: false,
            leaked: false,
            excerpt: Excerpt::default(),
            output_bytes: 0,
            oom,
            mark,
            grace: launch.deadlines.grace,
        };
        let started = running.hand_over(&launch, &program, theirs);
        match timeout(PATIENCE, started).await {
            Ok(Ok(None)) => Ok(running),
            Ok(Ok(Some(errno))) => Err(launch.refused(&program, errno)),
            Ok(Err(error)) => Err(broken(error)),
            Err(_) => Err(broken(io::ErrorKind::TimedOut.into())),
        }
    }

    /// Waits for the next piece of output; none when the program and all its descendants are gone. Cancel-safe.
    pub async fn next(&mut self) -> Option<Output<'_>> {
        let (stream, length) = self.step().await?;
        let bytes = &self.buffer[..length];
        self.output_bytes += length as u64;
        match stream {
            Stream::Stdout => Some(Output::Stdout(bytes)),
            Stream::Stderr => {
                self.excerpt.push(bytes);
                Some(Output::Stderr(bytes))
            }
        }
    }

    /// Waits for its end and discards the output that still comes.
    pub async fn end(mut self) -> Ended {
        while self.next().await.is_some() {}
        let exit = match self.exit {
            Some(exit) => exit,
            // The keeper had been told to kill it, and the kernel did so when the keeper exited.
            None if self.killed => ProcessEnd::Signal(rustix::process::Signal::KILL.as_raw()),
            None => ProcessEnd::Lost,
        };
        let killed =
            matches!(exit, ProcessEnd::Signal(9) | ProcessEnd::Code(137)) && self.by == EndedBy::Itself;
        Ended {
            exit,
            by: self.by,
            oom: killed && self.oom.as_ref().is_some_and(OomCounter::has_risen),
            leaked: self.leaked,
            duration: now().duration_since(self.watch.started()),
            output_bytes: self.output_bytes,
            stderr: std::mem::take(&mut self.excerpt),
        }
    }

    /// Sends TERM to it and all its descendants, and KILL after the grace period of its deadlines.
    pub fn stop(&mut self, why: EndedBy) {
        self.stop_within(why, self.grace);
    }

    pub fn stop_within(&mut self, why: EndedBy, grace: Duration) {
        self.request_stop(why, grace);
    }

    pub fn kill_now(&mut self, why: EndedBy) {
        self.record_cause(why);
        self.kill();
    }

    /// The keeper's process id, for a record of what runs; its end is the end of the run.
    pub fn keeper_id(&self) -> u32 {
        self.keeper.id()
    }

    pub fn suspend_silence(&mut self) {
        self.watch.listen(false, now());
    }

    pub fn resume_silence(&mut self) {
        self.watch.listen(true, now());
    }

    /// Sends the keeper its request. An error number is the system's answer to the exec.
    async fn hand_over(
        &mut self,
        launch: &Launch,
        program: &Path,
        pipes: [OwnedFd; 3],
    ) -> io::Result<Option<i32>> {
        let request = KeeperRequest {
            program: program.to_owned(),
            argv: launch.argv.clone(),
            cwd: launch.cwd.clone(),
            env: launch.env.clone(),
            limits: launch.limits,
        };
        let body = request.encode();
        let [stdin, stdout, stderr] = &pipes;
        wire::send_head(&self.link, body.len(), [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
        drop(pipes);
        // A keeper that refuses stops reading, so its report is read before the write error counts.
        let sent = self.link.write_all(&body).await;
        loop {
            match self.report().await? {
                Some(KeeperReport::Ready { .. }) => {}
                Some(KeeperReport::Started) => return Ok(None),
                Some(KeeperReport::Failed(errno)) => return Ok(Some(errno)),
                Some(KeeperReport::Refused(why)) => return Err(io::Error::other(why)),
                Some(KeeperReport::Exited(_) | KeeperReport::Signalled(_)) => {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                None => return sent.and(Err(io::ErrorKind::UnexpectedEof.into())),
            }
        }
    }

    /// The next line of the keeper; none when it is gone. Cancel-safe.
    async fn report(&mut self) -> io::Result<Option<KeeperReport>> {
        loop {
            if let Some(report) = self.spoken() {
                return Ok(Some(report));
            }
            self.link.readable().await?;
            if self.read_keeper()? == KeeperRead::End {
                return Ok(None);
            }
        }
    }

    fn spoken(&mut self) -> Option<KeeperReport> {
        let end = self.line.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.line.drain(..=end).collect();
        KeeperReport::parse(String::from_utf8_lossy(&line).trim_end())
    }

    fn read_keeper(&mut self) -> io::Result<KeeperRead> {
        let mut bytes = [0; 256];
        match self.link.try_read(&mut bytes) {
            Ok(0) => Ok(KeeperRead::End),
            Ok(length) => {
                self.line.extend_from_slice(&bytes[..length]);
                Ok(KeeperRead::Something)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(KeeperRead::Something),
            Err(error) => Err(error),
        }
    }

    /// Drives everything until a piece of output is in the buffer, or no more can come.
    async fn step(&mut self) -> Option<(Stream, usize)> {
        loop {
            if self.link_closed {
                return self.rest();
            }
            if let Some(due) = self.watch.overdue(now()) {
                self.act(due);
                continue;
            }
            let next = self.watch.next();
            // In this order: sources that the program can keep busy come after those it cannot, and silence comes last.
            tokio::select! {
                biased;
                ready = self.link.readable() => self.listen(ready),
                ready = writable(self.stdin.as_ref()) => self.feed(ready),
                stream = readable(self.stdout.as_ref(), self.stderr.as_ref()) => {
                    if let Some(wait) = self.read_pacer.wait() {
                        pause(wait);
                    }
                    if let Some(length) = self.read(stream) {
                        let now = now();
                        self.watch.heard(now);
                        self.read_pacer.heard(length, self.buffer.len(), now);
                        return Some((stream, length));
                    }
                }
                due = wait_for(next) => self.act(due),
            }
        }
    }

    fn listen(&mut self, ready: io::Result<()>) {
        match ready.and_then(|()| self.read_keeper()) {
            Ok(KeeperRead::Something) => {}
            Ok(KeeperRead::End) | Err(_) => self.gone(),
        }
        self.understand();
    }

    /// The same without waiting for the runtime to notice.
    fn look(&mut self) {
        let mut bytes = [0; 256];
        while let Ok((length, _)) = rustix::net::recv(&self.link, &mut bytes, RecvFlags::DONTWAIT) {
            if length == 0 {
                self.gone();
                break;
            }
            self.line.extend_from_slice(&bytes[..length]);
        }
        self.understand();
    }

    fn understand(&mut self) {
        while let Some(report) = self.spoken() {
            let exit = match report {
                KeeperReport::Exited(code) => ProcessEnd::Code(code),
                KeeperReport::Signalled(signal) => ProcessEnd::Signal(signal),
                KeeperReport::Ready { .. }
                | KeeperReport::Refused(_)
                | KeeperReport::Started
                | KeeperReport::Failed(_) => continue,
            };
            self.exit = Some(exit);
            self.watch.exited(now());
        }
    }

    /// The keeper is gone, and with it the namespace.
    fn gone(&mut self) {
        self.link_closed = true;
        self.stdin = None;
        // Its last descriptor was closed by its exit, so this does not wait.
        let code = self.keeper.wait().ok().and_then(|status| status.code());
        if let Some(mark) = self.mark.as_ref().filter(|_| code != Some(0)) {
            descendants::end_marked(mark);
        }
    }

    fn feed(&mut self, ready: io::Result<()>) {
        let Some((pipe, bytes, from)) = &mut self.stdin else { return };
        match ready.and_then(|()| pipe.try_write(&bytes[*from..])) {
            Ok(length) => *from += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            // The program closed its input before reading all of it, which it may.
            Err(_) => *from = bytes.len(),
        }
        if *from == bytes.len() {
            self.stdin = None;
        }
    }

    fn read(&mut self, stream: Stream) -> Option<usize> {
        let pipe = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        match pipe.as_ref()?.try_read(&mut self.buffer) {
            Ok(0) => *pipe = None,
            Ok(length) => return Some(length),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => *pipe = None,
        }
        None
    }

    /// Reads what is left in the pipes after every process is gone. Other holders of the pipes are not waited for.
    fn rest(&mut self) -> Option<(Stream, usize)> {
        for (stream, pipe) in [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)] {
            // Not through the runtime, which may not know yet that the pipe is readable.
            if let Some(open) = &pipe
                && let Ok(length @ 1..) =
                    rustix::io::retry_on_intr(|| rustix::io::read(open, &mut *self.buffer))
            {
                return Some((stream, length));
            }
            *pipe = None;
        }
        None
    }

    fn act(&mut self, due: Due) {
        match due {
            Due::Deadline => self.stop_at_deadline(EndedBy::Deadline),
            Due::Silence => self.stop_at_deadline(EndedBy::Silence),
            Due::Kill => self.kill(),
            Due::Abandon => {
                let _ = self.keeper.kill();
                self.watch.abandoned(now());
            }
            Due::GiveUp => self.link_closed = true,
        }
    }

    /// Stops the program at a deadline. When `next` was not awaited for a while, it may have ended long before.
    fn stop_at_deadline(&mut self, by: EndedBy) {
        self.look();
        if self.exit.is_none() && !self.link_closed {
            self.request_stop(by, self.grace);
        }
    }

    fn request_stop(&mut self, by: EndedBy, grace: Duration) {
        self.record_cause(by);
        self.send_command(wire::TERM);
        self.watch.asked(grace, now());
    }

    fn kill(&mut self) {
        self.killed = true;
        self.leaked |= self.exit.is_some();
        self.send_command(wire::KILL);
        self.watch.killed(now());
    }

    /// Records who ended the program. The first cause counts, and only while the program runs.
    fn record_cause(&mut self, by: EndedBy) {
        if self.exit.is_none() && !self.link_closed && self.by == EndedBy::Itself {
            self.by = by;
        }
    }

    /// Ignores errors: a keeper that is gone needs no command.
    fn send_command(&self, order: u8) {
        let _ = rustix::net::send(&self.link, &[order], SendFlags::NOSIGNAL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.link_closed {
            return;
        }
        // The keeper handles this even in the middle of a request.
        let _ = shutdown(&self.link, Shutdown::Write);
        let mut fds = [PollFd::new(&self.link, PollFlags::empty())];
        if let Ok(time) = DROP.try_into() {
            let _ = poll(&mut fds, Some(&time));
        }
        if !fds[0].revents().contains(PollFlags::HUP) {
            let _ = self.keeper.kill();
        }
        self.gone();
    }
}

#[derive(Clone, Copy, Debug)]
enum Stream {
    Stdout,
    Stderr,
}

#[derive(PartialEq)]
enum KeeperRead {
    Something,
    End,
}

struct Ends {
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    room: usize,
}

fn pipes() -> io::Result<([OwnedFd; 3], Ends)> {
    let (stdin, our_stdin) = pipe_with(PipeFlags::CLOEXEC)?;
    let (our_stdout, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (our_stderr, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    // The kernel limits large pipes per user; a small one is only slower.
    let _ = fcntl_setpipe_size(&our_stdout, PIPE);
    let ends = Ends {
        room: fcntl_getpipe_size(&our_stdout)?,
        stdin: pipe::Sender::from_owned_fd(our_stdin)?,
        stdout: pipe::Receiver::from_owned_fd(our_stdout)?,
        stderr: pipe::Receiver::from_owned_fd(our_stderr)?,
    };
    Ok(([stdin, stdout, stderr], ends))
}

/// In the fallback the program's environment carries a mark, by which its descendants are found should the keeper be killed.
fn mark(launch: &mut Launch, containment: &Containment) -> Option<String> {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    match containment.kind() {
        ContainmentKind::Namespace { .. } => None,
        ContainmentKind::Fallback { .. } => {
            let run = RUNS.fetch_add(1, Ordering::Relaxed);
            let value = format!("{}-{run}", std::process::id());
            let mark = format!("PILOT_CONTAINED={value}");
            launch.env.push((OsString::from("PILOT_CONTAINED"), value.into()));
            Some(mark)
        }
    }
}

async fn writable(stdin: Option<&(pipe::Sender, Vec<u8>, usize)>) -> io::Result<()> {
    match stdin {
        Some((pipe, ..)) => pipe.writable().await,
        None => std::future::pending().await,
    }
}

/// Alternates randomly which stream is polled first, so that neither can starve the other.
async fn readable(stdout: Option<&pipe::Receiver>, stderr: Option<&pipe::Receiver>) -> Stream {
    async fn ready(pipe: Option<&pipe::Receiver>) {
        match pipe {
            // An error here occurs again, and is handled, when reading.
            Some(pipe) => drop(pipe.readable().await),
            None => std::future::pending().await,
        }
    }
    tokio::select! {
        () = ready(stdout) => Stream::Stdout,
        () = ready(stderr) => Stream::Stderr,
    }
}

async fn wait_for(next: Option<(Instant, Due)>) -> Due {
    match next {
        Some((at, due)) => {
            sleep_until(at).await;
            due
        }
        None => std::future::pending().await,
    }
}

#[expect(clippy::disallowed_methods, reason = "a process takes real time; this is where it is measured")]
fn now() -> Instant {
    Instant::now()
}
