//! An agent that does what its arguments say, one step each, and then ends with code 0. Also a keeper, one whom
//! git asks for a password, and a supervisor that a test can kill.
//!
//! | step | what it does |
//! |---|---|
//! | `says=TEXT`, `err=TEXT` | a line on standard output, on standard error |
//! | `line=N`, `lines=N` | N bytes and a newline; N bytes in lines of 100 |
//! | `errs=N` | N bytes on standard error |
//! | `raw=HEX` | these bytes |
//! | `cat`, `count` | standard input again; its length |
//! | `env`, `self` | its variables; its place in the world |
//! | `mark=FILE` | writes its process id into a file |
//! | `listen=FILE` | listens on a port of this machine and writes its number into a file |
//! | `beat=FILE` | writes into a file for ever |
//! | `await=FILE` | waits until the file exists |
//! | `setsid` | leaves the session |
//! | `child=A,B`, `orphan=A,B` | starts itself with these steps; the same, and its parent ends at once |
//! | `wait` | waits for the children |
//! | `forks=N` | starts up to N children that stay, and says how many it could |
//! | `ignore-term` | from here on, TERM means nothing |
//! | `close-stdout` | closes it |
//! | `sh=SCRIPT` | has a shell do it, and ends with its code if that is not 0 |
//! | `memory=N` | fills N bytes of memory |
//! | `spin` | uses the processor and says nothing |
//! | `stays` | does nothing, for two minutes |
//! | `exit=N`, `kill=N` | ends with a code; with a signal |

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::Duration;

use pilot_exec::git::askpass;
use pilot_exec::process::{Containment, ContainmentKind, Deadlines, Launch, Running, contain};
use rustix::process::{Signal, getpid, kill_process};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|word| word == contain::WORD).is_some() {
        return contain::main(args);
    }
    #[expect(clippy::disallowed_methods, reason = "as Pilot's main does for git")]
    if let Some(code) = askpass::main(std::env::args_os(), std::env::var_os) {
        return code;
    }
    let args: Vec<String> = args.map(|arg| arg.into_string().expect("steps are UTF-8")).collect();
    match args.split_first() {
        Some((word, rest)) if word == "supervise" => supervise(rest),
        Some(_) | None => Agent::default().play(&args),
    }
}

#[derive(Default)]
struct Agent {
    children: Vec<Child>,
    ports: Vec<TcpListener>,
}

impl Agent {
    fn play(&mut self, steps: &[String]) -> ExitCode {
        for (at, step) in steps.iter().enumerate() {
            let (word, value) = step.split_once('=').unwrap_or((step, ""));
            match word {
                "ignore-term" => return ignore_term(&steps[at + 1..]),
                "sh" => match shell(value) {
                    0 => {}
                    code => return ExitCode::from(code),
                },
                "exit" => return ExitCode::from(value.parse::<u8>().expect("a code")),
                _ => self.step(word, value),
            }
        }
        ExitCode::SUCCESS
    }

    fn step(&mut self, word: &str, value: &str) {
        match word {
            "says" => write(io::stdout(), format!("{value}\n").as_bytes()),
            "err" => write(io::stderr(), format!("{value}\n").as_bytes()),
            "line" => {
                flood(io::stdout(), number(value), b"x");
                write(io::stdout(), b"\n");
            }
            "lines" => flood(io::stdout(), number(value), &[&[b'x'; 99][..], b"\n"].concat()),
            "errs" => flood(io::stderr(), number(value), b"e"),
            "raw" => write(io::stdout(), &hex(value)),
            "cat" => drop(io::copy(&mut io::stdin(), &mut io::stdout())),
            "count" => write(io::stdout(), format!("{}\n", input().len()).as_bytes()),
            "env" => variables(),
            "self" => place(),
            "mark" => std::fs::write(value, std::process::id().to_string()).expect("a mark"),
            "listen" => self.listen(value),
            "beat" => beat(value),
            "await" => until(|| Path::new(value).exists()),
            "setsid" => drop(rustix::process::setsid()),
            "child" => self.children.push(again(value.split(',')).expect("a child")),
            "orphan" => drop(again([format!("child={value}")].iter()).and_then(|mut child| child.wait())),
            "wait" => self.children.iter_mut().for_each(|child| drop(child.wait())),
            "forks" => self.fork(number(value)),
            "close-stdout" => close_stdout(),
            "memory" => drop(std::hint::black_box(vec![1_u8; usize::try_from(number(value)).expect("fits")])),
            "spin" => until(|| false),
            "stays" => stay(Duration::from_secs(120)),
            "kill" => kill(value),
            other => panic!("no such step: {other}"),
        }
    }

    fn listen(&mut self, file: &str) {
        let port = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let number = port.local_addr().expect("a bound port has a number").port();
        std::fs::write(file, number.to_string()).expect("a mark");
        self.ports.push(port);
    }

    fn fork(&mut self, count: u64) {
        let before = self.children.len();
        for _ in 0..count {
            match again(["stays"]) {
                Ok(child) => self.children.push(child),
                Err(_) => break,
            }
        }
        write(io::stdout(), format!("forked {}\n", self.children.len() - before).as_bytes());
    }
}

/// The pipe may have no reader, which is no reason to exit.
fn write(mut to: impl Write, bytes: &[u8]) {
    let _ = to.write_all(bytes).and_then(|()| to.flush());
}

fn flood(mut to: impl Write, total: u64, pattern: &[u8]) {
    let piece = pattern.repeat(100_000 / pattern.len());
    let mut left = total;
    while left > 0 {
        let length = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if to.write_all(&piece[..length]).is_err() {
            return;
        }
        left -= length as u64;
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
}

fn input() -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = io::stdin().read_to_end(&mut bytes);
    bytes
}

#[expect(clippy::disallowed_methods, reason = "to show what it got is what the step is for")]
fn variables() {
    for (name, value) in std::env::vars_os() {
        write(io::stdout(), format!("{}={}\n", name.display(), value.display()).as_bytes());
    }
}

/// Process and parent, user and group, directory, open descriptors, and whether `/proc` is its own.
fn place() {
    let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() - 1);
    let own_proc =
        std::fs::read_link("/proc/self").is_ok_and(|link| link == Path::new(&getpid().to_string()));
    let cwd = std::fs::read_link("/proc/self/cwd").unwrap_or_default();
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let capabilities = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = capabilities.lines().find_map(|line| line.strip_prefix("CapEff:\t")).unwrap_or_default();
    let line = format!(
        "pid={} uid={uid} gid={gid} cwd={} descriptors={descriptors} own_proc={own_proc} capabilities={effective}\n",
        getpid().as_raw_pid(),
        cwd.display()
    );
    write(io::stdout(), line.as_bytes());
}

fn beat(file: &str) {
    let mut count = 0_u64;
    until(|| {
        count += 1;
        // The whole file at once, so that no process reads half of it.
        let fresh = format!("{file}.{}", std::process::id());
        std::fs::write(&fresh, format!("{} {count}", std::process::id())).is_ok_and(|()| {
            let _ = std::fs::rename(&fresh, file);
            false
        })
    });
}

/// Asks every few milliseconds, for at most two minutes: nothing here may outlive a forgotten test.
fn until(mut done: impl FnMut() -> bool) {
    for _ in 0..24_000 {
        if done() {
            return;
        }
        stay(Duration::from_millis(5));
    }
}

fn stay(time: Duration) {
    let time = time.try_into().expect("short enough");
    let _ = rustix::event::poll(&mut [], Some(&time));
}

#[expect(clippy::disallowed_methods, reason = "agents start processes")]
fn again<S: AsRef<str>>(steps: impl IntoIterator<Item = S>) -> io::Result<Child> {
    Command::new("/proc/self/exe").args(steps.into_iter().map(|step| step.as_ref().to_owned())).spawn()
}

/// A signal that is ignored stays ignored in the next program, and a shell can ask for that without unsafe code.
#[expect(clippy::disallowed_methods, reason = "agents start processes")]
fn ignore_term(steps: &[String]) -> ExitCode {
    let myself = std::env::current_exe().expect("the agent's file");
    let script = "trap '' TERM; exec \"$0\" \"$@\"";
    let error = Command::new("/bin/sh").args(["-c", script]).arg(myself).args(steps).exec();
    panic!("no shell: {error}");
}

#[expect(clippy::disallowed_methods, reason = "agents start processes")]
fn shell(script: &str) -> u8 {
    let ended = Command::new("/bin/sh").args(["-c", script]).status().expect("a shell");
    ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
}

fn close_stdout() {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null").expect("a place for nothing");
    rustix::stdio::dup2_stdout(null).expect("a descriptor");
}

fn kill(signal: &str) {
    let signal = Signal::from_named_raw(signal.parse().expect("a signal")).expect("a known signal");
    kill_process(getpid(), signal).expect("it is there");
    stay(Duration::from_secs(120));
}

/// `supervise HOW DIRECTORY STEP…`: runs an agent under supervision and prints what became of it, and what that cost.
fn supervise(args: &[String]) -> ExitCode {
    let [how, directory, steps @ ..] = args else { panic!("supervise HOW DIRECTORY STEP...") };
    let myself = std::env::current_exe().expect("the agent's file");
    let containment = containment(how, &myself);
    let argv = std::iter::once(myself.into_os_string()).chain(steps.iter().map(OsString::from));
    let mut launch = Launch::new(argv, directory);
    launch.env = marks();
    launch.deadlines = Deadlines { total: Some(Duration::from_secs(100)), ..Deadlines::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut running = Running::start(launch, &containment).await.expect("it starts");
        let before = peak();
        while running.next().await.is_some() {}
        let grown = peak() - before;
        let ended = running.end().await;
        write(
            io::stdout(),
            format!("{:?} {:?} bytes={} grown_kib={grown}\n", ended.exit, ended.by, ended.output_bytes)
                .as_bytes(),
        );
    });
    ExitCode::SUCCESS
}

fn containment(how: &str, keeper: &Path) -> Containment {
    let keeper = PathBuf::from(keeper);
    match how {
        "probe" => Containment::probe(keeper),
        "user" => Containment::forced(keeper, ContainmentKind::Namespace { user: true, proc: true }),
        "fallback" => Containment::forced(keeper, ContainmentKind::Fallback { why: "a test".to_owned() }),
        other => panic!("no such containment: {other}"),
    }
}

/// What the test gave the supervisor to find its agents by, and to find programs with.
#[expect(clippy::disallowed_methods, reason = "the test speaks to the agent through it")]
fn marks() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name == "PILOT_TEST_MARK" || name == "PATH").collect()
}

/// The most memory this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
