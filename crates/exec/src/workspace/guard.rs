//! Snapshots the repository's configuration and hooks before a run and restores them after it, byte by byte.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::error::{Tried, WorkspaceError};
use super::finding::{GuardedChange, RunFinding};
use super::run_dir::RunDir;
use crate::git::path_of;

/// What is guarded, from the common directory.
const GUARDED: [&str; 6] = ["config", "config.worktree", "hooks", "info", "objects/info/alternates", MARK];

/// A file that opencode writes into every repository. It is harmless, so its removal is not reported.
const MARK: &str = "opencode";

/// Larger files are only compared, not restored: configuration files and hooks are smaller.
const LARGEST: u64 = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    common: PathBuf,
    entries: BTreeMap<PathBuf, GuardEntry>,
}

/// `Other` is a pipe, a socket or a device: never opened.
#[derive(Clone, Debug, PartialEq, Eq)]
enum GuardEntry {
    File { mode: u32, bytes: Vec<u8> },
    Large { mode: u32, length: u64, changed: i64 },
    Link { target: PathBuf },
    Folder { mode: u32 },
    Other,
}

impl Guard {
    pub(super) fn take(common: &Path) -> Result<Self, WorkspaceError> {
        let mut entries = BTreeMap::new();
        for name in GUARDED {
            take(common, Path::new(name), &mut entries).tried("read", &common.join(name))?;
        }
        Ok(Self { common: common.to_owned(), entries })
    }

    /// Restores every changed file, keeps what was found, and reports it.
    pub(super) fn restore(&self, dir: &RunDir) -> Result<Vec<RunFinding>, WorkspaceError> {
        let now = Self::take(&self.common)?;
        let mut findings = Vec::new();
        // What was added goes first, from the inside out, so that a folder can take its old place.
        for (path, entry) in now.entries.iter().rev().filter(|(path, _)| !self.entries.contains_key(*path)) {
            let is_mark = path.starts_with(MARK);
            let kept = if is_mark { None } else { keep(dir, path, entry)? };
            remove(&self.common.join(path)).tried("remove", &self.common.join(path))?;
            if is_mark {
                continue;
            }
            findings.push(self.finding(path, GuardedChange::Added, kept, true));
        }
        for (path, before) in &self.entries {
            let (touched, kept) = match now.entries.get(path) {
                Some(entry) if entry == before => continue,
                Some(entry) => (GuardedChange::Changed, keep(dir, path, entry)?),
                None => (GuardedChange::Removed, None),
            };
            let full = self.common.join(path);
            let restored = before.put(&full).tried("restore", &full)?;
            findings.push(self.finding(path, touched, kept, restored));
        }
        Ok(findings)
    }

    fn finding(
        &self,
        path: &Path,
        touched: GuardedChange,
        kept: Option<PathBuf>,
        restored: bool,
    ) -> RunFinding {
        RunFinding::Guarded { path: self.common.join(path), touched, kept, restored }
    }

    pub(super) fn save(&self, file: &Path) -> Result<(), WorkspaceError> {
        let mut bytes = Vec::new();
        for (path, entry) in &self.entries {
            entry.write(path, &mut bytes);
        }
        fs::write(file, bytes).tried("write", file)
    }

    pub(super) fn load(file: &Path, common: &Path) -> Result<Self, WorkspaceError> {
        let bytes = fs::read(file).tried("read", file)?;
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
        let entries = read_entries(&bytes).ok_or_else(odd).tried("read", file)?;
        Ok(Self { common: common.to_owned(), entries })
    }
}

impl GuardEntry {
    fn read(path: &Path, meta: &Metadata) -> io::Result<Self> {
        let (kind, mode) = (meta.file_type(), meta.permissions().mode() & 0o7777);
        Ok(if kind.is_symlink() {
            Self::Link { target: fs::read_link(path)? }
        } else if kind.is_dir() {
            Self::Folder { mode }
        } else if kind.is_file() && meta.len() <= LARGEST {
            Self::File { mode, bytes: fs::read(path)? }
        } else if kind.is_file() {
            Self::Large { mode, length: meta.len(), changed: meta.ctime() }
        } else {
            Self::Other
        })
    }

    /// Makes a path hold this again; false when that is not possible.
    fn put(&self, path: &Path) -> io::Result<bool> {
        let meta = path.symlink_metadata().ok();
        match self {
            Self::File { mode, bytes } => {
                if meta.is_some_and(|meta| meta.is_dir()) {
                    fs::remove_dir_all(path)?;
                }
                // Never through a link, and never half: a new file takes the place.
                let new = path.with_extension("pilot-restore");
                remove(&new)?;
                fs::write(&new, bytes)?;
                fs::set_permissions(&new, fs::Permissions::from_mode(*mode))?;
                fs::rename(&new, path)?;
            }
            Self::Link { target } => {
                remove(path)?;
                symlink(target, path)?;
            }
            Self::Folder { mode } => {
                if !meta.is_some_and(|meta| meta.is_dir()) {
                    remove(path)?;
                    fs::create_dir(path)?;
                }
                fs::set_permissions(path, fs::Permissions::from_mode(*mode))?;
            }
            Self::Large { .. } | Self::Other => return Ok(false),
        }
        Ok(true)
    }

    /// One line (kind, number, number, length of the path, length of the content), then the path and the content.
    fn write(&self, path: &Path, into: &mut Vec<u8>) {
        let (kind, one, two, content): (_, u64, i64, &[u8]) = match self {
            Self::File { mode, bytes } => ('f', u64::from(*mode), 0, bytes),
            Self::Large { mode, length, changed } => ('b', u64::from(*mode) << 48 | length, *changed, &[]),
            Self::Link { target } => ('l', 0, 0, target.as_os_str().as_bytes()),
            Self::Folder { mode } => ('d', u64::from(*mode), 0, &[]),
            Self::Other => ('o', 0, 0, &[]),
        };
        let name = path.as_os_str().as_bytes();
        into.extend(format!("{kind} {one} {two} {} {}\n", name.len(), content.len()).bytes());
        into.extend(name.iter().chain(content).chain(b"\n"));
    }
}

fn take(common: &Path, path: &Path, into: &mut BTreeMap<PathBuf, GuardEntry>) -> io::Result<()> {
    let full = common.join(path);
    let meta = match full.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    into.insert(path.to_owned(), GuardEntry::read(&full, &meta)?);
    if meta.is_dir() {
        for entry in fs::read_dir(&full)? {
            take(common, &path.join(entry?.file_name()), into)?;
        }
    }
    Ok(())
}

/// Keeps what was found in place of a guarded file: the change may have been intended.
fn keep(dir: &RunDir, path: &Path, entry: &GuardEntry) -> Result<Option<PathBuf>, WorkspaceError> {
    match entry {
        GuardEntry::File { bytes, .. } => {
            let name = path.to_string_lossy().replace('/', "-");
            dir.write_aside(bytes, &format!("found-{name}")).map(Some)
        }
        GuardEntry::Large { .. }
        | GuardEntry::Link { .. }
        | GuardEntry::Folder { .. }
        | GuardEntry::Other => Ok(None),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let gone = match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    gone.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn read_entries(mut bytes: &[u8]) -> Option<BTreeMap<PathBuf, GuardEntry>> {
    let mut entries = BTreeMap::new();
    while !bytes.is_empty() {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let line = str::from_utf8(&bytes[..end]).ok()?;
        let [kind, one, two, name, content] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
        let (one, two): (u64, i64) = (one.parse().ok()?, two.parse().ok()?);
        let (path, rest) = bytes[end + 1..].split_at_checked(name.parse().ok()?)?;
        let (content, rest) = rest.split_at_checked(content.parse().ok()?)?;
        let mode = u32::try_from(one & 0o7777).ok()?;
        let entry = match kind {
            "f" => GuardEntry::File { mode, bytes: content.to_vec() },
            "b" => GuardEntry::Large {
                mode: u32::try_from(one >> 48).ok()?,
                length: one & ((1 << 48) - 1),
                changed: two,
            },
            "l" => GuardEntry::Link { target: path_of(content) },
            "d" => GuardEntry::Folder { mode },
            "o" => GuardEntry::Other,
            _ => return None,
        };
        entries.insert(path_of(path), entry);
        bytes = rest.strip_prefix(b"\n")?;
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{Guard, RunDir};

    #[test]
    fn everything_is_put_back_and_nothing_found_is_lost() {
        let temp = tempfile::tempdir().unwrap();
        let common = temp.path().join("repo.git");
        fs::create_dir_all(common.join("hooks/inner")).unwrap();
        fs::create_dir_all(common.join("objects/info")).unwrap();
        fs::write(common.join("config"), "[core]\n").unwrap();
        fs::write(common.join("hooks/inner/x"), [0, 255, b'\n']).unwrap();
        symlink("../elsewhere", common.join("hooks/pre-push")).unwrap();
        let guard = Guard::take(&common).unwrap();
        guard.save(&temp.path().join("guard")).unwrap();
        assert_eq!(Guard::load(&temp.path().join("guard"), &common).unwrap(), guard);

        fs::write(common.join("config"), "[core]\nfsmonitor = evil\n").unwrap();
        fs::write(common.join("config.worktree"), "evil").unwrap();
        fs::write(common.join("objects/info/alternates"), "/evil").unwrap();
        fs::write(common.join("opencode"), "mark").unwrap();
        fs::remove_dir_all(common.join("hooks")).unwrap();
        symlink("/etc", common.join("hooks")).unwrap();
        let dir = RunDir::new(&temp.path().join("home"), "r").unwrap();
        let findings = guard.restore(&dir).unwrap();
        assert_eq!(findings.len(), 7, "{findings:?}");
        assert_eq!(Guard::take(&common).unwrap(), guard);
        assert!(!common.join("opencode").exists() && !dir.kept().join("found-opencode").exists());
        assert!(guard.restore(&dir).unwrap().is_empty());
        assert_eq!(fs::read(dir.kept().join("found-config")).unwrap(), b"[core]\nfsmonitor = evil\n");
    }
}
