//! What to start, within which bounds, and every way in which it may not start.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

/// A program to run, with everything it gets: nothing is inherited.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program and its arguments. A program without a slash is looked up in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    /// What it reads on standard input, which is closed behind it.
    pub stdin: Vec<u8>,
    pub limits: ProcessLimits,
    pub deadlines: Deadlines,
}

/// Bounds the kernel keeps; each one only where it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Bytes of writable private memory of each process (`RLIMIT_DATA`). Never the address space, which JavaScript engines reserve by the terabyte.
    pub memory: Option<u64>,
    /// Processes and threads at once: by the namespace's own `pid_max` where the kernel has one, and by `RLIMIT_NPROC` in a user namespace.
    pub processes: Option<u64>,
    /// Bytes of the largest file it may write (`RLIMIT_FSIZE`).
    pub file_size: Option<u64>,
}

impl Default for ProcessLimits {
    /// Enough processes for any build, too few for a fork bomb to take the machine along; nothing else.
    fn default() -> Self {
        Self { memory: None, processes: Some(8192), file_size: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    pub total: Option<Duration>,
    pub silence: Option<Duration>,
    /// Between TERM and KILL.
    pub grace: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { total: None, silence: None, grace: Duration::from_secs(5) }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("run an empty command")]
    Empty,
    #[error("run {program:?} in {cwd:?}: not a directory")]
    Directory { program: OsString, cwd: PathBuf },
    #[error("find {program:?}: {}", tried_words(tried))]
    NotFound { program: OsString, tried: Vec<PathBuf> },
    #[error("run {path:?}: it is not executable here ({error})")]
    NotExecutable { path: PathBuf, error: io::Error },
    #[error("run {path:?}: arguments and environment ({bytes} bytes) are too long for this system")]
    TooLong { path: PathBuf, bytes: usize },
    #[error("run {path:?}: {error}")]
    System { path: PathBuf, error: io::Error },
    #[error("start {keeper:?} as the keeper of a program: {error}")]
    Keeper { keeper: PathBuf, error: io::Error },
}

impl Launch {
    /// Arguments, environment and input in their smallest form: nothing but the command.
    pub fn new<A: Into<OsString>>(argv: impl IntoIterator<Item = A>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Vec::new(),
            limits: ProcessLimits::default(),
            deadlines: Deadlines::default(),
        }
    }

    pub(super) fn program(&self) -> Result<PathBuf, StartError> {
        let program = self.argv.first().filter(|program| !program.is_empty()).ok_or(StartError::Empty)?;
        if !self.cwd.is_dir() {
            return Err(StartError::Directory { program: program.clone(), cwd: self.cwd.clone() });
        }
        let tried = self.candidates(program);
        match tried
            .iter()
            .find(|path| is_executable(path))
            .or_else(|| tried.iter().find(|path| path.is_file()))
        {
            Some(path) => Ok(path.clone()),
            None => Err(StartError::NotFound { program: program.clone(), tried }),
        }
    }

    fn candidates(&self, program: &OsStr) -> Vec<PathBuf> {
        if program.as_bytes().contains(&b'/') {
            return vec![self.cwd.join(program)];
        }
        let path = self.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |(_, path)| path);
        let folders = path.as_bytes().split(|byte| *byte == b':');
        folders.map(|folder| self.cwd.join(OsStr::from_bytes(folder)).join(program)).collect()
    }

    /// What an error number of the system means for this program.
    pub(super) fn refused(&self, path: &Path, errno: i32) -> StartError {
        let path = path.to_owned();
        let error = io::Error::from_raw_os_error(errno);
        match Errno::from_raw_os_error(errno) {
            Errno::ACCESS | Errno::NOEXEC | Errno::NOENT | Errno::ISDIR | Errno::NOTDIR => {
                StartError::NotExecutable { path, error }
            }
            Errno::TOOBIG => StartError::TooLong { path, bytes: self.size() },
            _ => StartError::System { path, error },
        }
    }

    fn size(&self) -> usize {
        let argv: usize = self.argv.iter().map(|arg| arg.len() + 1).sum();
        let env: usize = self.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
        argv + env
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn tried_words(tried: &[PathBuf]) -> String {
    let paths: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
    format!("not at {}", paths.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(program: &str, path: Option<&str>) -> Launch {
        let mut launch = Launch::new([program], "/");
        launch.env = path.map(|path| ("PATH".into(), path.into())).into_iter().collect();
        launch
    }

    #[test]
    fn programs_are_found_where_the_agent_would_find_them() {
        assert_eq!(launch("sh", Some("/nowhere:/bin")).program().unwrap(), Path::new("/bin/sh"));
        assert_eq!(launch("sh", None).program().unwrap().file_name().unwrap(), "sh");
        assert_eq!(launch("bin/sh", None).program().unwrap(), Path::new("/bin/sh"));
        assert_eq!(
            launch("sh", Some("/nowhere:/else")).program().unwrap_err().to_string(),
            "find \"sh\": not at /nowhere/sh, /else/sh"
        );
        assert!(matches!(launch("", None).program(), Err(StartError::Empty)));
        let mut lost = launch("sh", None);
        lost.cwd = "/nowhere".into();
        assert!(matches!(lost.program(), Err(StartError::Directory { .. })));
    }
}
