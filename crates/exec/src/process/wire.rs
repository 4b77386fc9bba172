//! The protocol between Pilot and its keeper: one request with three descriptors down, commands down, report lines up.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use super::launch::ProcessLimits;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeeperRequest {
    pub(super) program: PathBuf,
    pub(super) argv: Vec<OsString>,
    pub(super) cwd: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) limits: ProcessLimits,
}

/// Standard input, output and error of the program, in this order.
pub(super) type Pipes = [OwnedFd; 3];

/// Command: send TERM to every process.
pub(super) const TERM: u8 = b'T';
/// Command: kill every process. A closed socket means the same.
pub(super) const KILL: u8 = b'K';

#[derive(Clone, Debug, PartialEq)]
pub(super) enum KeeperReport {
    /// The containment works: a request may come. Whether the program will see a `/proc` of its own.
    Ready {
        proc: bool,
    },
    Refused(String),
    Started,
    /// The program could not be started: an error number of the system.
    Failed(i32),
    Exited(i32),
    Signalled(i32),
}

impl KeeperReport {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "ready" => Self::Ready { proc: rest == "proc" },
            "refused" => Self::Refused(rest.to_owned()),
            "started" => Self::Started,
            "failed" => Self::Failed(rest.parse().ok()?),
            "exit" => Self::Exited(rest.parse().ok()?),
            "signal" => Self::Signalled(rest.parse().ok()?),
            _ => return None,
        })
    }

    pub(super) fn line(&self) -> String {
        match self {
            Self::Ready { proc: true } => "ready proc\n".to_owned(),
            Self::Ready { proc: false } => "ready\n".to_owned(),
            Self::Refused(why) => format!("refused {}\n", why.replace('\n', " ")),
            Self::Started => "started\n".to_owned(),
            Self::Failed(errno) => format!("failed {errno}\n"),
            Self::Exited(code) => format!("exit {code}\n"),
            Self::Signalled(signal) => format!("signal {signal}\n"),
        }
    }
}

impl KeeperRequest {
    /// Length-prefixed fields; what follows the arguments is the environment.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for limit in [self.limits.memory, self.limits.processes, self.limits.file_size] {
            put(&mut body, limit.map(|value| value.to_string()).unwrap_or_default().as_ref());
        }
        put(&mut body, self.cwd.as_os_str());
        put(&mut body, self.program.as_os_str());
        put(&mut body, self.argv.len().to_string().as_ref());
        for arg in &self.argv {
            put(&mut body, arg);
        }
        for (name, value) in &self.env {
            put(&mut body, name);
            put(&mut body, value);
        }
        body
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = WireFields(body);
        let limits =
            ProcessLimits { memory: fields.limit()?, processes: fields.limit()?, file_size: fields.limit()? };
        let cwd = fields.take()?.into();
        let program = fields.take()?.into();
        let argc: usize = fields.take()?.to_str()?.parse().ok()?;
        let argv = (0..argc).map(|_| fields.take()).collect::<Option<_>>()?;
        let mut env = Vec::new();
        while let Some(name) = fields.take() {
            env.push((name, fields.take()?));
        }
        Some(Self { program, argv, cwd, env, limits })
    }
}

fn put(body: &mut Vec<u8>, field: &OsStr) {
    let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(&field.as_bytes()[..length as usize]);
}

struct WireFields<'a>(&'a [u8]);

impl WireFields<'_> {
    fn take(&mut self) -> Option<OsString> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (field, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some(OsString::from_vec(field.to_owned()))
    }

    #[expect(clippy::option_option, reason = "no field, no limit, a limit")]
    fn limit(&mut self) -> Option<Option<u64>> {
        let field = self.take()?;
        let text = field.to_str()?;
        if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
    }
}

pub(super) fn send_head(socket: impl AsFd, length: usize, pipes: [BorrowedFd<'_>; 3]) -> io::Result<()> {
    let head = (length as u64).to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut passenger = SendAncillaryBuffer::new(&mut space);
    passenger.push(SendAncillaryMessage::ScmRights(&pipes));
    // Eight bytes on a fresh socket are sent in one piece.
    sendmsg(socket, &[IoSlice::new(&head)], &mut passenger, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for a request; none when Pilot is gone or only probed the containment.
pub(super) fn receive(socket: &mut UnixStream) -> io::Result<Option<(KeeperRequest, Pipes)>> {
    let mut head = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut passenger = RecvAncillaryBuffer::new(&mut space);
    let mut head_slices = [IoSliceMut::new(&mut head)];
    let received = recvmsg(&*socket, &mut head_slices, &mut passenger, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut pipes = Vec::new();
    for message in passenger.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            pipes.extend(descriptors);
        }
    }
    socket.read_exact(&mut head[received.bytes..])?;
    let mut body = Vec::new();
    socket.take(u64::from_le_bytes(head)).read_to_end(&mut body)?;
    let request = KeeperRequest::decode(&body).ok_or(io::ErrorKind::InvalidData)?;
    let pipes = pipes.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(Some((request, pipes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_way() {
        let request = KeeperRequest {
            program: "/bin/x".into(),
            argv: vec!["x".into(), "".into(), OsString::from_vec(vec![0xff, b'\n'])],
            cwd: "/a b".into(),
            env: vec![("A".into(), "".into()), ("B".into(), "x=y\n".into())],
            limits: ProcessLimits { memory: None, processes: Some(7), file_size: Some(0) },
        };
        let body = request.encode();
        assert_eq!(KeeperRequest::decode(&body), Some(request));
        assert_eq!(KeeperRequest::decode(&body[..body.len() - 1]), None);
    }

    #[test]
    fn reports_survive_the_way() {
        for report in [
            KeeperReport::Ready { proc: true },
            KeeperReport::Ready { proc: false },
            KeeperReport::Refused("no such thing".to_owned()),
            KeeperReport::Started,
            KeeperReport::Failed(2),
            KeeperReport::Exited(255),
            KeeperReport::Signalled(9),
        ] {
            assert_eq!(KeeperReport::parse(report.line().trim_end()), Some(report));
        }
        assert_eq!(KeeperReport::parse("exit x"), None);
        assert_eq!(KeeperReport::parse(""), None);
    }
}
