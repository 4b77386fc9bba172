//! Commands from another process on this machine: files below Pilot's directory that the daemon looks for.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::fact::UserCommand;
use pilot_core::id::TaskKey;
use pilot_core::schedule::TaskRef;
use pilot_store::Store;

use super::inbox::{Inbound, Inbox};
use super::log::Log;
use crate::clock;

/// Files beyond this are not looked at in one go.
const MOST: usize = 1000;

/// The end of the name of a refusal.
const REFUSED: &str = ".refused";

/// How often the daemon looks.
const EVERY: Duration = Duration::from_millis(250);

/// A command that the daemon has not taken yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandFile {
    pub(crate) file: PathBuf,
    pub(crate) command: UserCommand,
    /// Which task; none for every project.
    pub(crate) task: Option<TaskRef>,
}

fn folder(home: &Path) -> PathBuf {
    home.join("orders")
}

pub(crate) fn give(home: &Path, command: UserCommand, task: Option<&TaskRef>) -> io::Result<CommandFile> {
    let folder = folder(home);
    fs::create_dir_all(&folder)?;
    let name = format!("{:020}-{}", clock::now().0, command.as_str());
    let (draft, file) = (folder.join(format!(".{name}")), folder.join(name));
    // Renamed when it is whole, so it is never read half written.
    fs::write(&draft, serde_json::to_vec(&task)?)?;
    fs::rename(&draft, &file)?;
    Ok(CommandFile { file, command, task: task.cloned() })
}

/// The files of commands, oldest first; drafts and refusals are none.
fn files(home: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder(home)) else { return Vec::new() };
    let is_hidden = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let entries = entries.flatten().filter(|entry| !is_hidden(entry));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).take(MOST).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Option<CommandFile> {
    let (_, command) = file.file_name()?.to_str()?.split_once('-')?;
    let command = command_of(command)?;
    let task = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    Some(CommandFile { file: file.to_owned(), command, task })
}

fn command_of(word: &str) -> Option<UserCommand> {
    let all = [UserCommand::Cancel, UserCommand::Retry, UserCommand::Pause, UserCommand::Resume];
    all.into_iter().find(|known| known.as_str() == word)
}

/// A command as Pilot wrote it before a task had a project: an empty file with a name like `TIME-cancel-GH-12` or
/// `TIME-pause-all`.
fn read_old(file: &Path) -> Option<(UserCommand, Option<TaskKey>)> {
    let mut parts = file.file_name()?.to_str()?.splitn(3, '-');
    let (_, command, task) = (parts.next()?, parts.next()?, parts.next()?);
    let task = if task == "all" { None } else { Some(TaskKey::parse(task).ok()?) };
    Some((command_of(command)?, task))
}

/// Writes the commands that an earlier version left as this one reads them. One for a task that no project has is logged.
pub(crate) async fn upgrade(home: &Path, store: &Store, log: &mut Log) -> anyhow::Result<()> {
    for file in files(home) {
        let Some((command, task)) = read_old(&file) else { continue };
        match &task {
            None => drop(give(home, command, None)?),
            Some(key) => {
                let found = store.find_tasks(key).await?;
                for row in &found {
                    give(home, command, Some(&(row.facts.project.clone(), key.clone())))?;
                }
                if found.is_empty() {
                    let word = command.as_str();
                    let words = format!(
                        "{word} was given to an earlier version, which knew no such task: it is ignored"
                    );
                    log.warn(key.as_str(), &words);
                }
            }
        }
        fs::remove_file(&file)?;
    }
    Ok(())
}

/// Sends each command to the inbox once, for ever.
pub(crate) async fn watch(home: PathBuf, inbox: Inbox) {
    remove_refusals(&home);
    let mut sent: BTreeSet<PathBuf> = BTreeSet::new();
    loop {
        let files = files(&home);
        sent.retain(|file| files.contains(file));
        for file in files {
            if sent.insert(file.clone()) {
                let message = read(&file).map_or_else(|| Inbound::UnreadableCommand(file), Inbound::Command);
                inbox.send(message).await;
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Removes a command that was executed.
pub(crate) fn remove(id: &str) {
    let _ = fs::remove_file(id);
}

/// Where the process that gave a command finds why it was refused.
fn refusal_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}{REFUSED}"))
}

/// Removes a command that cannot be executed, and leaves the reason for the process that gave it.
pub(crate) fn refuse(id: &str, why: &str) {
    let _ = fs::write(refusal_of(Path::new(id)), why);
    remove(id);
}

/// Removes refusals that no process has waited for.
fn remove_refusals(home: &Path) {
    let Ok(entries) = fs::read_dir(folder(home)) else { return };
    let is_refusal =
        |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().ends_with(REFUSED.as_bytes());
    for entry in entries.flatten().filter(is_refusal) {
        let _ = fs::remove_file(entry.path());
    }
}

impl CommandFile {
    /// What the daemon knows it by.
    pub(crate) fn id(&self) -> String {
        self.file.to_string_lossy().into_owned()
    }

    /// Whether the daemon has not taken it yet.
    pub(crate) fn still_waits(&self) -> bool {
        self.file.exists()
    }

    /// Why the daemon refused it, if it did.
    pub(crate) fn refusal(&self) -> Option<String> {
        let file = refusal_of(&self.file);
        let why = fs::read_to_string(&file).ok()?;
        let _ = fs::remove_file(&file);
        Some(why)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pilot_core::fact::UserCommand;
    use pilot_core::id::{ProjectId, TaskKey};

    use super::{files, give, read, read_old, refuse, remove, remove_refusals};

    #[test]
    fn commands_wait_in_their_order() {
        let home = tempfile::tempdir().unwrap();
        let waiting = || files(home.path()).iter().map(|file| read(file)).collect::<Vec<_>>();
        assert!(waiting().is_empty());
        let task = (ProjectId::parse("forge:acme/app").unwrap(), TaskKey::numbered("GH", 12));
        let first = give(home.path(), UserCommand::Cancel, Some(&task)).unwrap();
        let second = give(home.path(), UserCommand::Pause, None).unwrap();
        std::fs::write(home.path().join("orders/nonsense"), "").unwrap();
        assert_eq!(waiting(), [Some(first.clone()), Some(second.clone()), None]);
        remove(&first.id());
        assert!(!first.still_waits());
        assert_eq!(waiting(), [Some(second), None]);
    }

    #[test]
    fn a_refusal_is_read_once_or_removed_at_the_next_start() {
        let home = tempfile::tempdir().unwrap();
        let given = give(home.path(), UserCommand::Pause, None).unwrap();
        assert_eq!(given.refusal(), None);
        for is_removed in [false, true] {
            refuse(&given.id(), "no such project");
            assert!(!given.still_waits() && files(home.path()).is_empty());
            if is_removed {
                remove_refusals(home.path());
            }
            assert_eq!(given.refusal().is_none(), is_removed);
            assert_eq!(given.refusal(), None);
        }
    }

    #[test]
    fn commands_of_the_version_before_are_read() {
        let key = || Some(TaskKey::numbered("GH", 12));
        for (name, expect) in [
            ("00000000000000000001-cancel-GH-12", Some((UserCommand::Cancel, key()))),
            ("00000000000000000001-pause-all", Some((UserCommand::Pause, None))),
            ("00000000000000000001-cancel", None),
            ("00000000000000000001-dance-GH-12", None),
            ("00000000000000000001-cancel-it", None),
            ("nonsense", None),
        ] {
            assert_eq!(read_old(Path::new(name)), expect, "{name}");
        }
    }
}
