//! Programs that a test writes and then runs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program that may be run at once. Another process does it: what this one has open for writing, the child that another
/// test just forked has open as well, and until it has become its own program no process can run the file.
pub fn write(path: &Path, text: impl AsRef<[u8]>) {
    #[expect(clippy::disallowed_methods, reason = "a test's program is written by a process of its own")]
    let mut writer = Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut stdin = writer.stdin.take().expect("its standard input is ours");
    stdin.write_all(text.as_ref()).expect("it reads everything");
    drop(stdin);
    assert!(writer.wait().expect("it ends").success(), "{} cannot be written", path.display());
}
