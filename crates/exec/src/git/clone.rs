//! Clones a remote repository.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{Git, GitError, GitPlace, Program, Remote, RemoteError, askpass};

/// Clones a repository into a new directory. The password is in no file of it.
pub fn clone(program: &Arc<Program>, remote: &Remote, into: &Path) -> Result<(), RemoteError> {
    let broken = |source| GitError::Io { command: "clone".to_owned(), source };
    let parent = into.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(broken)?;
    let place = GitPlace { dir: parent.to_owned(), ..GitPlace::default() };
    let git = Git::at(Arc::new(program.limited(remote.limit)), place).with_settings(&remote.settings());
    let link = parent.join(askpass::WORD);
    let git = git.with_credential(remote, &link).map_err(broken)?;
    let into = into.to_string_lossy();
    let ended = git.end(&["clone", "--quiet", "--no-tags", "--", remote.url(), &into], b"");
    let _ = fs::remove_file(&link);
    let ended = ended?;
    match ended.code {
        Some(0) => Ok(()),
        _ => Err(remote.explain(&ended.stderr)),
    }
}
