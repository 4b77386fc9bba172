//! What must be true after a drill, as the forge and the folder tell.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::demo::world::World;

pub(crate) struct DrillCheck {
    pub(crate) what: &'static str,
    pub(crate) ok: bool,
    pub(crate) found: String,
}

impl DrillCheck {
    fn new(what: &'static str, ok: bool, found: String) -> DrillCheck {
        DrillCheck { what, ok, found }
    }

    /// Agents die with Pilot.
    pub(crate) fn no_survivors(survivors: &[&String]) -> DrillCheck {
        let found = match survivors {
            [] => "none".to_owned(),
            [first, ..] => format!("{}, as {first}", survivors.len()),
        };
        DrillCheck::new("agents alive a second after a kill", survivors.is_empty(), found)
    }
}

pub(crate) async fn inspect(world: &World, folder: &Path, issues: &[u64]) -> anyhow::Result<Vec<DrillCheck>> {
    let closed = world.read("issues?state=closed&per_page=100").await?;
    let closed: BTreeSet<u64> = list(&closed).filter_map(|issue| issue["number"].as_u64()).collect();
    let open: Vec<String> =
        issues.iter().filter(|issue| !closed.contains(issue)).map(|issue| format!("#{issue}")).collect();
    let closed =
        if open.is_empty() { issues.len().to_string() } else { format!("all but {}", open.join(", ")) };
    let mut checks = vec![DrillCheck::new("issues closed", open.is_empty(), closed)];
    let pulls = world.read("pulls?state=all&per_page=100").await?;
    let fixes = world.read("issues?state=all&labels=autopilot-fix&per_page=100").await?;
    checks.extend(of_pulls(issues, &pulls, &fixes));
    let mut said = BTreeMap::new();
    for issue in issues.iter().copied().chain(list(&fixes).filter_map(|fix| fix["number"].as_u64())) {
        let comments = world.read(&format!("issues/{issue}/comments?per_page=100")).await?;
        let times =
            list(&comments).filter(|comment| text(comment, "body").contains("<!-- pilot-status ")).count();
        said.insert(issue, times);
    }
    let wrong: Vec<String> = said
        .iter()
        .filter(|(_, times)| **times != 1)
        .map(|(issue, times)| format!("{times} on #{issue}"))
        .collect();
    let found = if wrong.is_empty() { said.len().to_string() } else { wrong.join(", ") };
    checks.push(DrillCheck::new("one status comment on each", wrong.is_empty(), found));
    checks.push(of_tags(&world.read("tags?per_page=100").await?));
    let branches = world.read("branches?per_page=100").await?;
    let left: Vec<&str> =
        list(&branches).map(|branch| text(branch, "name")).filter(|name| *name != "main").collect();
    checks.push(nothing("branches left", &left));
    let worktrees = fs::read_dir(folder.join("home/worktrees")).into_iter().flatten().flatten();
    let worktrees = worktrees.filter(|entry| entry.path().is_dir());
    let worktrees: Vec<String> =
        worktrees.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    checks.push(nothing("worktrees left", &worktrees.iter().map(String::as_str).collect::<Vec<_>>()));
    let alive = alive(folder);
    checks.push(nothing("agents left", &alive.iter().map(String::as_str).collect::<Vec<_>>()));
    Ok(checks)
}

/// One merged for each issue, and one that was closed for each fix.
fn of_pulls(issues: &[u64], pulls: &Value, fixes: &Value) -> [DrillCheck; 2] {
    let is_merged = |pull: &&Value| pull["merged_at"].is_string();
    let merged = |issue: &u64| {
        let branch = format!("pilot/GH-{issue}");
        list(pulls).filter(is_merged).filter(|pull| pull["head"]["ref"] == *branch).count()
    };
    let wrong: Vec<String> = issues
        .iter()
        .filter(|issue| merged(issue) != 1)
        .map(|issue| format!("{} for #{issue}", merged(issue)))
        .collect();
    let all = list(pulls).filter(is_merged).count();
    let found = if wrong.is_empty() { all.to_string() } else { wrong.join(", ") };
    let merged =
        DrillCheck::new("one merged pull request each", wrong.is_empty() && all == issues.len(), found);
    let (others, fixes) = (list(pulls).count() - all, list(fixes).count());
    let found = format!("{others}, and {fixes} fix issues");
    [merged, DrillCheck::new("another pull request only where CI failed", others == 1 && fixes == 1, found)]
}

fn of_tags(tags: &Value) -> DrillCheck {
    let names: Vec<&str> = list(tags).map(|tag| text(tag, "name")).collect();
    let commits: BTreeSet<&str> = list(tags).map(|tag| text(&tag["commit"], "sha")).collect();
    let ok = !names.is_empty() && commits.len() == names.len();
    DrillCheck::new("no commit tagged twice", ok, names.join(", "))
}

fn nothing(what: &'static str, left: &[&str]) -> DrillCheck {
    let found = if left.is_empty() { "none".to_owned() } else { left.join(", ") };
    DrillCheck::new(what, left.is_empty(), found)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The processes of agents and workers that belong to a folder.
pub(crate) fn alive(folder: &Path) -> Vec<String> {
    let (worktrees, script) = (folder.join("home/worktrees"), folder.join("agent.sh"));
    let script = script.to_string_lossy().into_owned();
    let process = |place: PathBuf| {
        let line = fs::read(place.join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let at_work = fs::read_link(place.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&worktrees));
        (at_work || line.contains(&script)).then_some(line)
    };
    let places = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    places.filter_map(process).collect()
}
