//! What instances that are gone left: taken over, and told to each project once that can be told.

use pilot_core::fact::{Happened, ProjectHappened};
use pilot_core::name::ProjectId;
use pilot_core::seen::{Failure, FailureKind};
use pilot_core::turn::{Input, ProjectInput};
use pilot_store::LEASE;

use super::super::desk::now;
use super::Daemon;
use crate::clock::Stopwatch;

impl Daemon<'_> {
    /// Signs of life, and what others without them left.
    pub(super) async fn leases(&mut self) -> anyhow::Result<()> {
        if self.renewed.elapsed() < LEASE / 3 {
            return Ok(());
        }
        let now = now();
        self.desk.store.renew(&self.desk.me, now).await?;
        let left = self.desk.store.lapsed(&self.desk.me, now).await?;
        self.renewed = Stopwatch::start();
        self.left.add(left);
        Ok(())
    }

    /// Runs of an instance that is gone are over, and its actions may have happened. What belongs to a project whose forge has
    /// not answered yet waits for it, and nothing is forgotten before it is written down.
    pub(super) async fn take_over(&mut self) -> anyhow::Result<()> {
        while let Some(at) = self.left.claims.iter().position(|(project, ..)| self.knows(project)) {
            let (project, task, generation) = self.left.claims[at].clone();
            let input = Input { happened: Happened::Abandoned { generation }, settles: None };
            self.tell(&project, task.number(), Some(&input)).await?;
            self.left.claims.remove(at);
        }
        while let Some(at) = self.left.intents.iter().position(|(project, ..)| self.knows(project)) {
            let (project, task, key) = self.left.intents[at].clone();
            let failure = Failure::new(FailureKind::Interrupted, "Pilot stopped meanwhile");
            let settles = Some(key.clone());
            match task {
                Some(task) => {
                    let happened = Happened::Failed { key, failure };
                    self.tell(&project, task.number(), Some(&Input { happened, settles })).await?;
                }
                None => {
                    let happened = ProjectHappened::Failed { key, failure };
                    self.desk.tell_project(&project, Some(&ProjectInput { happened, settles })).await?;
                }
            }
            self.left.intents.remove(at);
        }
        Ok(())
    }

    fn knows(&self, project: &ProjectId) -> bool {
        self.desk.sites.contains_key(project)
    }
}
