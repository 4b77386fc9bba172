//! Files of a project by untrusted paths: nothing outside the project is ever touched, whatever a path or a link on it says.
//!
//! Every component is opened on its own, below the descriptor of the one before, and never through a link (`openat2` with
//! `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS`; where the kernel has none, `O_NOFOLLOW`). There is no
//! moment between check and use in which a link could be swapped in.
//!
//! Writing takes two steps: [`Confined::stage`] writes beside the target under an unused name, [`Confined::place`] renames.
//! What was staged is placed once: afterwards there is nothing left to rename. Must never know what the files are for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

const MOST_ENTRIES: usize = 10_000;

#[derive(Debug)]
pub struct Confined {
    root: OwnedFd,
    /// Whether the kernel refuses links itself.
    openat2: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfinedError {
    #[error("find {path:?} in the project")]
    Missing { path: String },
    #[error("use {path:?}: {part:?} is a symbolic link, and links are not followed")]
    Link { path: String, part: String },
    #[error("use {path:?}: {part:?} is not a {wanted}")]
    Kind { path: String, part: String, wanted: &'static str },
    #[error("use {path:?}: it leads out of the project")]
    Outside { path: String },
    #[error("read {path:?}: more than {limit} bytes")]
    TooLarge { path: String, limit: u64 },
    #[error("place {path:?}: it was not staged, or is already in place")]
    NotStaged { path: String },
    #[error("use {path:?}: {source}")]
    System { path: String, source: io::Error },
}

impl ConfinedError {
    pub fn is_missing(&self) -> bool {
        matches!(self, ConfinedError::Missing { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinedEntry {
    pub name: String,
    /// Whether it is a folder; otherwise it is a file. Links and the like are not listed.
    pub is_folder: bool,
}

impl Confined {
    pub fn open(path: &Path) -> io::Result<Confined> {
        let root = rustix::fs::openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let openat2 =
            rustix::fs::openat2(&root, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), RESOLVE)
                .is_ok();
        Ok(Confined { root, openat2 })
    }

    /// The same, as it is on a kernel that cannot refuse links itself.
    #[must_use]
    pub fn without_openat2(self) -> Confined {
        Confined { openat2: false, ..self }
    }

    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ConfinedError> {
        let (folder, name) = self.parent(path, Parents::Existing)?;
        // Without waiting: what lies there may be a pipe.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(
            self.open_at(&folder, name, flags).map_err(|errno| refused(path, name, errno, "file"))?,
        );
        let failed = |source: io::Error| system(path, source);
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(ConfinedError::Kind { path: path.to_owned(), part: name.to_owned(), wanted: "file" });
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit {
            return Err(ConfinedError::TooLarge { path: path.to_owned(), limit });
        }
        Ok(bytes)
    }

    /// The files and folders of a folder, by name; `.` is the project itself.
    pub fn list(&self, path: &str) -> Result<Vec<ConfinedEntry>, ConfinedError> {
        let failed = |errno: Errno| system(path, errno);
        let folder = match path {
            "." => self.root.try_clone().map_err(|error| system(path, error))?,
            _ => {
                let (folder, name) = self.parent(path, Parents::Existing)?;
                self.folder_at(&folder, name).map_err(|errno| refused(path, name, errno, "folder"))?
            }
        };
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(failed)?.take(MOST_ENTRIES) {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems do not say.
                let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            let is_folder = kind == FileType::Directory;
            if (is_folder || kind == FileType::RegularFile) && ![".", ".."].contains(&name) {
                entries.push(ConfinedEntry { name: name.to_owned(), is_folder });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Whether a file could be written there: every existing folder on the path is one, and the target is a file or missing.
    pub fn check(&self, path: &str) -> Result<(), ConfinedError> {
        match self.parent(path, Parents::Existing) {
            Err(ConfinedError::Missing { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok((folder, name)) => is_file_or_nothing(&folder, path, name).map(drop),
        }
    }

    /// Writes a text beside its target, under a name of its own; missing folders are created. To stage several, check all
    /// of them first, and discard those staged when one fails.
    pub fn stage(&self, path: &str, staged: &str, text: &[u8]) -> Result<(), ConfinedError> {
        let failed = |source: io::Error| system(path, source);
        let (folder, name) = self.parent(path, Parents::Made)?;
        let before = is_file_or_nothing(&folder, path, name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let_others_act();
        let file = rustix::fs::openat(&folder, staged, flags, mode).map_err(|errno| failed(errno.into()))?;
        let mut file = File::from(file);
        let written = file.write_all(text).and_then(|()| match before {
            // Keeps an execute bit.
            Some(mode) => file.set_permissions(std::fs::Permissions::from_mode(mode & 0o777)),
            None => Ok(()),
        });
        written.and_then(|()| file.sync_data()).map_err(|source| {
            let _ = rustix::fs::unlinkat(&folder, staged, AtFlags::empty());
            failed(source)
        })
    }

    /// Renames staged files into place: all of them, or none when the path to one is blocked. `(path, staged)` each; what is
    /// in place already is passed over, and the number of those that were not is the answer.
    pub fn place(&self, all: &[(String, String)]) -> Result<usize, ConfinedError> {
        let mut ready = Vec::new();
        for (path, staged) in all {
            let (folder, name) = self.parent(path, Parents::Existing)?;
            is_file_or_nothing(&folder, path, name)?;
            let_others_act();
            match rustix::fs::statat(&folder, staged.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => ready.push((folder, name, staged, path)),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(system(path, errno)),
            }
        }
        for (folder, name, staged, path) in &ready {
            let_others_act();
            rustix::fs::renameat(folder, staged.as_str(), folder, *name).map_err(|errno| match errno {
                Errno::NOENT => ConfinedError::NotStaged { path: (*path).clone() },
                _ => system(path, errno),
            })?;
        }
        Ok(ready.len())
    }

    pub fn discard(&self, path: &str, staged: &str) {
        if let Ok((folder, _)) = self.parent(path, Parents::Existing) {
            let_others_act();
            let _ = rustix::fs::unlinkat(&folder, staged, AtFlags::empty());
        }
    }

    fn parent<'p>(&self, path: &'p str, parents: Parents) -> Result<(OwnedFd, &'p str), ConfinedError> {
        let outside = || ConfinedError::Outside { path: path.to_owned() };
        let parts: Vec<&str> = path.split('/').collect();
        let odd = |part: &&str| part.is_empty() || [".", ".."].contains(part) || part.as_bytes().contains(&0);
        let Some((name, folders)) = parts.split_last().filter(|_| !parts.iter().any(odd)) else {
            return Err(outside());
        };
        let mut at = self.root.try_clone().map_err(|error| system(path, error))?;
        for part in folders {
            let opened = match self.folder_at(&at, part) {
                Err(Errno::NOENT) if parents == Parents::Made => {
                    let_others_act();
                    match rustix::fs::mkdirat(&at, *part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => self.folder_at(&at, part),
                        Err(errno) => Err(errno),
                    }
                }
                opened => opened,
            };
            at = opened.map_err(|errno| refused(path, part, errno, "folder"))?;
        }
        Ok((at, name))
    }

    fn folder_at(&self, at: &OwnedFd, part: &str) -> Result<OwnedFd, Errno> {
        self.open_at(at, part, OFlags::DIRECTORY)
    }

    /// Opens one component, which must be no link.
    fn open_at(&self, at: impl AsFd, part: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let part = OsStr::from_bytes(part.as_bytes());
        let_others_act();
        match self.openat2 {
            true => rustix::fs::openat2(at, part, flags, Mode::empty(), RESOLVE),
            false => rustix::fs::openat(at, part, flags, Mode::empty()),
        }
    }
}

/// Before each system call: the tests let another process act there.
#[cfg(not(test))]
const fn let_others_act() {}
#[cfg(test)]
use tests::let_others_act;

const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parents {
    Existing,
    Made,
}

/// The mode of the existing file; none when it is missing.
fn is_file_or_nothing(folder: &OwnedFd, path: &str, name: &str) -> Result<Option<u32>, ConfinedError> {
    let_others_act();
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(system(path, errno)),
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some(stat.st_mode)),
            FileType::Symlink => Err(ConfinedError::Link { path: path.to_owned(), part: name.to_owned() }),
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {
                Err(ConfinedError::Kind { path: path.to_owned(), part: name.to_owned(), wanted: "file" })
            }
        },
    }
}

fn refused(path: &str, part: &str, errno: Errno, wanted: &'static str) -> ConfinedError {
    let (path, part) = (path.to_owned(), part.to_owned());
    match errno {
        Errno::NOENT => ConfinedError::Missing { path },
        Errno::LOOP => ConfinedError::Link { path, part },
        // Without openat2 the system reports a link as ENOTDIR.
        Errno::NOTDIR => ConfinedError::Kind { path, part, wanted },
        Errno::XDEV => ConfinedError::Outside { path },
        _ => system(&path, errno),
    }
}

fn system(path: &str, source: impl Into<io::Error>) -> ConfinedError {
    ConfinedError::System { path: path.to_owned(), source: source.into() }
}

#[cfg(test)]
mod tests;
