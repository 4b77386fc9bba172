//! Tokens: creation, and the file of the first user's token.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use uuid::Uuid;

pub(crate) use crate::server::digest;

/// A random token with a hundred unpredictable bits, sixty-four of them new in every token.
pub(crate) fn new_token() -> String {
    format!("ghp_{}{}", Uuid::now_v7().simple(), Uuid::now_v7().simple())
}

/// Reads the token of the first user.
pub(crate) fn read_token(root: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(root.join("token")) {
        Ok(token) => Ok(Some(token.trim().to_owned()).filter(|token| !token.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Stores the token, readable by the owner only.
pub(crate) fn write_token(root: &Path, token: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let draft = root.join("token.new");
    options.open(&draft)?.write_all(format!("{token}\n").as_bytes())?;
    std::fs::rename(draft, root.join("token"))
}
