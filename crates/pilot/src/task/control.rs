//! Commands to a run from other processes: files in its own directory below Pilot's home, read on every tick.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pilot_store::RunId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunCommand {
    /// End, with the work kept.
    Cancel,
    Resume,
}

impl RunCommand {
    fn file(self) -> &'static str {
        match self {
            RunCommand::Cancel => "cancel",
            RunCommand::Resume => "resume",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Control(PathBuf);

impl Control {
    fn path(home: &Path, run: &RunId) -> PathBuf {
        home.join("runs").join(run.as_str())
    }

    /// Opens the run for commands. Its directory also holds its temporary files.
    pub(crate) fn open(home: &Path, run: &RunId) -> io::Result<Control> {
        let path = Control::path(home, run);
        fs::create_dir_all(path.join("tmp"))?;
        Ok(Control(path))
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }

    pub(crate) fn images(&self) -> PathBuf {
        self.0.join("images")
    }

    pub(crate) fn take(&self, command: RunCommand) -> bool {
        fs::remove_file(self.0.join(command.file())).is_ok()
    }

    pub(crate) fn close(self) {
        // What cannot be removed is only temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }

    pub(crate) fn give(home: &Path, run: &RunId, command: RunCommand) -> io::Result<bool> {
        let path = Control::path(home, run);
        if !path.is_dir() {
            return Ok(false);
        }
        fs::write(path.join(command.file()), b"")?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use pilot_core::time::Timestamp;
    use pilot_store::RunId;

    use super::{Control, RunCommand};

    #[test]
    fn a_command_is_taken_once_and_not_after_the_end() {
        let home = tempfile::tempdir().unwrap();
        let run = RunId::generate(Timestamp(1));
        assert!(!Control::give(home.path(), &run, RunCommand::Cancel).unwrap());
        let control = Control::open(home.path(), &run).unwrap();
        assert!(!control.take(RunCommand::Cancel));
        assert!(Control::give(home.path(), &run, RunCommand::Cancel).unwrap());
        assert!(!control.take(RunCommand::Resume));
        assert!(control.take(RunCommand::Cancel));
        assert!(!control.take(RunCommand::Cancel));
        control.close();
        assert!(!Control::give(home.path(), &run, RunCommand::Resume).unwrap());
    }
}
