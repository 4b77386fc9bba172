//! A configuration file on disk: bounded, regular, and kept from other people's eyes.

use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;

use pilot_core::config::{Notice, NoticeKind, Origin};

use super::load::LARGEST;

/// Whether a symbolic link is as good as the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// The user's own file may be one.
    Follow,
    /// A project's must not: it could lead anywhere on its user's disk.
    Refuse,
}

/// A file that was read.
pub(super) struct Found {
    /// Its bytes, at most one more than are allowed.
    pub(super) bytes: Vec<u8>,
    /// Whether people other than its owner can read it.
    pub(super) others_can_read: bool,
}

/// Reads a file; none when there is none.
pub(super) fn read(path: &Path, links: Links) -> Result<Option<Found>, String> {
    let metadata = match links {
        Links::Follow => fs::metadata(path),
        Links::Refuse => fs::symlink_metadata(path),
    };
    let metadata = match metadata {
        Ok(metadata) => metadata,
        // A link that leads nowhere is a mistake, not an absent file.
        Err(error) if is_absent(error.kind()) && fs::symlink_metadata(path).is_err() => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    // Looked at before it is opened: to open a pipe is to wait for its writer.
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let limit = LARGEST + 1;
    let file = File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(Some(Found { bytes, others_can_read: others_can_read_it(&metadata) }))
}

/// Whether two paths lead to the same file.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        (Ok(_) | Err(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

/// The word about a file with a secret.
pub(super) fn others_can_read(origin: &Origin) -> Notice {
    Notice { origin: origin.clone(), key: String::new(), kind: NoticeKind::OthersCanRead }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(unix)]
fn others_can_read_it(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn others_can_read_it(_: &Metadata) -> bool {
    false
}
