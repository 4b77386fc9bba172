//! Several gates at once, in one task: nothing is spawned.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// Something to wait for, among others.
pub(super) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Waits for all of them, and tells about each when it ends. When `cancel` ends first, `stop` is raised, once.
pub(super) async fn together<T>(
    mut open: Vec<Option<Boxed<'_, T>>>,
    mut cancel: Pin<&mut impl Future<Output = ()>>,
    stop: &AtomicBool,
    mut ended: impl FnMut(usize, T),
) {
    poll_fn(|context| {
        if !stop.load(Ordering::Relaxed) && cancel.as_mut().poll(context).is_ready() {
            // Whoever waits for it is asked below, in this very round.
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

/// Ready when the flag is raised. Only for those whom [`together`] asks: nobody else wakes them.
pub(super) async fn raised(flag: &AtomicBool) {
    poll_fn(|_| if flag.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }).await;
}
