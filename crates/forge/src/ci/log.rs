//! Logs of check runs: one file each; long output loses its middle.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::server::{Failure, hex};

/// Bytes kept from the start and from the end; failures are usually at the end.
const HEAD: usize = 1 << 20;
const TAIL: usize = 3 << 20;

/// Output while it arrives.
#[derive(Debug, Default)]
pub(super) struct Log {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: usize,
}

impl Log {
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        let room = HEAD - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        bytes = rest;
        if bytes.len() > TAIL {
            self.dropped += bytes.len() - TAIL;
            bytes = &bytes[bytes.len() - TAIL..];
        }
        self.tail.extend(bytes);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.dropped += excess;
        self.tail.drain(..excess);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        if self.dropped > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes are left out here]\n", self.dropped).as_bytes());
        }
        bytes.extend(self.tail);
        bytes
    }
}

fn log_path(ctx: &Context, check: i64) -> PathBuf {
    ctx.root.join("logs").join(format!("{check}.log"))
}

pub(super) async fn write_log(ctx: &Context, check: i64, bytes: &[u8]) -> io::Result<()> {
    let draft = ctx.root.join("logs").join(format!("{check}.new"));
    tokio::fs::write(&draft, bytes).await?;
    tokio::fs::rename(draft, log_path(ctx, check)).await
}

/// The log of a check run, once that is complete.
pub(crate) async fn read_log(ctx: &Context, check: i64) -> Result<Option<Vec<u8>>, Failure> {
    match tokio::fs::read(log_path(ctx, check)).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The secret part of a log URL.
pub(crate) fn log_key(ctx: &Context, check: i64) -> String {
    let digest = Sha256::new().chain_update(&ctx.secret).chain_update(check.to_string()).finalize();
    hex(&digest[..16])
}

#[cfg(test)]
mod tests {
    use super::{HEAD, Log, TAIL};

    #[test]
    fn long_output_keeps_start_and_end() {
        let mut log = Log::default();
        log.push(b"first ");
        for _ in 0..10 {
            log.push(&vec![b'x'; 1 << 20]);
        }
        log.push(b" last");
        let bytes = log.into_bytes();
        assert!(bytes.starts_with(b"first ") && bytes.ends_with(b" last"));
        assert!(bytes.len() < HEAD + TAIL + 100, "{}", bytes.len());
        let text = String::from_utf8_lossy(&bytes);
        let dropped = (10 << 20) + 11 - HEAD - TAIL;
        assert!(text.contains(&format!("[{dropped} bytes are left out here]")));
    }

    #[test]
    fn short_output_is_complete() {
        let mut log = Log::default();
        log.push(b"a");
        log.push(b"b");
        assert_eq!(log.into_bytes(), b"ab");
    }
}
