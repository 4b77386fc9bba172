//! Tasks that outlive the request that started them. Stopping the forge waits for them or aborts them.

use std::sync::Mutex;

use tokio::task::JoinSet;

#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    pub(crate) fn abort(&self) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).abort_all();
    }

    pub(crate) async fn shut_down(&self) {
        let mut tasks = {
            let mut tasks = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        tasks.shutdown().await;
    }
}
