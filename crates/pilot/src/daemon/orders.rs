//! Orders from another process on this machine: files below Pilot's directory, taken by the daemon when it next looks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pilot_core::fact::Order;
use pilot_core::name::TaskKey;

use crate::clock;

/// Files beyond this are not looked at in one go.
const MOST: usize = 1000;

/// An order that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) file: PathBuf,
    pub(crate) order: Order,
    /// Which task; none for every project.
    pub(crate) task: Option<TaskKey>,
}

fn folder(home: &Path) -> PathBuf {
    home.join("orders")
}

/// Gives an order.
pub(crate) fn give(home: &Path, order: Order, task: Option<&TaskKey>) -> io::Result<Waiting> {
    let folder = folder(home);
    fs::create_dir_all(&folder)?;
    let name = task.map_or("all", TaskKey::as_str);
    let file = folder.join(format!("{:020}-{}-{name}", clock::now().0, order.as_str()));
    // The name is all there is, so nobody reads half of it.
    fs::write(&file, b"")?;
    Ok(Waiting { file, order, task: task.cloned() })
}

/// The orders that wait, oldest first. What is none is removed.
pub(crate) fn waiting(home: &Path) -> Vec<Waiting> {
    let Ok(entries) = fs::read_dir(folder(home)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).take(MOST).collect();
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

fn read(file: &Path) -> Option<Waiting> {
    let mut parts = file.file_name()?.to_str()?.splitn(3, '-');
    let (_, order, task) = (parts.next()?, parts.next()?, parts.next()?);
    let all = [Order::Cancel, Order::Retry, Order::Pause, Order::Resume];
    let order = all.into_iter().find(|known| known.as_str() == order)?;
    let task = if task == "all" { None } else { Some(TaskKey::parse(task).ok()?) };
    Some(Waiting { file: file.to_owned(), order, task })
}

impl Waiting {
    /// Whether the daemon has not taken it yet.
    pub(crate) fn still_waits(&self) -> bool {
        self.file.exists()
    }

    /// It was obeyed.
    pub(crate) fn done(&self) {
        let _ = fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use pilot_core::fact::Order;
    use pilot_core::name::{IssueNumber, TaskKey};

    use super::{give, waiting};

    #[test]
    fn orders_wait_in_their_order_and_garbage_goes() {
        let home = tempfile::tempdir().unwrap();
        assert!(waiting(home.path()).is_empty());
        let task = TaskKey::of_issue(IssueNumber(12));
        let first = give(home.path(), Order::Cancel, Some(&task)).unwrap();
        let second = give(home.path(), Order::Pause, None).unwrap();
        std::fs::write(home.path().join("orders/nonsense"), "").unwrap();
        assert_eq!(waiting(home.path()), [first.clone(), second.clone()]);
        assert!(!home.path().join("orders/nonsense").exists());
        first.done();
        assert!(!first.still_waits());
        assert_eq!(waiting(home.path()), [second]);
    }
}
