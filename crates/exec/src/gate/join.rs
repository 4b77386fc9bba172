//! Several gates at once, in one task: nothing is spawned.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

pub(super) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs all futures to their end and calls `ended` for each. When `cancel` is ready first, sets `stop` once.
pub(super) async fn join_until_cancelled<T>(
    mut open: Vec<Option<Boxed<'_, T>>>,
    mut cancel: Pin<&mut impl Future<Output = ()>>,
    stop: &AtomicBool,
    mut ended: impl FnMut(usize, T),
) {
    poll_fn(|context| {
        if !stop.load(Ordering::Relaxed) && cancel.as_mut().poll(context).is_ready() {
            // The futures that wait for the flag are polled below, in this same poll.
            stop.store(true, Ordering::Relaxed);
        }
        for (index, slot) in open.iter_mut().enumerate() {
            let Some(future) = slot else { continue };
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                *slot = None;
                ended(index, value);
            }
        }
        if open.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Ready when the flag is set. Only inside [`join_until_cancelled`]: it registers no waker of its own.
pub(super) async fn raised(flag: &AtomicBool) {
    poll_fn(|_| if flag.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }).await;
}
