//! Four tasks in flight, and what must be true of them in the end, whatever happened on the way.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::world::{Daemon, PATIENCE, World};
use crate::forge::http::git;
use crate::program::{run, within};

/// One breaks CI once, one waits until it is let go.
const TASKS: [(&str, &str); 4] = [
    ("feat: one", "Please."),
    ("feat: two", "please break it"),
    ("feat: three", "Please."),
    ("feat: four", "please wait"),
];

/// Which of them breaks CI, and which waits.
const BREAKS: usize = 1;
const WAITS: usize = 3;

/// Four tasks in a world.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) issues: Vec<u64>,
}

impl Scene {
    /// Files the tasks, and asks about one.
    pub(crate) fn new() -> Scene {
        let world = World::new();
        let issues: Vec<u64> = TASKS.iter().map(|(title, body)| world.file(title, body)).collect();
        let question = format!("issues/{}/comments", issues[WAITS]);
        world.change("POST", &question, &json!({"body": "/pilot why"}));
        Scene { world, issues }
    }

    /// Whether everything that does not wait is merged.
    fn others_are_done(&self) -> bool {
        let open = self.world.get("issues?state=open&per_page=100");
        let waits = self.issues[WAITS];
        open.as_array().is_some_and(|open| open.iter().all(|issue| issue["number"] == waits))
    }

    /// Waits for a daemon's end. The agent that waits goes on when it is the last.
    pub(crate) fn end(&self, mut daemon: Daemon) -> Result<Option<i32>, String> {
        // Each look takes longer than the pause before the next.
        let ended = within(PATIENCE / 6, || daemon.is_over() || self.others_are_done());
        so(ended, || format!("nothing goes on\n{}", self.world.log()))?;
        self.world.go();
        let ended = within(PATIENCE, || daemon.is_over());
        so(ended, || format!("it does not come to an end\n{}", self.world.log()))?;
        Ok(daemon.end())
    }

    /// No process stays.
    pub(crate) fn nobody_works(&self) -> Result<(), String> {
        let gone = within(PATIENCE, || self.world.alive().is_empty());
        so(gone, || format!("still there: {:?}", self.world.alive()))
    }

    /// A daemon that is not killed continues to the end, and everything is done.
    pub(crate) fn finish(&self) -> Result<(), String> {
        self.world.go();
        let code = self.end(self.world.start_once(&[]))?;
        so(code == Some(0), || format!("it ends with {code:?}\n{}", self.world.log()))?;
        let checked = self.check(&[&self.world.home()], &[&self.world.shop()]);
        checked.map_err(|why| format!("{why}\n{}", self.world.log()))
    }

    /// Everything is done, once, and nothing is left.
    pub(crate) fn check(&self, homes: &[&Path], checkouts: &[&Path]) -> Result<(), String> {
        self.tasks_are_done()?;
        self.nothing_is_twice()?;
        self.nothing_is_left(homes, checkouts)?;
        self.no_commit_is_lost(checkouts)
    }

    fn tasks_are_done(&self) -> Result<(), String> {
        let files = self.world.files();
        for issue in &self.issues {
            let is = self.world.get(&format!("issues/{issue}"));
            so(is["state"] == "closed", || format!("#{issue} is lost: {}", is["state"]))?;
            let labels = names(&is["labels"]);
            let done = labels.contains("pilot-done") && !labels.contains("pilot-in-progress");
            so(done, || format!("#{issue} has the labels {labels:?}"))?;
            so(files.contains(&format!("GH-{issue}.txt")), || format!("the file of #{issue} is lost"))?;
        }
        so(!files.contains(&"broken".to_owned()), || "what broke CI is merged".to_owned())
    }

    fn nothing_is_twice(&self) -> Result<(), String> {
        let fixes = self.world.get("issues?state=all&labels=autopilot-fix&per_page=100");
        let fixes = fixes.as_array().map_or(&[][..], Vec::as_slice);
        so(fixes.len() == 1, || format!("{} fix issues", fixes.len()))?;
        so(fixes[0]["state"] == "closed", || "the fix issue is open".to_owned())?;
        let pulls = self.world.pulls();
        for (at, issue) in self.issues.iter().enumerate() {
            let branch = format!("pilot/GH-{issue}");
            let ours: Vec<&Value> = pulls.iter().filter(|pull| pull["head"]["ref"] == *branch).collect();
            let merged = ours.iter().filter(|pull| pull["merged_at"].is_string()).count();
            let expected = if at == BREAKS { 2 } else { 1 };
            let said = || format!("#{issue} has {} pull requests, {merged} of them merged", ours.len());
            so(ours.len() == expected && merged == 1, said)?;
            self.said_once(*issue, "pilot-status")?;
        }
        so(pulls.len() == self.issues.len() + 1, || format!("{} pull requests", pulls.len()))?;
        self.said_once(fixes[0]["number"].as_u64().unwrap_or(0), "pilot-status")?;
        self.said_once(self.issues[WAITS], "pilot-reply")?;
        for pull in pulls.iter().filter(|pull| !pull["merged_at"].is_string()) {
            self.said_once(pull["number"].as_u64().unwrap_or(0), "pilot-closed")?;
        }
        self.merges_and_tags()
    }

    fn said_once(&self, issue: u64, marker: &str) -> Result<(), String> {
        let comments = self.world.comments(issue);
        let marked = |comment: &&Value| comment["body"].as_str().is_some_and(|body| body.contains(marker));
        let times = comments.iter().filter(marked).count();
        so(times == 1, || format!("#{issue} has {times} comments with {marker}"))
    }

    fn merges_and_tags(&self) -> Result<(), String> {
        let commits = self.world.get("commits?per_page=100");
        let commits = commits.as_array().map_or(&[][..], Vec::as_slice);
        // The two that were there before.
        let merges = commits.len().saturating_sub(2);
        so(merges == self.issues.len(), || format!("{merges} merges"))?;
        let tags = self.world.get("tags?per_page=100");
        let tags = tags.as_array().map_or(&[][..], Vec::as_slice);
        let tagged: BTreeSet<&str> = tags.iter().filter_map(|tag| tag["commit"]["sha"].as_str()).collect();
        so(tagged.len() == tags.len(), || format!("a commit has two tags: {tags:?}"))?;
        let newest = commits[0]["sha"].as_str().unwrap_or_default();
        so(tagged.contains(newest), || format!("what was merged last has no tag: {tags:?}"))
    }

    fn nothing_is_left(&self, homes: &[&Path], checkouts: &[&Path]) -> Result<(), String> {
        for home in homes {
            let left = fs::read_dir(home.join("worktrees")).into_iter().flatten().flatten();
            let left: Vec<_> =
                left.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name()).collect();
            so(left.is_empty(), || format!("worktrees are left: {left:?}"))?;
        }
        let branches = names(&self.world.get("branches?per_page=100"));
        so(branches.len() == 1, || format!("branches are left on the forge: {branches:?}"))?;
        let url = self.world.client.clone_url("pilot/shop");
        for checkout in checkouts {
            let heads = run(git(checkout, &["for-each-ref", "--format=%(refname)", "refs/heads"])).stdout;
            so(heads.trim() == "refs/heads/main", || {
                let why = run(git(checkout, &["log", "--all", "--format=%H %D"])).stdout;
                format!("branches are left here: {heads}{why}{:?}", locks(&checkout.join(".git")))
            })?;
            let claims = run(git(checkout, &["ls-remote", &url, "refs/pilot/claims/*"]));
            so(claims.code == Some(0) && claims.stdout.is_empty(), || {
                format!("claims are left: {}{}", claims.stdout, claims.stderr)
            })?;
        }
        let alive = self.world.alive();
        so(alive.is_empty(), || format!("still there: {alive:?}"))
    }

    /// Every commit an agent made is on a ref, here or on the forge.
    fn no_commit_is_lost(&self, checkouts: &[&Path]) -> Result<(), String> {
        let forge = self.world.path("forge/repos/1.git");
        let places: Vec<&Path> = checkouts.iter().copied().chain([forge.as_path()]).collect();
        for commit in fs::read_to_string(self.world.path("commits")).unwrap_or_default().lines() {
            let kept = places.iter().any(|place| {
                let refs = run(git(place, &["for-each-ref", "--format=%(refname)", "--contains", commit]));
                refs.code == Some(0) && !refs.stdout.is_empty()
            });
            so(kept, || format!("the commit {commit} is on no ref"))?;
        }
        Ok(())
    }
}

fn so(is: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if is { Ok(()) } else { Err(otherwise()) }
}

/// The locks that some git left in a folder of git's.
fn locks(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => locks(&path),
        path => vec![path.display().to_string()],
    });
    below.filter(|path| path.ends_with(".lock")).collect()
}

fn names(list: &Value) -> BTreeSet<String> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(|item| item["name"].as_str().map(str::to_owned)).collect()
}
