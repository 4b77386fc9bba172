//! Commands from another process on this machine: files below Pilot's directory that the daemon looks for.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pilot_core::fact::UserCommand;
use pilot_core::schedule::TaskRef;

use super::inbox::{Inbound, Inbox};
use crate::clock;

/// Files beyond this are not looked at in one go.
const MOST: usize = 1000;

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

/// The waiting commands, oldest first. A file that is none is removed; a draft stays.
pub(crate) fn waiting(home: &Path) -> Vec<CommandFile> {
    let Ok(entries) = fs::read_dir(folder(home)) else { return Vec::new() };
    let is_draft = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let entries = entries.flatten().filter(|entry| !is_draft(entry));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).take(MOST).collect();
    files.sort();
    files
        .into_iter()
        .filter_map(|file| {
            let read = read(&file);
            if read.is_none() {
                let _ = fs::remove_file(&file);
            }
            read
        })
        .collect()
}

fn read(file: &Path) -> Option<CommandFile> {
    let (_, command) = file.file_name()?.to_str()?.split_once('-')?;
    let all = [UserCommand::Cancel, UserCommand::Retry, UserCommand::Pause, UserCommand::Resume];
    let command = all.into_iter().find(|known| known.as_str() == command)?;
    let task = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    Some(CommandFile { file: file.to_owned(), command, task })
}

/// Sends each command to the inbox once, for ever.
pub(crate) async fn watch(home: PathBuf, inbox: Inbox) {
    let mut sent: BTreeSet<PathBuf> = BTreeSet::new();
    loop {
        let files = waiting(&home);
        sent.retain(|file| files.iter().any(|waiting| waiting.file == *file));
        for file in files {
            if sent.insert(file.file.clone()) {
                inbox.send(Inbound::Command(file)).await;
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Removes a command that was executed.
pub(crate) fn remove(id: &str) {
    let _ = fs::remove_file(id);
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
}

#[cfg(test)]
mod tests {
    use pilot_core::fact::UserCommand;
    use pilot_core::id::{ProjectId, TaskKey};

    use super::{give, remove, waiting};

    #[test]
    fn commands_wait_in_their_order_and_garbage_goes() {
        let home = tempfile::tempdir().unwrap();
        assert!(waiting(home.path()).is_empty());
        let task = (ProjectId::parse("github:acme/app").unwrap(), TaskKey::numbered("GH", 12));
        let first = give(home.path(), UserCommand::Cancel, Some(&task)).unwrap();
        let second = give(home.path(), UserCommand::Pause, None).unwrap();
        std::fs::write(home.path().join("orders/nonsense"), "").unwrap();
        std::fs::write(home.path().join("orders/1-cancel"), "GH-12").unwrap();
        assert_eq!(waiting(home.path()), [first.clone(), second.clone()]);
        assert!(!home.path().join("orders/nonsense").exists());
        remove(&first.id());
        assert!(!first.still_waits());
        assert_eq!(waiting(home.path()), [second]);
    }
}
