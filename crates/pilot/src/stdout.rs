//! Standard output, which its reader may close early.
//!
//! `pilot signals | head -1` is no failure: when the reader closes the pipe, the program stops writing and ends with 0,
//! silently. Only *this* pipe is treated so; a broken pipe anywhere else, an agent's standard input for instance, is an
//! error like any other.

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};

/// Standard output, buffered. Flush it before the program ends: what is dropped unflushed is lost silently.
pub(crate) struct Stdout(BufWriter<StdoutLock<'static>>);

impl Stdout {
    /// Takes standard output for as long as the value lives.
    pub(crate) fn lock() -> Stdout {
        Stdout(BufWriter::with_capacity(64 * 1024, io::stdout().lock()))
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(name_reader_left)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(name_reader_left)
    }
}

/// Whether a command ended only because its standard output was closed.
pub(crate) fn reader_left(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
        .is_some_and(|inner| inner.is::<ReaderLeft>())
}

fn name_reader_left(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return io::Error::new(io::ErrorKind::BrokenPipe, ReaderLeft);
    }
    error
}

#[derive(Debug, thiserror::Error)]
#[error("write to standard output: its reader is gone")]
struct ReaderLeft;

pub(crate) fn print_line(line: impl Display) -> io::Result<()> {
    let mut out = Stdout::lock();
    writeln!(out, "{line}")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context;

    use super::{name_reader_left, reader_left};

    #[test]
    fn only_our_own_output_pipe_ends_in_silence() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(reader_left(&name_reader_left(broken()).into()));
        assert!(reader_left(&Err::<(), _>(name_reader_left(broken())).context("print").unwrap_err()));

        assert!(!reader_left(&broken().into()), "another pipe");
        assert!(!reader_left(&name_reader_left(io::Error::other("disk full")).into()));
    }
}
