//! Whether a run may start: what was spent, what is reserved, and what this one may need.

use std::process::ExitCode;

use pilot_core::budget::{self, BudgetAdmission, Shortage, Standing};
use pilot_core::outcome::{Class, RunStatus};
use pilot_core::time::Timestamp;
use pilot_store::{Applicant, RunId, Store};
use serde_json::json;

use super::plan::TaskPlan;
use super::view::View;
use crate::agent::recover;
use crate::calendar::Calendar;
use crate::clock;
use crate::stdout::print_line;

pub(crate) struct Refused {
    task: String,
    pub(crate) shortage: Shortage,
    held: bool,
}

impl Refused {
    pub(crate) fn print(&self, json: bool) -> anyhow::Result<ExitCode> {
        let (status, class) = (RunStatus::Failed.as_str(), Class::BudgetExceeded.as_str());
        let (task, why) = (&self.task, self.shortage.words());
        match json {
            true => print_line(json!({"task": task, "status": status, "class": class, "reason": why}))?,
            false => print_line(format_args!("{task}: {why}"))?,
        }
        Ok(if self.held { ExitCode::from(3) } else { ExitCode::FAILURE })
    }
}

/// Admits a run and reserves for it, or says why not; with what was spent before.
pub(crate) async fn admit(
    plan: &TaskPlan,
    store: &Store,
    run: &RunId,
    view: &mut View,
) -> anyhow::Result<Result<Standing, Refused>> {
    let (config, now) = (&plan.config()?.budget, clock::now());
    let window = Calendar::of_this_machine().window(now)?;
    let applicant = Applicant {
        run: run.clone(),
        task_id: plan.job.key.clone(),
        project_path: plan.project.to_string_lossy().into_owned(),
        at: now,
        owner: recover::this_process(),
    };
    let decide = |standing: &Standing| budget::admit(config, standing, &window, plan.route.complexity);
    let (admission, standing) = store.admit(&applicant, &window, decide).await?;
    let refused = |shortage, held| Refused { task: plan.job.key.clone(), shortage, held };
    Ok(match admission {
        BudgetAdmission::Go { warnings, .. } => {
            for warning in warnings {
                let day = Timestamp(window.day.start);
                if store.is_first_warning(warning.limit, warning.level, day, now).await.unwrap_or(true) {
                    view.warn(&warning.words);
                }
            }
            Ok(standing)
        }
        BudgetAdmission::Hold(shortage) => Err(refused(shortage, true)),
        BudgetAdmission::Refuse(shortage) => Err(refused(shortage, false)),
    })
}
