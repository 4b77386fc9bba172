//! Orders given at this machine.

use pilot_core::fact::{By, Happened, Order, ProjectHappened};
use pilot_core::name::ProjectId;
use pilot_core::turn::{Input, ProjectInput};

use super::super::orders;
use super::Daemon;

impl Daemon<'_> {
    /// Obeys who gave an order at this machine. One for every project waits until all of them have obeyed it.
    pub(super) async fn obey(&mut self) -> anyhow::Result<()> {
        let waiting = orders::waiting(&self.home);
        self.obeyed.retain(|(file, _)| waiting.iter().any(|order| order.file == *file));
        let projects: Vec<ProjectId> = self.desk.sites.keys().cloned().collect();
        let all = self.plots.is_empty() && self.connecting == 0;
        for order in waiting {
            let mut found = false;
            for project in &projects {
                let obeyed = (order.file.clone(), project.clone());
                if !self.obeyed.contains(&obeyed) {
                    found |= self.obey_in(project, &order).await?;
                    self.obeyed.insert(obeyed);
                }
            }
            if all || found {
                order.done();
            }
        }
        Ok(())
    }

    /// Whether it was about a task that is here.
    async fn obey_in(&mut self, project: &ProjectId, waiting: &orders::Waiting) -> anyhow::Result<bool> {
        let by = "the operator".to_owned();
        match (&waiting.task, waiting.order) {
            (Some(task), order) => {
                if self.desk.store.load_task(project, task.number()).await?.task_version > 0 {
                    let happened = Happened::Ordered { order, by: By::Operator };
                    self.tell(project, task.number(), Some(&Input { happened, settles: None })).await?;
                    return Ok(true);
                }
            }
            (None, Order::Pause) => self.tell_all(project, ProjectHappened::Paused { by }).await?,
            (None, Order::Resume) => self.tell_all(project, ProjectHappened::Resumed { by }).await?,
            (None, Order::Cancel | Order::Retry | Order::Why) => {}
        }
        Ok(false)
    }

    /// Tells a project, and every task of it.
    async fn tell_all(&mut self, project: &ProjectId, happened: ProjectHappened) -> anyhow::Result<()> {
        self.desk.tell_project(project, Some(&ProjectInput { happened, settles: None })).await?;
        self.retell(project).await
    }
}
