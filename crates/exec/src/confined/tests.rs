use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{Confined, ConfinedError};

type Rival = Box<dyn FnMut()>;

thread_local! {
    static RIVAL: RefCell<Option<Rival>> = const { RefCell::new(None) };
}

/// What another process does between two system calls of this thread.
pub(super) fn let_others_act() {
    RIVAL.with_borrow_mut(|rival| rival.as_mut().map(|act| act()));
}

struct Swap {
    folder: PathBuf,
    link: PathBuf,
}

impl Swap {
    /// A folder of the project, and a link to what is outside that can take its place.
    fn new(place: &Path) -> Swap {
        fs::create_dir_all(place.join("outside/deep")).unwrap();
        fs::write(place.join("outside/deep/x.md"), "this is outside\n").unwrap();
        let swap = Swap { folder: place.join("project/swap"), link: place.join("project/link") };
        fs::create_dir_all(&swap.folder).unwrap();
        symlink("../outside", &swap.link).unwrap();
        swap
    }

    /// Exchanges folder and link before the calls with these numbers, from 0 on; the answer is how many calls there were.
    fn during(&self, moments: [usize; 2], work: impl FnOnce()) -> usize {
        let (folder, link) = (self.folder.clone(), self.link.clone());
        let count = std::rc::Rc::new(std::cell::Cell::new(0));
        let calls = std::rc::Rc::clone(&count);
        RIVAL.set(Some(Box::new(move || {
            if moments.contains(&calls.get()) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
            calls.set(calls.get() + 1);
        })));
        work();
        RIVAL.set(None);
        count.get()
    }

    /// The folder is a folder again.
    fn restore(&self) {
        if self.folder.symlink_metadata().unwrap().is_symlink() {
            renameat_with(CWD, &self.folder, CWD, &self.link, RenameFlags::EXCHANGE).unwrap();
        }
    }
}

const PATH: &str = "swap/deep/x.md";
const NEVER: usize = usize::MAX;

/// A file written and read as an update of a pipeline is.
fn write_and_read(project: &Confined) -> Result<Vec<u8>, ConfinedError> {
    let staged = ".staged".to_owned();
    let written = project
        .check(PATH)
        .and_then(|()| project.stage(PATH, &staged, b"inside\n"))
        .and_then(|()| project.place(&[(PATH.to_owned(), staged.clone())]));
    if written.is_err() {
        project.discard(PATH, &staged);
    }
    let read = project.read(PATH, 1_000);
    written.and(read)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A link takes the folder's place before each single system call, and goes away before each later one.
#[test]
fn a_link_that_comes_and_goes_leads_nowhere() {
    for openat2 in [true, false] {
        let place = tempfile::tempdir().unwrap();
        let swap = Swap::new(place.path());
        let project = Confined::open(&place.path().join("project")).unwrap();
        let project = if openat2 { project } else { project.without_openat2() };
        let calls = swap.during([NEVER, NEVER], || {
            assert_eq!(write_and_read(&project).unwrap(), b"inside\n");
        });
        assert!(calls > 12, "a call for each component, four times: {calls}");
        let (mut written, mut refused) = (0, 0);
        for comes in 0..calls {
            for goes in (comes + 1..=calls).chain([NEVER]) {
                let _ = fs::remove_dir_all(swap.folder.join("deep"));
                swap.during([comes, goes], || match write_and_read(&project) {
                    Ok(bytes) => {
                        assert_eq!(bytes, b"inside\n", "{comes} {goes}");
                        written += 1;
                    }
                    Err(_) => refused += 1,
                });
                swap.restore();
                let outside = place.path().join("outside");
                assert_eq!(names_in(&outside), ["deep"], "{comes} {goes}");
                assert_eq!(names_in(&outside.join("deep")), ["x.md"], "{comes} {goes}");
                assert_eq!(
                    fs::read(outside.join("deep/x.md")).unwrap(),
                    b"this is outside\n",
                    "{comes} {goes}"
                );
            }
        }
        // Some swaps come after the folder was opened, and go before it is opened again.
        assert!(written > calls && refused > calls, "{written} written, {refused} refused");
    }
}
