//! Who the first user is, and what tokens look like.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use uuid::Uuid;

pub(crate) use crate::server::digest;

/// A token that nobody guesses: a hundred random bits, of which sixty-four are new in every one.
pub(crate) fn new_token() -> String {
    format!("ghp_{}{}", Uuid::now_v7().simple(), Uuid::now_v7().simple())
}

/// The token that is kept for the first user.
pub(crate) fn kept_token(root: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(root.join("token")) {
        Ok(token) => Ok(Some(token.trim().to_owned()).filter(|token| !token.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Keeps it, readable by its owner only.
pub(crate) fn keep_token(root: &Path, token: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let draft = root.join("token.new");
    options.open(&draft)?.write_all(format!("{token}\n").as_bytes())?;
    std::fs::rename(draft, root.join("token"))
}
