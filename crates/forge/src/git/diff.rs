//! Diffs between two trees, file by file.

use std::collections::HashMap;

use super::repository::Repository;
use super::run::GitError;
use crate::name::Sha;

/// The longest patch of one file in bytes; GitHub omits long ones too.
const MOST_PATCH: usize = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileStatus {
    Added,
    Removed,
    Modified,
    Renamed,
    Changed,
}

impl FileStatus {
    pub(crate) fn word(self) -> &'static str {
        match self {
            FileStatus::Added => "added",
            FileStatus::Removed => "removed",
            FileStatus::Modified => "modified",
            FileStatus::Renamed => "renamed",
            FileStatus::Changed => "changed",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    pub(crate) previous: Option<String>,
    pub(crate) status: FileStatus,
    /// The new blob; for a removed file the old one.
    pub(crate) blob: String,
    pub(crate) additions: i64,
    pub(crate) deletions: i64,
    pub(crate) patch: Option<String>,
}

impl Repository<'_> {
    /// The changed files between two commits or trees, with patches.
    pub(crate) async fn changes(&self, old: &Sha, new: &Sha) -> Result<Vec<FileChange>, GitError> {
        let mut files = self.summary(old, new).await?;
        let args = self.diff_args("--patch", old, new);
        let output = match self.call(args).run().await {
            Ok(output) => output,
            // Too large: the summary without patches has to suffice.
            Err(GitError::TooMuchOutput(_)) => return Ok(files),
            Err(error) => return Err(error),
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut patches = patches(&text);
        for file in &mut files {
            file.patch = patches.remove(file.path.as_str());
        }
        Ok(files)
    }

    /// The changed files without patches.
    pub(crate) async fn summary(&self, old: &Sha, new: &Sha) -> Result<Vec<FileChange>, GitError> {
        let mut args = self.diff_args("--raw", old, new);
        args.extend(["--numstat".to_owned(), "-z".to_owned(), "--abbrev=40".to_owned()]);
        let output = self.call(args).run().await?;
        Ok(summary(&String::from_utf8_lossy(&output.stdout)))
    }

    /// The whole diff as one patch.
    pub(crate) async fn patch(&self, old: &Sha, new: &Sha) -> Result<Vec<u8>, GitError> {
        Ok(self.call(self.diff_args("--patch", old, new)).run().await?.stdout)
    }

    /// The commits after `old` up to `new`, or from the first commit, in the format of `git am`.
    pub(crate) async fn format_patch(&self, old: Option<&Sha>, new: &Sha) -> Result<Vec<u8>, GitError> {
        let range = match old {
            Some(old) => vec![format!("{old}..{new}")],
            None => vec!["--root".to_owned(), new.to_string()],
        };
        let fixed = [
            "format-patch",
            "--stdout",
            "-M",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-signature",
        ];
        Ok(self.call(fixed).args(range).run().await?.stdout)
    }

    fn diff_args(&self, form: &str, old: &Sha, new: &Sha) -> Vec<String> {
        let fixed = ["diff-tree", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv"];
        let mut args: Vec<String> = fixed.iter().map(|arg| (*arg).to_owned()).collect();
        args.extend([form.to_owned(), old.to_string(), new.to_string()]);
        args
    }
}

/// Parses `--raw --numstat -z`: first the raw records, then the numbers, in the same order.
fn summary(text: &str) -> Vec<FileChange> {
    let mut files = Vec::new();
    let mut tokens = text.split('\0').filter(|token| !token.is_empty()).peekable();
    while let Some(raw) = tokens.next_if(|token| token.starts_with(':')) {
        let fields: Vec<&str> = raw.split(' ').collect();
        let [_, _, old, new, letter] = fields[..] else { break };
        let status = match letter.as_bytes().first() {
            Some(b'A') => FileStatus::Added,
            Some(b'D') => FileStatus::Removed,
            Some(b'R') => FileStatus::Renamed,
            Some(b'T') => FileStatus::Changed,
            _ => FileStatus::Modified,
        };
        let first = tokens.next().unwrap_or_default().to_owned();
        let (path, previous) = match status {
            FileStatus::Renamed => (tokens.next().unwrap_or_default().to_owned(), Some(first)),
            FileStatus::Added | FileStatus::Removed | FileStatus::Modified | FileStatus::Changed => {
                (first, None)
            }
        };
        let blob = if status == FileStatus::Removed { old } else { new }.to_owned();
        files.push(FileChange { path, previous, status, blob, additions: 0, deletions: 0, patch: None });
    }
    for file in &mut files {
        let Some(numbers) = tokens.next() else { break };
        let mut fields = numbers.splitn(3, '\t');
        // Binary files have a dash here.
        file.additions = fields.next().and_then(|field| field.parse().ok()).unwrap_or(0);
        file.deletions = fields.next().and_then(|field| field.parse().ok()).unwrap_or(0);
        if fields.next().is_none_or(str::is_empty) {
            // A rename is followed by both names.
            tokens.next();
            tokens.next();
        }
    }
    files
}

/// The hunks of each file by name, without long and binary ones.
fn patches(text: &str) -> HashMap<&str, String> {
    let mut patches = HashMap::new();
    for part in text.split("\ndiff --git ").map(|part| part.strip_prefix("diff --git ").unwrap_or(part)) {
        let Some(at) = part.find("\n@@") else { continue };
        let (head, hunks) = part.split_at(at + 1);
        let name = head.lines().find_map(|line| line.strip_prefix("+++ b/"));
        let name = name.or_else(|| head.lines().find_map(|line| line.strip_prefix("--- a/")));
        if let Some(name) = name.filter(|_| hunks.len() <= MOST_PATCH) {
            // Git adds a tab after names with spaces.
            patches.insert(name.trim_end_matches('\t'), hunks.trim_end_matches('\n').to_owned());
        }
    }
    patches
}
