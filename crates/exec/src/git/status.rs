//! What differs in a working tree.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::{Git, GitError};

/// One line of `git status --porcelain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusEntry {
    pub code: [u8; 2],
    pub path: PathBuf,
    pub from: Option<PathBuf>,
}

impl StatusEntry {
    pub fn is_untracked(&self) -> bool {
        self.code == *b"??"
    }

    /// Whether this is a repository inside the repository: git names it like a folder and does not look inside.
    pub fn is_repository(&self) -> bool {
        use std::os::unix::ffi::OsStrExt;
        self.is_untracked() && self.path.as_os_str().as_bytes().ends_with(b"/")
    }
}

impl Git {
    /// Every change in the working tree, files that git does not know one by one.
    pub fn status(&self) -> Result<Vec<StatusEntry>, GitError> {
        let args = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all"];
        Ok(parse_status(&self.run(&args, b"")?))
    }
}

pub fn parse_status(printed: &[u8]) -> Vec<StatusEntry> {
    let mut entries = Vec::new();
    let mut fields = printed.split(|byte| *byte == 0);
    while let Some(field) = fields.next() {
        let [index, tree, b' ', name @ ..] = field else { continue };
        let moved = [index, tree].iter().any(|code| matches!(code, b'R' | b'C'));
        let from = if moved { fields.next().map(path_of) } else { None };
        entries.push(StatusEntry { code: [*index, *tree], path: path_of(name), from });
    }
    entries
}

/// A path as git prints it with `-z`.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

#[cfg(test)]
mod tests {
    use super::parse_status;

    #[test]
    fn names_of_any_bytes_and_renames_are_read() {
        let entries = parse_status(b" M a\nb\0R  new\0old\0?? \xff\"x\0?? nested/\0");
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[0].path.to_str(), Some("a\nb"));
        assert_eq!(
            (entries[1].path.to_str(), entries[1].from.as_ref().unwrap().to_str()),
            (Some("new"), Some("old"))
        );
        assert!(entries[2].is_untracked() && !entries[2].is_repository());
        assert!(entries[3].is_repository());
        assert!(parse_status(b"").is_empty());
    }
}
