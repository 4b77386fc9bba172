//! What the forge of each project says: address, token, rights, repository, label, branch protection, CI, rate, clock.

use std::time::Duration;

use pilot_core::config::{CiMode, Config};
use pilot_core::id::Branch;
use pilot_core::time::Timestamp;
use pilot_link::error::LinkError;
use pilot_link::forge::{Checkup, RepositoryFacts};

use super::{CheckResult, fail, ok, warn};
use crate::clock;
use crate::config::Environment;
use crate::daemon::project::ProjectSetup;
use crate::daemon::setup;

/// How long a forge has to answer everything.
const PATIENCE: Duration = Duration::from_secs(20);

/// Clocks that differ by more are worth a word; an App's tokens are refused by and by.
const SKEW: Duration = Duration::from_secs(30);
const MUCH_SKEW: Duration = Duration::from_secs(300);

/// With fewer calls left than this a run may have to wait.
const FEW_CALLS: u64 = 100;

/// The names of the rights that Pilot needs, as GitHub's pages have them.
const RIGHTS: &str =
    "give the token write access to contents, issues and pull requests (a classic token: the scope `repo`)";

pub(super) async fn check_projects(config: &Config, environment: &Environment) -> Vec<CheckResult> {
    let projects = match setup::projects(config, environment) {
        Ok(projects) => projects,
        // Without a project Pilot still does single tasks.
        Err(error) if config.projects.is_empty() => {
            let next = "`pilot init` in a checkout adds a project; `pilot task` works without one";
            return vec![warn("forge", format!("{error:#}"), next)];
        }
        Err(error) => return vec![split("forge", &format!("{error:#}"))],
    };
    let several = projects.len() > 1;
    let mut checks = Vec::new();
    for project in &projects {
        let name = if several { format!("forge {}", project.name) } else { "forge".to_owned() };
        let asked = tokio::time::timeout(PATIENCE, check_project(&name, project, config)).await;
        checks.extend(asked.unwrap_or_else(|_| {
            let found = format!("{} did not answer within {} s", project.id.path(), PATIENCE.as_secs());
            vec![fail(&name, found, "check the network, the proxy and the address of the API")]
        }));
    }
    checks
}

async fn check_project(name: &str, project: &ProjectSetup, config: &Config) -> Vec<CheckResult> {
    let facts = match project.forge_port.facts().await {
        Ok(facts) => facts,
        Err(error) => return vec![split(name, &error.to_string())],
    };
    let base = project.base.as_deref().and_then(|base| Branch::parse(base).ok());
    let base = base.unwrap_or_else(|| facts.default_branch.clone());
    let label = project.tracker.settings(&config.adapters).label;
    let checkup = project.forge_port.checkup(label, &base).await;
    let mut checks = vec![ok(name, format!("{}, as @{}", facts.web_url, facts.own_login))];
    checks.extend(repository(&facts, config));
    if let Some(checkup) = checkup {
        checks.push(rights(&facts, &checkup));
        checks.push(match &checkup.has_label {
            Ok(true) => ok("label", format!("{label:?} is there")),
            Ok(false) => fail(
                "label",
                format!("{} has no label {label:?}, so no issue can ask for work", project.id.path()),
                format!("create the label {label:?} on the repository's page of labels"),
            ),
            Err(error) => unknown("label", error),
        });
        checks.push(protection(&base, &checkup));
        checks.push(ci(&base, &checkup, config));
        checks.extend(rate(&checkup, clock::now()));
        checks.extend(skew(&checkup, clock::now()));
    }
    checks
}

/// What `connect` of the daemon would refuse.
fn repository(facts: &RepositoryFacts, config: &Config) -> Option<CheckResult> {
    let method = config.orchestrator.autopilot.merge_method;
    let is_allowed = facts.merge_methods.as_ref().is_none_or(|allowed| allowed.contains(&method));
    if facts.is_archived {
        return Some(fail("repository", "it is archived", "unarchive it, or remove it from the projects"));
    }
    (!is_allowed).then(|| {
        let next = "allow it there, or set orchestrator.autopilot.merge_method";
        fail("repository", format!("it does not allow the merge method {method:?}"), next)
    })
}

fn rights(facts: &RepositoryFacts, checkup: &Checkup) -> CheckResult {
    let scopes = match &checkup.scopes {
        Some(scopes) if !scopes.is_empty() => format!("; scopes {}", scopes.join(", ")),
        Some(_) | None => String::new(),
    };
    match facts.may_push {
        Some(true) => ok("token rights", format!("may push{scopes}")),
        Some(false) => fail("token rights", format!("@{} may not push{scopes}", facts.own_login), RIGHTS),
        None => warn("token rights", format!("the forge does not say whether it may push{scopes}"), RIGHTS),
    }
}

fn protection(base: &Branch, checkup: &Checkup) -> CheckResult {
    match &checkup.is_protected {
        Ok(true) => ok("branch", format!("{base} is protected")),
        Ok(false) => ok("branch", format!("{base} is not protected: pushes to it need no pull request")),
        Err(error) => unknown("branch", error),
    }
}

fn ci(base: &Branch, checkup: &Checkup, config: &Config) -> CheckResult {
    let mode = config.orchestrator.autopilot.ci;
    match (&checkup.reports, mode) {
        (Ok(0), CiMode::Checks) => warn(
            "CI",
            format!("no check reports on the newest commit of {base}"),
            "if the project has no CI, set orchestrator.autopilot.ci to none; else Pilot waits for a check, then for you",
        ),
        (Ok(count), CiMode::Checks) => ok("CI", format!("{count} checks report on {base}")),
        (Ok(0), CiMode::None) => ok("CI", "none, as configured"),
        (Ok(count), CiMode::None) => warn(
            "CI",
            format!(
                "{count} checks report on {base}, but orchestrator.autopilot.ci is none, so they are ignored"
            ),
            "remove orchestrator.autopilot.ci",
        ),
        (Err(error), _) => unknown("CI", error),
    }
}

fn rate(checkup: &Checkup, now: Timestamp) -> Option<CheckResult> {
    let rate = checkup.rate?;
    let minutes = rate.resets.since(now).as_secs() / 60 + 1;
    let found = format!("{} of {} calls left, reset in {minutes} min", rate.remaining, rate.limit);
    let next = "wait for the reset, or use a token of its own for Pilot";
    Some(match rate.remaining {
        0 => fail("rate limit", found, next),
        1..FEW_CALLS => warn("rate limit", found, next),
        FEW_CALLS.. => ok("rate limit", found),
    })
}

fn skew(checkup: &Checkup, now: Timestamp) -> Option<CheckResult> {
    let there = checkup.server_time?;
    let apart = now.since(there).max(there.since(now));
    let found = format!("{} s apart from the forge's", apart.as_secs());
    let next = "set this machine's clock, by NTP for instance";
    Some(match apart {
        apart if apart > MUCH_SKEW => fail("clock", found, next),
        apart if apart > SKEW => warn("clock", found, next),
        _ => ok("clock", found),
    })
}

fn unknown(name: &str, error: &LinkError) -> CheckResult {
    let text = error.to_string();
    let (found, next) = text.rsplit_once("; ").unwrap_or((&text, "run `pilot doctor` again"));
    warn(name, format!("could not be read: {found}"), next)
}

/// An error says what to do behind its last semicolon or colon.
fn split(name: &str, text: &str) -> CheckResult {
    let parts = text.rsplit_once("; ").or_else(|| text.rsplit_once(": "));
    let (found, next) = parts.unwrap_or((text, "see `pilot config check`"));
    fail(name, found, next)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pilot_core::config::Config;
    use pilot_core::id::Branch;
    use pilot_core::time::Timestamp;
    use pilot_link::forge::Checkup;

    use super::super::Status;
    use super::{ci, skew, split};

    fn checkup(reports: usize, server_time: Option<Timestamp>) -> Checkup {
        Checkup {
            scopes: None,
            server_time,
            rate: None,
            has_label: Ok(true),
            is_protected: Ok(false),
            reports: Ok(reports),
        }
    }

    #[test]
    fn clocks_that_differ_are_named() {
        let now = Timestamp(1_800_000_000_000_000);
        for (seconds, status) in [(0, Status::Ok), (31, Status::Warn), (301, Status::Fail)] {
            for there in [now.after(Duration::from_secs(seconds)), now.before(Duration::from_secs(seconds))] {
                assert_eq!(skew(&checkup(0, Some(there)), now).unwrap().status, status, "{seconds}");
            }
        }
        assert_eq!(skew(&checkup(0, None), now), None);
    }

    #[test]
    fn a_project_without_ci_is_told_what_to_set() {
        let main = Branch::parse("main").unwrap();
        let check = ci(&main, &checkup(0, None), &Config::default());
        assert_eq!(check.status, Status::Warn);
        assert!(check.next.unwrap().contains("orchestrator.autopilot.ci"));
        assert_eq!(ci(&main, &checkup(2, None), &Config::default()).status, Status::Ok);
    }

    #[test]
    fn what_to_do_is_the_last_part_of_an_error() {
        let check = split(
            "forge",
            "read the repository a/b: the token is refused (Bad credentials); create a new one",
        );
        assert_eq!((check.status, check.next.as_deref()), (Status::Fail, Some("create a new one")));
    }
}
