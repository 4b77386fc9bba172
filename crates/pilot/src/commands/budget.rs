//! `pilot budget`: costs so far, reservations, and the forecast.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pilot_core::budget::{
    Basis, BudgetAdmission, BudgetConfig, Limit, Period, Shortage, Standing, Usd, Window, admit, spending,
};
use pilot_core::duration;
use pilot_core::route::Complexity;
use pilot_core::time::Timestamp;
use pilot_store::{LedgerRow, Store};
use serde_json::{Value, json};

use super::with_store;
use crate::calendar::Calendar;
use crate::config::ConfigSources;
use crate::printable::fold;
use crate::stdout::Stdout;
use crate::{clock, printable};

/// As wide as the key of a task from the command line.
const TASK: usize = 13;

const TITLE: usize = 24;

const HELP: &str = "\
Examples:
  pilot budget
  pilot budget -n 50
  pilot budget --json | jq .today.spent_usd

Limits and prices are configured below `budget`; docs/budget.md explains them.

Exit codes: 0 shown, 1 the costs cannot be read, 2 wrong use or configuration.
";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct BudgetArgs {
    /// How many of the last runs are listed
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    pub(crate) limit: u32,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &BudgetArgs, sources: ConfigSources<'_>) -> anyhow::Result<ExitCode> {
    with_store(sources, async |store, loaded| {
        print_budget(args, &loaded.config()?.budget, store, clock::now(), &mut Stdout::lock()).await
    })
}

async fn print_budget(
    args: &BudgetArgs,
    config: &BudgetConfig,
    store: &Store,
    now: Timestamp,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let calendar = Calendar::of_this_machine();
    let window = calendar.window(now)?;
    let standing = store.standing(&window, None).await?;
    let runs = store.charges(args.limit).await?;
    let mut waiting = Vec::new();
    for project in store.project_ids().await? {
        let unfunded = store.load_project(&project).await?.facts.unfunded;
        waiting.extend(unfunded.into_iter().map(|(task, unfunded)| (task.to_string(), unfunded.shortage)));
    }
    let report = BudgetReport { config, standing, window, now, calendar, runs, waiting };
    match args.json {
        true => writeln!(out, "{}", report.json())?,
        false => report.print(out)?,
    }
    out.flush()?;
    Ok(())
}

/// What both forms of the report are made from.
struct BudgetReport<'r> {
    config: &'r BudgetConfig,
    standing: Standing,
    window: Window,
    now: Timestamp,
    calendar: Calendar,
    runs: Vec<LedgerRow>,
    /// The tasks that wait for the budget.
    waiting: Vec<(String, Shortage)>,
}

impl BudgetReport<'_> {
    /// Whether another run would be admitted, and why not. It is not open while tasks wait for it.
    fn admission(&self) -> (&'static str, Option<Shortage>) {
        match admit(self.config, &self.standing, &self.window, Complexity::Trivial) {
            BudgetAdmission::Go { .. } => match self.waiting.first() {
                Some((_, shortage)) => ("holding", Some(shortage.clone())),
                None => ("open", None),
            },
            BudgetAdmission::Hold(shortage) => ("paused", Some(shortage)),
            BudgetAdmission::Refuse(shortage) => ("stopped", Some(shortage)),
        }
    }

    /// Costs so far and the forecast, of the day or the month.
    fn spending(&self, limit: Limit) -> (&Period, Usd, Option<Usd>) {
        let period = limit.period(&self.window);
        let spent = limit.spent(&self.standing);
        (period, spent, period.forecast(spent, self.now.0))
    }

    fn json(&self) -> Value {
        let (state, reason) = self.admission();
        let task = &self.config.per_task;
        json!({
            "enabled": self.config.enabled,
            "state": state,
            "reason": reason.map(|shortage| shortage.words()),
            "zone": self.calendar.zone(),
            "today": self.period_json(Limit::Daily),
            "month": self.period_json(Limit::Monthly),
            "reserved_usd": self.standing.reserved.dollars(),
            "waiting": self.waiting.iter().map(|(task, shortage)| self.waiting_json(task, shortage)).collect::<Vec<_>>(),
            "per_task": {
                "max_tokens": task.max_tokens,
                "max_duration_s": task.max_duration.as_secs(),
                "max_cost_usd": task.max_cost.map(Usd::dollars),
                "on_exceed": self.config.on_exceed.per_task.as_str(),
            },
            "runs": self.runs.iter().map(|row| self.run_json(row)).collect::<Vec<_>>(),
        })
    }

    fn period_json(&self, limit: Limit) -> Value {
        let (period, spent, forecast) = self.spending(limit);
        json!({
            "from": self.calendar.text(Timestamp(period.start)),
            "until": self.calendar.text(Timestamp(period.end)),
            "spent_usd": spent.dollars(),
            "limit_usd": limit.most(self.config).dollars(),
            "forecast_usd": forecast.map(Usd::dollars),
            "on_exceed": limit.action(self.config).as_str(),
        })
    }

    fn waiting_json(&self, task: &str, shortage: &Shortage) -> Value {
        json!({
            "task": task,
            "reserve_usd": shortage.reserve.dollars(),
            "until": shortage.fits_at().map(|at| self.calendar.text(at)),
            "reason": shortage.words(),
        })
    }

    fn run_json(&self, row: &LedgerRow) -> Value {
        json!({
            "run": row.execution_id.to_string(),
            "task": row.task_id,
            "title": row.title,
            "status": row.status.map(|status| status.as_str()),
            "model": row.model,
            "at": self.calendar.text(row.charged_at),
            "usd": row.usd_micros.dollars(),
            "basis": row.basis.as_str(),
            "tokens": row.tokens,
            "agent_ms": row.agent_ms,
        })
    }

    fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let state = match self.admission() {
            _ if !self.config.enabled => "off: nothing is limited (budget.enabled is false)".to_owned(),
            (_, None) => "open: new tasks may start".to_owned(),
            ("holding", Some(_)) => "short: some tasks wait for it".to_owned(),
            (_, Some(shortage)) => self.used_up(&shortage),
        };
        for (place, line) in fold(&format!("Budget {state}"), 78).into_iter().enumerate() {
            writeln!(out, "{}{line}", if place == 0 { "" } else { "  " })?;
        }
        for limit in Limit::ALL {
            let (_, spent, forecast) = self.spending(limit);
            print_folded(out, &spending(limit, self.config, spent, forecast))?;
        }
        for (task, shortage) in &self.waiting {
            print_folded(out, &format!("{task}: {}", shortage.words()))?;
        }
        let reserved = match self.standing.reserved {
            Usd::ZERO => "nothing, no task runs".to_owned(),
            usd => format!("{usd} for running tasks"),
        };
        for (name, line) in [
            ("reserved", reserved),
            ("one task", self.task_line()),
            ("days", format!("by the clock of {}", self.calendar.zone())),
        ] {
            writeln!(out, "  {name:<9} {line}")?;
        }
        writeln!(out)?;
        list(&self.runs, &self.calendar, out)
    }

    fn used_up(&self, shortage: &Shortage) -> String {
        let limit = shortage.limit.as_str();
        match shortage.fits_at() {
            Some(at) => {
                let at = self.calendar.text(at);
                format!("used up: no new tasks before {at}, or raise budget.{limit}_limit")
            }
            None => format!("too small for any task: raise budget.{limit}_limit"),
        }
    }

    fn task_line(&self) -> String {
        let task = &self.config.per_task;
        let money = task.max_cost.map_or_else(|| "no cap in dollars".to_owned(), |usd| usd.to_string());
        let time = duration::text(task.max_duration);
        let then = match self.config.enabled {
            true => format!(", then {}", self.config.on_exceed.per_task.as_str()),
            false => String::new(),
        };
        format!("{} tokens, {time}, {money}{then}", task.max_tokens)
    }
}

/// A paragraph, its first line outdented.
fn print_folded(out: &mut impl Write, text: &str) -> anyhow::Result<()> {
    for (place, line) in fold(text, 76).into_iter().enumerate() {
        writeln!(out, "{}{line}", if place == 0 { "  " } else { "    " })?;
    }
    Ok(())
}

fn list(runs: &[LedgerRow], calendar: &Calendar, out: &mut impl Write) -> anyhow::Result<()> {
    if runs.is_empty() {
        writeln!(out, "No run was charged yet: `pilot task \"…\"` makes the first one.")?;
        return Ok(());
    }
    writeln!(out, "{:<16}  {:<TASK$}  {:>9}  {:>8}  TITLE", "ENDED", "TASK", "COST", "TOKENS")?;
    for row in runs {
        // Not what the agent reported, but Pilot's estimate.
        let about = match row.basis {
            Basis::Reported => "",
            Basis::Priced | Basis::Assumed => "~",
        };
        let line = format!(
            "{:<16}  {:<TASK$}  {:>9}  {:>8}  {}",
            calendar.text(row.charged_at),
            printable::line(&row.task_id, TASK),
            format!("{about}{}", row.usd_micros),
            row.tokens,
            printable::line(&row.title, TITLE),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    if runs.iter().any(|row| row.basis == Basis::Assumed) {
        writeln!(out, "Models without a known price count as the dearest one; see budget.prices.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pilot_core::budget::{Basis, BudgetAction, BudgetAdmission, BudgetConfig, Charge, Spent, Usd};
    use pilot_core::outcome::RunStatus;
    use pilot_core::redact::Secrets;
    use pilot_core::time::Timestamp;
    use pilot_store::{Applicant, Finish, NewExecution, Owner, RunId, Store};

    use super::{BudgetArgs, print_budget};
    use crate::calendar::Calendar;

    struct BudgetWorld {
        home: tempfile::TempDir,
        now: Timestamp,
    }

    impl BudgetWorld {
        fn new() -> BudgetWorld {
            // Noon, 13 November 2025.
            BudgetWorld { home: tempfile::tempdir().unwrap(), now: Timestamp(1_763_035_200_000_000) }
        }

        async fn store(&self) -> Store {
            Store::open(&self.home.path().join("pilot.db"), Secrets::none()).await.unwrap()
        }

        /// A run that reserves, and ends unless it costs nothing.
        async fn ran(&self, store: &Store, title: &str, dollars: f64, basis: Basis) {
            let id = RunId::generate(self.now);
            let owner = Owner { pid: 1, started: String::new() };
            let (task, project) = ("TASK-1a2b3c4d".to_owned(), "/srv/app".to_owned());
            let applicant = Applicant {
                run: id.clone(),
                task_id: task.clone(),
                project_path: project.clone(),
                at: self.now,
                owner: owner.clone(),
            };
            let window = Calendar::of_this_machine().window(self.now).unwrap();
            let go = BudgetAdmission::Go { reserve: Usd::from_dollars(0.75).unwrap(), warnings: Vec::new() };
            store.admit(&applicant, &window, |_| go).await.unwrap();
            let new = NewExecution {
                id: id.clone(),
                task_id: task,
                title: title.to_owned(),
                project_path: project,
                started_at: self.now,
                backend: "codex".to_owned(),
                model: None,
                branch: None,
                base_sha: None,
                route: None,
                owner,
            };
            store.begin_execution(&new).await.unwrap();
            if dollars > 0.0 {
                let usd = Usd::from_dollars(dollars).unwrap();
                let spent = Spent { tokens: 1_234_567, usd, time: Duration::from_secs(90) };
                let charge = Some(Charge { spent, basis });
                let finish = Finish { charge, ..Finish::new(RunStatus::Completed, self.now) };
                store.finish_execution(&id, &finish).await.unwrap();
            }
        }
    }

    async fn shown(world: &BudgetWorld, store: &Store, config: &BudgetConfig, json: bool) -> String {
        let mut out = Vec::new();
        let args = BudgetArgs { limit: 5, json };
        print_budget(&args, config, store, world.now, &mut out).await.unwrap();
        String::from_utf8(out).unwrap()
    }

    #[tokio::test]
    async fn an_empty_ledger_says_what_holds() {
        let (world, config) = (BudgetWorld::new(), BudgetConfig::default());
        let store = world.store().await;
        let text = shown(&world, &store, &config, false).await;
        for wanted in [
            "Budget open: new tasks may start",
            "  $0 of $50 today (about $0 by midnight). At the limit: no new tasks.",
            "  $0 of $500 this month (about $0 by its end). At the limit: no new tasks, and",
            "    running ones stop.",
            "  reserved  nothing, no task runs",
            "  one task  500000 tokens, 1h, no cap in dollars, then stop",
            "No run was charged yet",
        ] {
            assert!(text.contains(wanted), "no {wanted:?} in:\n{text}");
        }
    }

    #[tokio::test]
    async fn every_line_fits_into_eighty_columns() {
        let (world, mut config) = (BudgetWorld::new(), BudgetConfig::default());
        let store = world.store().await;
        let long = "Add a very long title with a bell \u{7} and ünïcödé that is cut before its end";
        world.ran(&store, long, 123.456_7, Basis::Assumed).await;
        world.ran(&store, "Small", 0.0012, Basis::Reported).await;
        world.ran(&store, "Runs", 0.0, Basis::Reported).await;
        config.per_task.max_cost = Usd::from_dollars(12.5);
        for daily in BudgetAction::ALL {
            config.on_exceed.daily = daily;
            let text = shown(&world, &store, &config, false).await;
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.contains("~$123.46  ") && text.contains(" $0.0012  "), "{text}");
            assert!(text.contains("reserved  $0.75 for running tasks"), "{text}");
            assert!(!text.contains('\u{7}') && text.contains("Models without a known price"), "{text}");
            let state =
                ["Budget open", "Budget used up: no new tasks before", "Budget used up: no new tasks before"]
                    [daily as usize];
            assert!(text.starts_with(state), "{daily:?}: {text}");
            assert_eq!(text.contains("budget.daily_limit"), daily != BudgetAction::Warn, "{text}");
        }
        config.enabled = false;
        let text = shown(&world, &store, &config, false).await;
        assert!(text.starts_with("Budget off: nothing is limited") && !text.contains("then"), "{text}");
    }

    #[tokio::test]
    async fn json_has_everything_as_numbers() {
        let (world, config) = (BudgetWorld::new(), BudgetConfig::default());
        let store = world.store().await;
        world.ran(&store, "Add login", 12.5, Basis::Priced).await;
        let json: serde_json::Value =
            serde_json::from_str(&shown(&world, &store, &config, true).await).unwrap();
        assert_eq!(json["state"], "open");
        assert_eq!(json["today"]["spent_usd"], 12.5);
        assert_eq!(json["today"]["limit_usd"], 50.0);
        assert_eq!(json["today"]["on_exceed"], "pause");
        assert!(json["month"]["forecast_usd"].as_f64().unwrap() > 12.5, "{json}");
        assert_eq!(json["per_task"]["max_cost_usd"], serde_json::Value::Null);
        assert_eq!((&json["runs"][0]["usd"], &json["runs"][0]["basis"]), (&12.5.into(), &"priced".into()));
        assert_eq!(json["runs"][0]["tokens"], 1_234_567);
    }
}
