//! Orders from outside to a run: files in a directory of its own below Pilot's, which the run looks at on every tick.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pilot_store::RunId;

/// What can be asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// End, with the work kept.
    Cancel,
    /// Go on after a pause.
    Resume,
}

impl Order {
    fn file(self) -> &'static str {
        match self {
            Order::Cancel => "cancel",
            Order::Resume => "resume",
        }
    }
}

/// The orders for one run.
#[derive(Debug)]
pub(crate) struct Control(PathBuf);

impl Control {
    fn path(home: &Path, run: &RunId) -> PathBuf {
        home.join("runs").join(run.as_str())
    }

    /// Opens the run for orders. Its directory also holds its temporary files.
    pub(crate) fn open(home: &Path, run: &RunId) -> io::Result<Control> {
        let path = Control::path(home, run);
        fs::create_dir_all(path.join("tmp"))?;
        Ok(Control(path))
    }

    /// The run's private directory for temporary files.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }

    /// Where the images of its task are put.
    pub(crate) fn images(&self) -> PathBuf {
        self.0.join("images")
    }

    /// Whether an order has come; it is taken.
    pub(crate) fn take(&self, order: Order) -> bool {
        fs::remove_file(self.0.join(order.file())).is_ok()
    }

    /// The run is over.
    pub(crate) fn close(self) {
        // What cannot be removed is only temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }

    /// Gives an order to a run; false when it takes none any more.
    pub(crate) fn give(home: &Path, run: &RunId, order: Order) -> io::Result<bool> {
        let path = Control::path(home, run);
        if !path.is_dir() {
            return Ok(false);
        }
        fs::write(path.join(order.file()), b"")?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use pilot_store::{Micros, RunId};

    use super::{Control, Order};

    #[test]
    fn an_order_is_taken_once_and_not_after_the_end() {
        let home = tempfile::tempdir().unwrap();
        let run = RunId::generate(Micros(1));
        assert!(!Control::give(home.path(), &run, Order::Cancel).unwrap());
        let control = Control::open(home.path(), &run).unwrap();
        assert!(!control.take(Order::Cancel));
        assert!(Control::give(home.path(), &run, Order::Cancel).unwrap());
        assert!(!control.take(Order::Resume));
        assert!(control.take(Order::Cancel));
        assert!(!control.take(Order::Cancel));
        control.close();
        assert!(!Control::give(home.path(), &run, Order::Resume).unwrap());
    }
}
