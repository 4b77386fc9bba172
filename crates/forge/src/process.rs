//! Starts programs: the only module of the forge that does.

use std::ffi::OsStr;

use tokio::process::Command;

/// A program in `path`, with nothing else in its environment. It is killed when its handle is dropped.
#[expect(clippy::disallowed_methods, reason = "the forge's git and its CI are started here and nowhere else")]
pub(crate) fn command(program: &str, path: &OsStr) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8").kill_on_drop(true);
    command
}
