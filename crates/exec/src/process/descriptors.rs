//! Files that Pilot itself was started with, and that are none of an agent's business.
#![expect(unsafe_code, reason = "descriptors that nobody here opened have no owner to borrow them from")]

use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};

/// No program started from here on gets more than the three descriptors it is given.
pub(super) fn keep_to_ourselves() {
    for descriptor in inherited() {
        // SAFETY: the number is borrowed for one call that closes nothing and reads nothing; if it is no descriptor any more,
        // the call says so. The process has one thread, so it cannot become another one meanwhile.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
}

fn inherited() -> Vec<RawFd> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| *number > 2).collect()
}
