//! Closes the files that Pilot itself was started with, before an agent could inherit them.
#![expect(unsafe_code, reason = "inherited descriptors have no owner that could close them")]

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::fcntl_getfd;

/// Closes all but the first three. Called before this process has opened anything.
pub(super) fn keep_three() {
    for descriptor in inherited() {
        // SAFETY: borrowed for one question: the descriptor that listed them all is closed already.
        let is_open = fcntl_getfd(unsafe { BorrowedFd::borrow_raw(descriptor) }).is_ok();
        if is_open {
            // SAFETY: it is open, and the process has one thread and has opened nothing yet, so nothing else owns it.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
    }
}

fn inherited() -> Vec<RawFd> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| *number > 2).collect()
}
