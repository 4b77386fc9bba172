//! The inbox: one bounded queue for everything that reaches the event loop. Calls and runs that ended, what workers report,
//! commands of people, and the request to stop.

use std::path::PathBuf;
use std::sync::Arc;

use pilot_core::id::ProjectId;
use pilot_core::perform::Polled;
use tokio::sync::mpsc;

use super::command_files::CommandFile;
use super::perform::{Performed, Queried};
use super::project::OpenProject;
use super::workers::{WorkerExited, WorkerUpdate};

/// How many messages wait at most. Senders wait for room, so a slow database slows its sources down.
const CAPACITY: usize = 256;

#[derive(Debug)]
pub(crate) enum Inbound {
    /// The forge of the project with this name has answered, or why it has not.
    Connected(String, Result<Arc<OpenProject>, String>),
    Polled(ProjectId, Polled),
    Queried(Queried),
    Performed(Box<Performed>),
    /// Branches of merged tasks were deleted from the checkout of the project with this name; or why not.
    BranchesForgotten(String, Result<(), String>),
    Worker(WorkerUpdate),
    WorkerExited(WorkerExited),
    Command(CommandFile),
    /// A file among the commands that is none.
    UnreadableCommand(PathBuf),
    Stop {
        is_urgent: bool,
    },
}

/// The sending side.
#[derive(Clone, Debug)]
pub(crate) struct Inbox(mpsc::Sender<Inbound>);

impl Inbox {
    pub(crate) fn new() -> (Inbox, mpsc::Receiver<Inbound>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Inbox(sender), receiver)
    }

    /// Waits for room. A message for a daemon that has ended is dropped.
    pub(crate) async fn send(&self, message: Inbound) {
        let _ = self.0.send(message).await;
    }

    /// Drops the message where there is no room: for what the next message replaces.
    pub(crate) fn offer(&self, message: Inbound) {
        let _ = self.0.try_send(message);
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, Inbound, Inbox};

    #[tokio::test]
    async fn a_full_inbox_drops_offers_and_makes_senders_wait() {
        let (inbox, mut received) = Inbox::new();
        for _ in 0..CAPACITY + 5 {
            inbox.offer(Inbound::Stop { is_urgent: false });
        }
        let receiving = async {
            for _ in 0..CAPACITY {
                let offered = received.recv().await;
                assert!(matches!(offered, Some(Inbound::Stop { is_urgent: false })), "{offered:?}");
            }
            let sent = received.recv().await;
            assert!(matches!(sent, Some(Inbound::Stop { is_urgent: true })), "{sent:?}");
        };
        tokio::join!(inbox.send(Inbound::Stop { is_urgent: true }), receiving);
        drop(inbox);
        assert!(received.recv().await.is_none());
    }
}
