//! Compares a worktree with an index by the stat data in the index, without a git process.
//!
//! Stricter than git: anything that is not certainly unchanged is left to git.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexComparison {
    /// Every file exists unchanged, and no other file does.
    Same,
    /// Every file exists unchanged, beside others that the index does not have.
    WithOthers,
    Unsure,
}

/// Bytes of an entry before its object name, and behind it.
const NOTES: usize = 40;
const FLAGS: usize = 2;

/// Seconds and nanoseconds, cut as git cuts them.
type Time = (u32, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStat {
    changed: Time,
    modified: Time,
    inode: u32,
    size: u32,
}

/// Checks every file of the worktree. `name` is the length of an object id in bytes.
pub(super) fn compare(tree: &Path, index: &Path, name: usize) -> IndexComparison {
    let Some(files) = read(index, name) else { return IndexComparison::Unsure };
    let folders: HashSet<&[u8]> = files.keys().flat_map(|path| parents(path)).collect();
    let (mut seen, mut others) = (0, false);
    let mut open = vec![(tree.to_owned(), Vec::new())];
    while let Some((folder, prefix)) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { return IndexComparison::Unsure };
        for entry in entries {
            let Ok(entry) = entry else { return IndexComparison::Unsure };
            let own = entry.file_name();
            let path = [prefix.as_slice(), own.as_bytes()].concat();
            if own == ".git" {
                if prefix.is_empty() {
                    continue;
                }
                return IndexComparison::Unsure;
            }
            let Ok(meta) = entry.metadata() else { return IndexComparison::Unsure };
            match files.get(&path) {
                Some(notes) if *notes == FileStat::of(&meta) => seen += 1,
                Some(_) => return IndexComparison::Unsure,
                None if meta.is_dir() && folders.contains(path.as_slice()) => {
                    open.push((entry.path(), [path.as_slice(), b"/"].concat()));
                }
                None => others = true,
            }
        }
    }
    match (seen == files.len(), others) {
        (true, false) => IndexComparison::Same,
        (true, true) => IndexComparison::WithOthers,
        (false, _) => IndexComparison::Unsure,
    }
}

fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

impl FileStat {
    fn of(meta: &Metadata) -> FileStat {
        let cut = |seconds: i64, nanos: i64| (seconds as u32, nanos as u32);
        FileStat {
            changed: cut(meta.ctime(), meta.ctime_nsec()),
            modified: cut(meta.mtime(), meta.mtime_nsec()),
            inode: meta.ino() as u32,
            size: meta.len() as u32,
        }
    }
}

/// The files of an index; none when it holds anything that is not a plain file or link, or that was written so shortly before
/// the index that a later change might not show.
fn read(index: &Path, name: usize) -> Option<HashMap<Vec<u8>, FileStat>> {
    let (bytes, meta) = (fs::read(index).ok()?, index.metadata().ok()?);
    let written = FileStat::of(&meta).modified;
    let (head, mut rest) = bytes.split_at_checked(12)?;
    let version = head.strip_prefix(b"DIRC").and_then(|head| number(head, 0))?;
    let count = usize::try_from(number(head, 8)?).ok()?;
    if !(2..=3).contains(&version) {
        return None;
    }
    let mut files = HashMap::new();
    for _ in 0..count {
        let fixed = NOTES + name + FLAGS;
        let (entry, behind) = rest.split_at_checked(fixed)?;
        let word = |at: usize| number(entry, at * 4);
        let notes = FileStat {
            changed: (word(0)?, word(1)?),
            modified: (word(2)?, word(3)?),
            inode: word(5)?,
            size: word(9)?,
        };
        // No flags but the length of the path: no stage of a merge, nothing assumed, nothing left out.
        let is_plain =
            entry[fixed - FLAGS] & 0xf0 == 0 && matches!(word(6)? & 0o170_000, 0o100_000 | 0o120_000);
        if !is_plain || notes.changed >= written || notes.modified >= written {
            return None;
        }
        let length = behind.iter().position(|byte| *byte == 0)?;
        files.insert(behind[..length].to_vec(), notes);
        // One to eight zeros, up to a multiple of eight.
        rest = rest.get((fixed + length) / 8 * 8 + 8..)?;
    }
    (files.len() == count).then_some(files)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
