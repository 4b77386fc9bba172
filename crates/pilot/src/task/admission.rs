//! Whether a run may start: what was spent, what is reserved, and what this one may need.

use std::io::Write;
use std::process::ExitCode;

use pilot_core::budget::{self, Admission, Standing, Usd, reserve};
use pilot_core::outcome::{Class, Status};
use pilot_core::route::Complexity;
use pilot_store::{Applicant, Micros, Owner, RunId, Store};
use serde_json::json;

use super::plan::Plan;
use super::recover;
use super::view::View;
use crate::calendar::Calendar;
use crate::clock;
use crate::stdout::Stdout;

/// A run that was not let in.
pub(crate) struct Refused {
    task: String,
    why: String,
    /// Whether it may be another time.
    held: bool,
}

impl Refused {
    /// Why.
    pub(crate) fn why(&self) -> &str {
        &self.why
    }

    /// Prints why.
    pub(crate) fn print(&self, json: bool) -> anyhow::Result<ExitCode> {
        let (status, class) = (Status::Failed.as_str(), Class::BudgetExceeded.as_str());
        let mut out = Stdout::lock();
        match json {
            true => writeln!(
                out,
                "{}",
                json!({"task": self.task, "status": status, "class": class, "reason": self.why})
            )?,
            false => writeln!(out, "{} {status} ({class}): {}", self.task, self.why)?,
        }
        out.flush()?;
        Ok(if self.held { ExitCode::from(3) } else { ExitCode::FAILURE })
    }
}

/// Lets a run in and reserves for it, or says why not. With it what was spent before.
pub(crate) async fn admit(
    plan: &Plan,
    store: &Store,
    run: &RunId,
    view: &mut View,
) -> anyhow::Result<Result<Standing, Refused>> {
    let (config, now) = (&plan.config()?.budget, clock::now());
    let window = Calendar::of_this_machine().window(now)?;
    let pid = std::process::id();
    let applicant = Applicant {
        run: run.clone(),
        task_id: plan.job.key.clone(),
        project_path: plan.project.to_string_lossy().into_owned(),
        at: now,
        owner: Owner { pid, started: recover::started(pid) },
    };
    let wanted = reserve_for(plan.route.complexity);
    let (admission, standing) =
        store.admit(&applicant, &window, |standing| budget::admit(config, standing, wanted)).await?;
    let refused = |why, held| Refused { task: plan.job.key.clone(), why, held };
    Ok(match admission {
        Admission::Go { warnings, .. } => {
            for warning in warnings {
                let day = Micros(window.day.start);
                if store.is_first_warning(warning.limit, warning.level, day, now).await.unwrap_or(true) {
                    view.warn(&warning.words);
                }
            }
            Ok(standing)
        }
        Admission::Hold { why } => Err(refused(why, true)),
        Admission::Refuse { why } => Err(refused(why, false)),
    })
}

fn reserve_for(complexity: Complexity) -> Usd {
    match complexity {
        Complexity::Trivial => reserve::TRIVIAL,
        Complexity::Simple => reserve::SIMPLE,
        Complexity::Medium => reserve::MEDIUM,
        Complexity::Complex | Complexity::Epic => reserve::COMPLEX,
    }
}
