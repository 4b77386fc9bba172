//! Every key of `budget` changes a decision.

use std::time::Duration;

use pilot_core::budget::{
    BudgetAdmission, BudgetConfig, BudgetVerdict, CostWatch, Period, Prices, Spent, Standing, Usd, Window,
    admit, charge,
};
use pilot_core::config::{KEYS, key, merge, variable_of, variables};
use pilot_core::route::Complexity;
use pilot_core::stream::{RunUsage, Usage};

fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars).expect("an amount")
}

/// What a budget says of a few situations, all in one text.
fn decisions(config: &BudgetConfig) -> String {
    let mut text = String::new();
    let window = Window { day: Period { start: 0, end: 10 }, month: Period { start: 0, end: 300 } };
    for (today, month) in [(5.0, 5.0), (30.0, 30.0), (49.9, 120.0), (60.0, 120.0), (0.0, 499.9)] {
        let standing = Standing { today: usd(today), this_month: usd(month), reserved: usd(0.0) };
        let admission = match admit(config, &standing, &window, Complexity::Medium) {
            BudgetAdmission::Go { reserve, warnings } => format!("go {reserve} {}", warnings.len()),
            BudgetAdmission::Hold(_) => "hold".to_owned(),
            BudgetAdmission::Refuse(_) => "refuse".to_owned(),
        };
        text.push_str(&format!("{today} {month}: {admission}\n"));
    }
    for (tokens, minutes, dollars) in
        [(100_000, 1, 0.1), (350_000, 1, 0.1), (600_000, 1, 0.1), (1, 40, 0.1), (1, 70, 0.1), (1, 1, 3.0)]
    {
        let spent = Spent { tokens, usd: usd(dollars), time: Duration::from_secs(60 * minutes) };
        let verdict = match CostWatch::new(config, Spent::default(), &Standing::default()).look(&spent) {
            BudgetVerdict::Within => "within".to_owned(),
            BudgetVerdict::Warn(reached) => format!("near {:?}", reached.which),
            BudgetVerdict::Exceeded(reached) => format!("{:?} {:?}", reached.action, reached.which),
        };
        text.push_str(&format!("{tokens} {minutes} {dollars}: {verdict}\n"));
    }
    let usage = Usage { input_tokens: 1_000_000, ..Usage::default() };
    let used = RunUsage { usage, live: Usage::default(), exact: true };
    let charged = charge(&used, Some("claude-sonnet-4-6"), &Prices::new(&config.prices), Duration::ZERO);
    text.push_str(&format!("{} {:?}\n", charged.spent.usd, charged.basis));
    text
}

/// Each key with another value than its default, and a line that only then is decided so.
const FLIPS: [(&str, &str, &str); 11] = [
    ("budget.enabled", "false", "60 120: go $0.75 0"),
    ("budget.daily_limit", "20", "30 30: hold"),
    ("budget.monthly_limit", "100", "49.9 120: refuse"),
    ("budget.per_task.max_tokens", "90000", "100000 1 0.1: Stop TaskTokens"),
    ("budget.per_task.max_duration", "30m", "1 40 0.1: Stop TaskTime"),
    ("budget.per_task.max_cost", "2", "1 1 3: Stop TaskCost"),
    ("budget.on_exceed.daily", "stop", "60 120: refuse"),
    ("budget.on_exceed.monthly", "pause", "0 499.9: hold"),
    ("budget.on_exceed.per_task", "pause", "600000 1 0.1: Pause TaskTokens"),
    ("budget.thresholds.warn_percent", "60", "350000 1 0.1: near TaskTokens"),
    ("budget.prices", "sonnet 1/2", "$1.00 Priced"),
];

#[test]
fn every_key_of_the_budget_changes_a_decision() {
    let keys: Vec<&str> =
        KEYS.iter().map(|key| key.path).filter(|path| path.starts_with("budget.")).collect();
    assert_eq!(FLIPS.map(|flip| flip.0).to_vec(), keys);
    let before = decisions(&BudgetConfig::default());
    for (path, value, line) in FLIPS {
        let variable = variable_of(key(path).expect("a key"));
        let merged = merge([variables([(variable.as_str(), value)])]);
        assert!(merged.problems.is_empty(), "{path}: {:?}", merged.problems);
        let after = decisions(&merged.config.budget);
        let has = |text: &str| text.lines().any(|one| one == line);
        assert!(has(&after) && !has(&before), "{path}: no {line:?} in\n{after}\nbefore:\n{before}");
    }
}
