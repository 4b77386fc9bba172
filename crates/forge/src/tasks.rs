//! Work that outlives the request that began it. Whoever stops the forge waits for it, or ends it.

use std::sync::Mutex;

use tokio::task::JoinSet;

/// Everything under way.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    /// Begins something. When the forge has stopped, it is dropped instead.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// Ends everything and waits for nothing.
    pub(crate) fn abort(&self) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).abort_all();
    }

    /// Ends everything and waits for it.
    pub(crate) async fn shut_down(&self) {
        let mut tasks = {
            let mut tasks = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        tasks.shutdown().await;
    }
}
