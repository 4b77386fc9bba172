//! `pilot budget`: what was spent, what is reserved, where it leads.

use std::io::Write;

use clap::Args;
use pilot_core::budget::{
    Admission, Basis, BudgetConfig, Limit, Period, Standing, Usd, Window, admit, reserve,
};
use pilot_core::duration;
use pilot_store::{LedgerRow, Micros, Store};
use serde::Serialize;

use crate::calendar::Calendar;
use crate::printable;

/// As wide as the key of a task from the command line.
const TASK: usize = 13;

/// Titles go up to column 80.
const TITLE: usize = 24;

const HELP: &str = "\
Examples:
  pilot budget
  pilot budget -n 50
  pilot budget --json | jq .today.spent_usd

Limits and prices are in the configuration, below `budget`; docs/budget.md says what they mean.

Exit codes: 0 told, 1 what was spent cannot be read, 2 wrong use or configuration.
";

/// What `pilot budget` shows.
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

/// Prints it.
pub(crate) async fn run(
    args: &BudgetArgs,
    config: &BudgetConfig,
    store: &Store,
    now: Micros,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let calendar = Calendar::of_this_machine();
    let window = calendar.window(now)?;
    let standing = store.standing(&window, None).await?;
    let runs = store.charges(args.limit).await?;
    let report = Report::new(config, &standing, &window, now, &calendar, &runs);
    if args.json {
        serde_json::to_writer(&mut *out, &report)?;
        out.write_all(b"\n")?;
    } else {
        print(&report, &runs, &calendar, out)?;
    }
    out.flush()?;
    Ok(())
}

/// Everything there is to say, as `--json` says it.
#[derive(Serialize)]
struct Report {
    enabled: bool,
    state: State,
    reason: Option<String>,
    zone: String,
    today: Span,
    month: Span,
    reserved_usd: f64,
    per_task: PerTask,
    runs: Vec<Run>,
}

/// Whether another run would be let in.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Open,
    Paused,
    Stopped,
}

#[derive(Serialize)]
struct Span {
    from: String,
    until: String,
    spent_usd: f64,
    limit_usd: f64,
    forecast_usd: Option<f64>,
    on_exceed: &'static str,
    #[serde(skip)]
    line: String,
}

#[derive(Serialize)]
struct PerTask {
    max_tokens: u32,
    max_duration_s: u64,
    max_cost_usd: Option<f64>,
    on_exceed: &'static str,
    #[serde(skip)]
    line: String,
}

#[derive(Serialize)]
struct Run {
    run: String,
    task: String,
    title: String,
    status: &'static str,
    model: Option<String>,
    at: String,
    usd: f64,
    basis: &'static str,
    tokens: u64,
    agent_ms: u64,
}

impl Report {
    fn new(
        config: &BudgetConfig,
        standing: &Standing,
        window: &Window,
        now: Micros,
        calendar: &Calendar,
        runs: &[LedgerRow],
    ) -> Report {
        let span = |limit, period| Span::new(limit, config, standing, period, now, calendar);
        let (state, reason) = match admit(config, standing, reserve::TRIVIAL) {
            Admission::Go { .. } => (State::Open, None),
            Admission::Hold { why } => (State::Paused, Some(why)),
            Admission::Refuse { why } => (State::Stopped, Some(why)),
        };
        Report {
            enabled: config.enabled,
            state,
            reason,
            zone: calendar.zone(),
            today: span(Limit::Daily, &window.day),
            month: span(Limit::Monthly, &window.month),
            reserved_usd: standing.reserved.dollars(),
            per_task: PerTask::new(config),
            runs: runs.iter().map(|row| Run::new(row, calendar)).collect(),
        }
    }
}

impl Span {
    fn new(
        limit: Limit,
        config: &BudgetConfig,
        standing: &Standing,
        period: &Period,
        now: Micros,
        calendar: &Calendar,
    ) -> Span {
        let (spent, most) = (limit.spent(standing), limit.most(config));
        let forecast = period.forecast(spent, now.0);
        let on_exceed = limit.action(config).as_str();
        let percent = u128::from(spent.micros()) * 100 / u128::from(most.micros()).max(1);
        let heading = forecast.map_or_else(String::new, |usd| format!(", heading for {usd}"));
        let then = if config.enabled { format!(", then {on_exceed}") } else { String::new() };
        Span {
            from: calendar.text(Micros(period.start)),
            until: calendar.text(Micros(period.end)),
            spent_usd: spent.dollars(),
            limit_usd: most.dollars(),
            forecast_usd: forecast.map(Usd::dollars),
            on_exceed,
            line: format!("{spent} of {most} ({percent} %){heading}{then}"),
        }
    }
}

impl PerTask {
    fn new(config: &BudgetConfig) -> PerTask {
        let task = &config.per_task;
        let on_exceed = config.on_exceed.per_task.as_str();
        let money = task.max_cost.map_or_else(|| "no cap in dollars".to_owned(), |usd| usd.to_string());
        let then = if config.enabled { format!(", then {on_exceed}") } else { String::new() };
        PerTask {
            max_tokens: task.max_tokens,
            max_duration_s: task.max_duration.as_secs(),
            max_cost_usd: task.max_cost.map(Usd::dollars),
            on_exceed,
            line: format!("{} tokens, {}, {money}{then}", task.max_tokens, duration::text(task.max_duration)),
        }
    }
}

impl Run {
    fn new(row: &LedgerRow, calendar: &Calendar) -> Run {
        Run {
            run: row.execution_id.to_string(),
            task: row.task_id.clone(),
            title: row.title.clone(),
            status: row.status.as_str(),
            model: row.model.clone(),
            at: calendar.text(row.charged_at),
            usd: row.usd_micros.dollars(),
            basis: row.basis.as_str(),
            tokens: row.tokens,
            agent_ms: row.agent_ms,
        }
    }
}

fn print(
    report: &Report,
    runs: &[LedgerRow],
    calendar: &Calendar,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let state = match (report.enabled, report.state) {
        (false, _) => "off: nothing is limited (budget.enabled is false)",
        (true, State::Open) => "open: new tasks may start",
        (true, State::Paused) => "paused: nothing new starts",
        (true, State::Stopped) => "stopped: nothing new starts, what runs is ended",
    };
    writeln!(out, "Budget {state}")?;
    if let Some(reason) = &report.reason {
        for line in folded(reason, 78) {
            writeln!(out, "  {line}")?;
        }
    }
    let reserved = match report.reserved_usd {
        0.0 => "nothing, no task runs".to_owned(),
        _ => format!("{} for running tasks", Usd::from_dollars(report.reserved_usd).unwrap_or_default()),
    };
    for (name, line) in [
        ("today", &report.today.line),
        ("month", &report.month.line),
        ("reserved", &reserved),
        ("one task", &report.per_task.line),
        ("days", &format!("by the clock of {}", report.zone)),
    ] {
        writeln!(out, "  {name:<9} {line}")?;
    }
    writeln!(out)?;
    list(runs, calendar, out)
}

fn list(runs: &[LedgerRow], calendar: &Calendar, out: &mut impl Write) -> anyhow::Result<()> {
    if runs.is_empty() {
        writeln!(out, "No run was charged yet: `pilot task \"…\"` makes the first one.")?;
        return Ok(());
    }
    writeln!(out, "{:<16}  {:<TASK$}  {:>9}  {:>8}  TITLE", "ENDED", "TASK", "COST", "TOKENS")?;
    for row in runs {
        // Not what somebody told, but what we reckon.
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

/// Words in lines of at most so many characters.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
            continue;
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pilot_core::budget::{Action, Admission, Basis, BudgetConfig, Charge, Spent, Usd};
    use pilot_core::redact::Secrets;
    use pilot_store::{Applicant, Ending, Finish, Micros, NewExecution, Owner, RunId, Store};

    use super::{BudgetArgs, run};
    use crate::calendar::Calendar;

    struct World {
        home: tempfile::TempDir,
        now: Micros,
    }

    impl World {
        fn new() -> World {
            // Noon, 13 November 2025.
            World { home: tempfile::tempdir().unwrap(), now: Micros(1_763_035_200_000_000) }
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
            let go = Admission::Go { reserve: Usd::from_dollars(0.75).unwrap(), warnings: Vec::new() };
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
                let finish = Finish { charge, ..Finish::new(Ending::Completed, self.now) };
                store.finish_execution(&id, &finish).await.unwrap();
            }
        }
    }

    async fn shown(world: &World, store: &Store, config: &BudgetConfig, json: bool) -> String {
        let mut out = Vec::new();
        let args = BudgetArgs { limit: 5, json };
        run(&args, config, store, world.now, &mut out).await.unwrap();
        String::from_utf8(out).unwrap()
    }

    #[tokio::test]
    async fn an_empty_ledger_says_what_holds() {
        let (world, config) = (World::new(), BudgetConfig::default());
        let store = world.store().await;
        let text = shown(&world, &store, &config, false).await;
        for wanted in [
            "Budget open: new tasks may start",
            "  today     $0.00 of $50.00 (0 %)",
            ", then pause",
            "  month     $0.00 of $500.00 (0 %)",
            ", then stop",
            "  reserved  nothing, no task runs",
            "  one task  500000 tokens, 1h, no cap in dollars, then stop",
            "No run was charged yet",
        ] {
            assert!(text.contains(wanted), "no {wanted:?} in:\n{text}");
        }
    }

    #[tokio::test]
    async fn every_line_fits_into_eighty_columns() {
        let (world, mut config) = (World::new(), BudgetConfig::default());
        let store = world.store().await;
        let long = "Add a very long title with a bell \u{7} and ünïcödé that nobody reads to its end";
        world.ran(&store, long, 123.456_7, Basis::Assumed).await;
        world.ran(&store, "Small", 0.0012, Basis::Reported).await;
        world.ran(&store, "Runs", 0.0, Basis::Reported).await;
        config.per_task.max_cost = Usd::from_dollars(12.5);
        for daily in Action::ALL {
            config.on_exceed.daily = daily;
            let text = shown(&world, &store, &config, false).await;
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.contains("~$123.46  ") && text.contains(" $0.0012  "), "{text}");
            assert!(text.contains("reserved  $0.75 for running tasks"), "{text}");
            assert!(!text.contains('\u{7}') && text.contains("Models without a known price"), "{text}");
            let state = ["Budget open", "Budget paused", "Budget stopped"][daily as usize];
            assert!(text.starts_with(state), "{daily:?}: {text}");
            assert_eq!(text.contains("budget.daily_limit"), daily != Action::Warn, "{text}");
        }
        config.enabled = false;
        let text = shown(&world, &store, &config, false).await;
        assert!(text.starts_with("Budget off: nothing is limited") && !text.contains("then"), "{text}");
    }

    #[tokio::test]
    async fn json_has_everything_as_numbers() {
        let (world, config) = (World::new(), BudgetConfig::default());
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
