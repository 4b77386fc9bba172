//! A first copy of a repository elsewhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use super::{Git, GitError, Place, Program, Remote, RemoteError, askpass};

/// Copies a repository into a new directory. The password is in no file of it.
pub fn clone(program: &Arc<Program>, remote: &Remote, into: &Path) -> Result<(), RemoteError> {
    let broken = |source| GitError::Io { command: "clone".to_owned(), source };
    let parent = into.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(broken)?;
    let place = Place { dir: parent.to_owned(), ..Place::default() };
    let mut git = Git::at(Arc::new(program.limited(remote.limit())), place).with_settings(&remote.settings());
    let link = parent.join(askpass::WORD);
    if let Some(login) = remote.login()
        && let Some(whom) = remote.whom(login)
    {
        symlink(&login.askpass, &link).map_err(broken)?;
        git = git
            .with_var("GIT_ASKPASS", &link)
            .with_var(askpass::FOR, whom)
            .with_var(askpass::PASSWORD, &login.password);
    }
    let into = into.to_string_lossy();
    let ended = git.end(&["clone", "--quiet", "--no-tags", "--", remote.url(), &into], b"");
    let _ = fs::remove_file(&link);
    let ended = ended?;
    match ended.code {
        Some(0) => Ok(()),
        _ => Err(remote.explain(&ended.stderr)),
    }
}
