//! A program that runs: its output as it comes, its clocks, and how it ended.
//!
//! Nothing is spawned and nothing is buffered here beyond one chunk: whoever awaits [`Running::next`] drives everything. A slow
//! reader makes the program wait at its pipe, as a terminal would; it never makes Pilot grow, and never ends a run. Deadlines
//! are looked at while `next` is awaited, so keep awaiting it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until, timeout};

use super::containment::{Containment, Kind};
use super::evidence::OomCounter;
use super::excerpt::Excerpt;
use super::flood::Flood;
use super::launch::{Launch, StartError};
use super::sweep;
use super::watch::{Due, Watch};
use super::wire::{self, Report, Request};
use crate::pause::pause;

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// What the kernel may hold for us, so that the program rarely waits.
const PIPE: usize = 1024 * 1024;
/// A keeper needs milliseconds to start a program; a machine that swaps may need more.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a drop may take to see everything gone.
const DROP: Duration = Duration::from_secs(1);

/// A piece of what the program wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// On standard output.
    Stdout(&'a [u8]),
    /// On standard error.
    Stderr(&'a [u8]),
}

/// Why Pilot ended a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A person wanted it.
    Cancelled,
    /// Pilot itself goes down.
    Shutdown,
    /// It said that it was done, and did not end.
    Lingered,
    /// It went round in circles.
    Stagnated,
    /// It spent what it may spend.
    Budget,
}

/// How its own process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody knows: the keeper died before it could say. Everything is gone all the same.
    Lost,
}

/// Who ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Nobody here.
    Itself,
    /// Pilot, on request.
    Stopped(Why),
    /// Pilot, after too long a silence.
    Silence,
    /// Pilot, after too long a time.
    Deadline,
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How its own process ended.
    pub exit: Exit,
    /// Who ended it.
    pub by: EndedBy,
    /// Whether the kernel says that it ended it for want of memory.
    pub oom: bool,
    /// Whether it left processes behind, which are gone now.
    pub leaked: bool,
    /// How long it ran.
    pub duration: Duration,
    /// Bytes it wrote, on both streams.
    pub output_bytes: u64,
    /// Both ends of its standard error.
    pub stderr: Excerpt,
}

/// A running program. Dropping it ends the program and all its kin.
#[derive(Debug)]
pub struct Running {
    keeper: Child,
    link: UnixStream,
    /// What the keeper said and has not finished saying.
    line: Vec<u8>,
    link_closed: bool,
    stdin: Option<(pipe::Sender, Vec<u8>, usize)>,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    buffer: Box<[u8]>,
    watch: Watch,
    flood: Flood,
    exit: Option<Exit>,
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
            watch: Watch::new(launch.deadlines, now()),
            flood: Flood::new(ours.room, now()),
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

    /// Waits for the next piece of output; none when the program and all its kin are gone. May be cancelled without loss.
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

    /// What became of it; reads, and throws away, whatever it still writes.
    pub async fn end(mut self) -> Ended {
        while self.next().await.is_some() {}
        let exit = match self.exit {
            Some(exit) => exit,
            // The kernel does what the keeper was told to do.
            None if self.killed => Exit::Signal(rustix::process::Signal::KILL.as_raw()),
            None => Exit::Lost,
        };
        let killed = matches!(exit, Exit::Signal(9) | Exit::Code(137)) && self.by == EndedBy::Itself;
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

    /// Asks it and all its kin to end, and ends them after the grace of its deadlines.
    pub fn stop(&mut self, why: Why) {
        self.stop_within(why, self.grace);
    }

    /// Asks it and all its kin to end, and ends them after this grace.
    pub fn stop_within(&mut self, why: Why, grace: Duration) {
        self.ask(EndedBy::Stopped(why), grace);
    }

    /// Ends it and all its kin at once.
    pub fn kill_now(&mut self, why: Why) {
        self.blame(EndedBy::Stopped(why));
        self.kill();
    }

    /// The process that holds it, for a record of what runs; its end is the end of the run.
    pub fn keeper_id(&self) -> u32 {
        self.keeper.id()
    }

    /// From now on its silence means nothing.
    pub fn suspend_silence(&mut self) {
        self.watch.listen(false, now());
    }

    /// Its silence counts again, from now.
    pub fn resume_silence(&mut self) {
        self.watch.listen(true, now());
    }

    /// Gives the keeper its request. An error number is the system's answer to the program.
    async fn hand_over(
        &mut self,
        launch: &Launch,
        program: &Path,
        pipes: [OwnedFd; 3],
    ) -> io::Result<Option<i32>> {
        let request = Request {
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
        // A keeper that refuses does not read on; what it said comes first.
        let sent = self.link.write_all(&body).await;
        loop {
            match self.report().await? {
                Some(Report::Ready { .. }) => {}
                Some(Report::Started) => return Ok(None),
                Some(Report::Failed(errno)) => return Ok(Some(errno)),
                Some(Report::Refused(why)) => return Err(io::Error::other(why)),
                Some(Report::Exited(_) | Report::Signalled(_)) => {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                None => return sent.and(Err(io::ErrorKind::UnexpectedEof.into())),
            }
        }
    }

    /// The next line of the keeper; none when it is gone. May be cancelled without loss.
    async fn report(&mut self) -> io::Result<Option<Report>> {
        loop {
            if let Some(report) = self.spoken() {
                return Ok(Some(report));
            }
            self.link.readable().await?;
            if self.hear()? == Heard::End {
                return Ok(None);
            }
        }
    }

    /// A whole line that has arrived.
    fn spoken(&mut self) -> Option<Report> {
        let end = self.line.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.line.drain(..=end).collect();
        Report::parse(String::from_utf8_lossy(&line).trim_end())
    }

    /// Takes what has arrived.
    fn hear(&mut self) -> io::Result<Heard> {
        let mut bytes = [0; 256];
        match self.link.try_read(&mut bytes) {
            Ok(0) => Ok(Heard::End),
            Ok(length) => {
                self.line.extend_from_slice(&bytes[..length]);
                Ok(Heard::Something)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Heard::Something),
            Err(error) => Err(error),
        }
    }

    /// Drives everything until there is a piece of output in the buffer, or nothing more to come.
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
            // In this order: what the program can make endless comes behind what it cannot, and silence is what is left.
            tokio::select! {
                biased;
                ready = self.link.readable() => self.listen(ready),
                ready = writable(self.stdin.as_ref()) => self.feed(ready),
                stream = readable(self.stdout.as_ref(), self.stderr.as_ref()) => {
                    if let Some(wait) = self.flood.wait() {
                        pause(wait);
                    }
                    if let Some(length) = self.read(stream) {
                        let now = now();
                        self.watch.heard(now);
                        self.flood.heard(length, self.buffer.len(), now);
                        return Some((stream, length));
                    }
                }
                due = wait_for(next) => self.act(due),
            }
        }
    }

    /// The keeper said something, or is gone.
    fn listen(&mut self, ready: io::Result<()>) {
        match ready.and_then(|()| self.hear()) {
            Ok(Heard::Something) => {}
            Ok(Heard::End) | Err(_) => self.gone(),
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
                Report::Exited(code) => Exit::Code(code),
                Report::Signalled(signal) => Exit::Signal(signal),
                Report::Ready { .. } | Report::Refused(_) | Report::Started | Report::Failed(_) => continue,
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
            sweep::end_marked(mark);
        }
    }

    fn feed(&mut self, ready: io::Result<()>) {
        let Some((pipe, bytes, from)) = &mut self.stdin else { return };
        match ready.and_then(|()| pipe.try_write(&bytes[*from..])) {
            Ok(length) => *from += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            // It does not want to read it all, which is its own affair.
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

    /// What is still in the pipes when nobody is left to write. Whoever else may hold them is not waited for.
    fn rest(&mut self) -> Option<(Stream, usize)> {
        for (stream, pipe) in [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)] {
            // Not through the runtime, which may not have heard yet that there is something.
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
            Due::Deadline => self.accuse(EndedBy::Deadline),
            Due::Silence => self.accuse(EndedBy::Silence),
            Due::Kill => self.kill(),
            Due::Abandon => {
                let _ = self.keeper.kill();
                self.watch.abandoned(now());
            }
            Due::GiveUp => self.link_closed = true,
        }
    }

    /// If nobody awaited us for a while, it may have ended long before its time was over.
    fn accuse(&mut self, by: EndedBy) {
        self.look();
        if self.exit.is_none() && !self.link_closed {
            self.ask(by, self.grace);
        }
    }

    fn ask(&mut self, by: EndedBy, grace: Duration) {
        self.blame(by);
        self.order(wire::TERM);
        self.watch.asked(grace, now());
    }

    fn kill(&mut self) {
        self.killed = true;
        self.leaked |= self.exit.is_some();
        self.order(wire::KILL);
        self.watch.killed(now());
    }

    /// The first cause counts, and only while the program runs.
    fn blame(&mut self, by: EndedBy) {
        if self.exit.is_none() && !self.link_closed && self.by == EndedBy::Itself {
            self.by = by;
        }
    }

    /// A keeper that is gone needs no orders.
    fn order(&self, order: u8) {
        let _ = rustix::net::send(&self.link, &[order], SendFlags::NOSIGNAL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.link_closed {
            return;
        }
        // Understood even in the middle of a request.
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
enum Heard {
    Something,
    End,
}

/// Our ends of the program's pipes.
struct Ends {
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    /// What the pipe of its standard output holds.
    room: usize,
}

fn pipes() -> io::Result<([OwnedFd; 3], Ends)> {
    let (stdin, our_stdin) = pipe_with(PipeFlags::CLOEXEC)?;
    let (our_stdout, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (our_stderr, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    // A user has only so many large pipes; a small one is slower, not wrong.
    let _ = fcntl_setpipe_size(&our_stdout, PIPE);
    let ends = Ends {
        room: fcntl_getpipe_size(&our_stdout)?,
        stdin: pipe::Sender::from_owned_fd(our_stdin)?,
        stdout: pipe::Receiver::from_owned_fd(our_stdout)?,
        stderr: pipe::Receiver::from_owned_fd(our_stderr)?,
    };
    Ok(([stdin, stdout, stderr], ends))
}

/// In the fallback the program carries a mark, by which its kin is found should the keeper be killed.
fn mark(launch: &mut Launch, containment: &Containment) -> Option<String> {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    match containment.kind() {
        Kind::Namespace { .. } => None,
        Kind::Fallback { .. } => {
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

/// Neither stream can keep the other waiting: which one is looked at first is left to chance.
async fn readable(stdout: Option<&pipe::Receiver>, stderr: Option<&pipe::Receiver>) -> Stream {
    async fn ready(pipe: Option<&pipe::Receiver>) {
        match pipe {
            // An error here is met again, and dealt with, when reading.
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
