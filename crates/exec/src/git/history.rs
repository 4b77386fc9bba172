//! Commits and changes between two commits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pilot_core::id::Sha;

use super::status::path_of;
use super::{Git, GitError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub sha: Sha,
    pub parents: Vec<Sha>,
    pub subject: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: PathBuf,
    /// Lines added; none for binary files.
    pub added: Option<u64>,
    pub removed: Option<u64>,
    /// Whether it is a submodule afterwards: a commit of another repository.
    pub gitlink: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffStat {
    /// The files, by path; a renamed file counts twice, as gone and as new.
    pub files: Vec<FileChange>,
}

impl DiffStat {
    pub fn added(&self) -> u64 {
        self.files.iter().filter_map(|file| file.added).sum()
    }

    pub fn removed(&self) -> u64 {
        self.files.iter().filter_map(|file| file.removed).sum()
    }
}

impl Git {
    /// The commits that lead to `head` and not to any of `known`, newest first, at most `most`.
    pub fn commits<'a>(
        &self,
        head: &Sha,
        known: impl IntoIterator<Item = &'a Sha>,
        most: usize,
    ) -> Result<Vec<Commit>, GitError> {
        let mut tips = format!("{head}\n");
        for sha in known {
            tips.push_str(&format!("^{sha}\n"));
        }
        let most = format!("--max-count={most}");
        // Known tips may be missing by now: a ref that the agent broke must not fail the call.
        let args =
            ["log", "-z", "--topo-order", "--no-show-signature", "--ignore-missing", "--no-color", &most];
        let format = ["--encoding=UTF-8", "--format=%H%n%P%n%s", "--stdin"];
        let printed = self.run(&[&args[..], &format[..]].concat(), tips.as_bytes())?;
        records(&printed).map(|record| commit(record).ok_or_else(|| odd("log", record))).collect()
    }

    pub fn diff(&self, from: &Sha, to: &Sha) -> Result<DiffStat, GitError> {
        let args =
            ["diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let printed = self.run(&[&args[..], &["--no-color", from.as_str(), to.as_str()]].concat(), b"")?;
        let mut files: BTreeMap<PathBuf, FileChange> = BTreeMap::new();
        let mut fields = printed.split(|byte| *byte == 0);
        while let Some(field) = fields.next() {
            if field.is_empty() {
                continue;
            }
            if let Some(raw) = field.strip_prefix(b":") {
                let path = path_of(fields.next().ok_or_else(|| odd("diff-tree", field))?);
                let gitlink = raw.split(|byte| *byte == b' ').nth(1) == Some(b"160000");
                files.insert(path.clone(), FileChange { path, added: None, removed: None, gitlink });
            } else {
                let mut parts = field.splitn(3, |byte| *byte == b'\t');
                let [Some(added), Some(removed), Some(name)] = [parts.next(), parts.next(), parts.next()]
                else {
                    return Err(odd("diff-tree", field));
                };
                if let Some(file) = files.get_mut(&path_of(name)) {
                    (file.added, file.removed) = (number(added), number(removed));
                }
            }
        }
        Ok(DiffStat { files: files.into_values().collect() })
    }

    /// The change of each file between two commits as people read it, by path. Names and texts are for reading only.
    pub fn patches(&self, from: &Sha, to: &Sha) -> Result<Vec<(String, String)>, GitError> {
        let args = [
            "-c",
            "core.quotePath=false",
            "diff-tree",
            "-r",
            "-p",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            from.as_str(),
            to.as_str(),
        ];
        let printed = String::from_utf8_lossy(&self.run(&args, b"")?).into_owned();
        let starts: Vec<usize> = printed
            .match_indices("diff --git ")
            .map(|(at, _)| at)
            .filter(|at| *at == 0 || printed.as_bytes()[at - 1] == b'\n')
            .collect();
        let ends = starts.iter().skip(1).copied().chain([printed.len()]);
        let patch = |(start, end): (&usize, usize)| {
            let text = &printed[*start..end];
            (patched_path(text), text.to_owned())
        };
        Ok(starts.iter().zip(ends).map(patch).collect())
    }

    pub fn count(&self, base: &Sha, head: &Sha) -> Result<u64, GitError> {
        let printed = self.text(&["rev-list", "--count", &format!("{base}..{head}")], b"")?;
        printed.trim().parse().map_err(|_| odd("rev-list", printed.as_bytes()))
    }

    pub fn is_ancestor(&self, older: &Sha, newer: &Sha) -> Result<bool, GitError> {
        let ended = self.end(&["merge-base", "--is-ancestor", older.as_str(), newer.as_str()], b"")?;
        match ended.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(ended.failed("merge-base")),
        }
    }

    /// The object ids of these names (`HEAD^{tree}`); none for what does not exist.
    pub fn resolve(&self, names: &[String]) -> Result<Vec<Option<Sha>>, GitError> {
        let mut input = names.join("\n");
        input.push('\n');
        let printed = self.text(&["cat-file", "--batch-check=%(objectname)"], input.as_bytes())?;
        let found: Vec<_> = printed.lines().map(|line| Sha::parse(line).ok()).collect();
        if found.len() == names.len() { Ok(found) } else { Err(odd("cat-file", printed.as_bytes())) }
    }
}

fn records(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

fn commit(record: &[u8]) -> Option<Commit> {
    let mut lines = record.splitn(3, |byte| *byte == b'\n').map(String::from_utf8_lossy);
    let sha = Sha::parse(&lines.next()?).ok()?;
    let parents = lines.next()?.split_whitespace().map(Sha::parse).collect::<Result<_, _>>().ok()?;
    Some(Commit { sha, parents, subject: lines.next().unwrap_or_default().into_owned() })
}

fn number(bytes: &[u8]) -> Option<u64> {
    str::from_utf8(bytes).ok()?.parse().ok()
}

fn odd(command: &str, what: &[u8]) -> GitError {
    let what = String::from_utf8_lossy(&what[..what.len().min(200)]).into_owned();
    GitError::Unexpected { command: command.to_owned(), what }
}
/// The path a patch is about, from its own headers.
fn patched_path(patch: &str) -> String {
    let head: Vec<&str> = patch.lines().take_while(|line| !line.starts_with("@@")).collect();
    let named = |start: &str| {
        let found = head.iter().find_map(|line| line.strip_prefix(start));
        found.map(|name| name.trim_end_matches('\t'))
    };
    let first = head.first().and_then(|line| line.split_once(" b/")).map(|(_, name)| name);
    named("+++ b/").or(named("--- a/")).or(first).unwrap_or("a file").to_owned()
}
