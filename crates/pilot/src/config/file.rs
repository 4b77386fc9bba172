//! A configuration file on disk: bounded in size, a regular file, with a warning when other users can read its secrets.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pilot_core::config::{Notice, NoticeKind, Origin};

use super::load::LARGEST;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// The user's own file may be one.
    Follow,
    /// A project's must not: it could point anywhere on the user's disk.
    Refuse,
}

pub(super) struct FoundFile {
    /// Its bytes, at most one more than are allowed.
    pub(super) bytes: Vec<u8>,
    /// Whether people other than its owner can read it.
    pub(super) others_can_read: bool,
}

pub(super) fn read(path: &Path, links: Links) -> Result<Option<FoundFile>, String> {
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
    // Checked before it is opened: opening a pipe waits for its writer.
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let limit = LARGEST + 1;
    let file = File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(Some(FoundFile { bytes, others_can_read: metadata.permissions().mode() & 0o077 != 0 }))
}

pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        (Ok(_) | Err(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

pub(super) fn others_can_read(origin: &Origin) -> Notice {
    Notice { origin: origin.clone(), key: String::new(), kind: NoticeKind::OthersCanRead }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
