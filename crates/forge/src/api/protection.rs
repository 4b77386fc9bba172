//! Branch protection: what it is, whom it stops, and what a pull request still needs.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::name::RefName;
use crate::server::{Call, Failure, Need, Page, Reply, Repo, Route, delete, get, percent_encode, put};
use crate::store::{Permission, Pull, checks, collaborators, protections, reviews};
use crate::timestamp::Timestamp;
use crate::wire;

/// Routes about protection.
pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/branches/{branch*}/protection", |call| Box::pin(show(call))),
    put("/repos/{owner}/{repo}/branches/{branch*}/protection", |call| Box::pin(protect(call))),
    delete("/repos/{owner}/{repo}/branches/{branch*}/protection", |call| Box::pin(unprotect(call))),
    get("/repos/{owner}/{repo}/branches/{branch*}/protection/required_status_checks", |call| {
        Box::pin(required_checks(call))
    }),
    get("/repos/{owner}/{repo}/rules/branches/{branch*}", |call| Box::pin(rules(call))),
];

/// The rules of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Rules {
    checks: Option<RequiredChecks>,
    reviews: Option<RequiredReviews>,
    enforce_admins: bool,
    linear: bool,
    allow_force_pushes: bool,
    allow_deletions: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RequiredChecks {
    strict: bool,
    contexts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RequiredReviews {
    count: i64,
    dismiss_stale: bool,
}

/// What is done to a branch directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Commits are added.
    Push,
    /// Commits are taken away.
    Force,
    /// The branch is.
    Delete,
}

/// The rules of a branch, if it is protected.
pub(super) async fn of_branch(
    db: &mut SqliteConnection,
    repo: &Repo,
    branch: &str,
) -> Result<Option<Rules>, sqlx::Error> {
    let text = protections::of_branch(db, repo.row.id, branch).await?;
    Ok(text.map(|text| serde_json::from_str(&text).unwrap_or_default()))
}

impl Rules {
    /// Whether they hold for somebody who rules the repository too.
    fn bind(&self, permission: Permission) -> bool {
        self.enforce_admins || permission < Permission::Admin
    }

    /// Whether changes come by pull request only.
    fn by_pull_only(&self) -> bool {
        self.reviews.is_some() || self.checks.is_some()
    }
}

/// What the pre-receive hook is told: a line for each protected branch.
pub(super) async fn rules_for_push(call: &Call, repo: &Repo) -> Result<String, Failure> {
    let mut db = call.site.store.read().await?;
    let mut lines = String::new();
    for (branch, text) in protections::of_repo(&mut db, repo.row.id).await? {
        let rules: Rules = serde_json::from_str(&text).unwrap_or_default();
        let mut letters = String::new();
        if !rules.allow_force_pushes {
            letters.push('f');
        }
        if !rules.allow_deletions {
            letters.push('d');
        }
        if rules.by_pull_only() && rules.bind(repo.permission) {
            letters.push('p');
        }
        lines.push_str(&format!("refs/heads/{branch} {letters}\n"));
    }
    Ok(lines)
}

/// Whether the API may change a branch directly.
pub(super) async fn permit(call: &Call, repo: &Repo, name: &RefName, change: Change) -> Result<(), Failure> {
    let Some(branch) = name.as_branch() else { return Ok(()) };
    let mut db = call.site.store.read().await?;
    let Some(rules) = of_branch(&mut db, repo, branch).await? else { return Ok(()) };
    let refuse = |words: &str| {
        Err(Failure::unprocessable(format!("Protected branch update failed for {name}.\n\n{words}")))
    };
    match change {
        Change::Delete if !rules.allow_deletions => refuse("Cannot delete this protected branch"),
        Change::Force if !rules.allow_force_pushes => refuse("Cannot force-push to this branch"),
        Change::Push | Change::Force if rules.by_pull_only() && rules.bind(repo.permission) => {
            refuse("Changes must be made through a pull request.")
        }
        Change::Push | Change::Force | Change::Delete => Ok(()),
    }
}

/// What a pull request still needs, in GitHub's words.
pub(super) async fn wants(
    db: &mut SqliteConnection,
    repo: &Repo,
    rules: &Rules,
    pull: &Pull,
    now: Timestamp,
) -> Result<Vec<String>, sqlx::Error> {
    let mut wants = Vec::new();
    if let Some(required) = &rules.checks {
        let results = results(db, repo.row.id, &pull.row.head_sha, now).await?;
        for context in &required.contexts {
            match results.iter().find(|result| result.name == *context).map(|result| result.verdict) {
                Some(Verdict::Passed) => {}
                Some(Verdict::Failed) => {
                    wants.push(format!("Required status check \"{context}\" is failing."));
                }
                Some(Verdict::Pending) | None => {
                    wants.push(format!("Required status check \"{context}\" is expected."));
                }
            }
        }
    }
    if let Some(required) = &rules.reviews {
        let (approved, objected) = opinions(db, repo, pull, required.dismiss_stale).await?;
        if objected {
            wants.push("Changes were requested by a reviewer with write access.".to_owned());
        }
        if approved < required.count {
            let (count, noun) =
                (required.count, if required.count == 1 { "review is" } else { "reviews are" });
            wants.push(format!("At least {count} approving {noun} required by reviewers with write access."));
        }
    }
    Ok(wants)
}

/// How many who may write approve, and whether one of them objects. The last word of each counts.
async fn opinions(
    db: &mut SqliteConnection,
    repo: &Repo,
    pull: &Pull,
    fresh_only: bool,
) -> Result<(i64, bool), sqlx::Error> {
    let mut last: Vec<(i64, String)> = Vec::new();
    for review in reviews::of_issue(db, pull.issue.id).await? {
        let counts = matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED");
        let stale = fresh_only && review.state == "APPROVED" && review.commit_id != pull.row.head_sha;
        if counts && !stale {
            last.retain(|(author, _)| *author != review.author);
            last.push((review.author, review.state));
        }
    }
    let (mut approved, mut objected) = (0, false);
    for (author, state) in last {
        if author == pull.issue.author || !may_write(db, repo, author).await? {
            continue;
        }
        approved += i64::from(state == "APPROVED");
        objected |= state == "CHANGES_REQUESTED";
    }
    Ok((approved, objected))
}

async fn may_write(db: &mut SqliteConnection, repo: &Repo, user: i64) -> Result<bool, sqlx::Error> {
    if user == repo.owner.id {
        return Ok(true);
    }
    let given = collaborators::of_repo(db, repo.row.id).await?;
    Ok(given.iter().any(|(known, permission)| *known == user && *permission >= Permission::Write))
}

/// What became of something that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    Pending,
}

/// The last word of one check or status on a commit.
#[derive(Clone, Debug)]
pub(super) struct CheckResult {
    name: String,
    pub(super) verdict: Verdict,
}

/// The last word of everything that can be seen on a commit.
pub(super) async fn results(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
    now: Timestamp,
) -> Result<Vec<CheckResult>, sqlx::Error> {
    let runs = checks::latest(checks::of_sha(db, repo, sha, now).await?, |row| row.name.clone());
    let statuses = checks::latest(checks::statuses_of_sha(db, repo, sha).await?, |row| row.context.clone());
    let of_run = |conclusion: Option<&str>| match conclusion {
        None => Verdict::Pending,
        Some("success" | "neutral" | "skipped") => Verdict::Passed,
        Some(_) => Verdict::Failed,
    };
    let of_status = |state: &str| match state {
        "success" => Verdict::Passed,
        "pending" => Verdict::Pending,
        _ => Verdict::Failed,
    };
    let runs = runs
        .into_iter()
        .map(|row| CheckResult { verdict: of_run(row.conclusion.as_deref()), name: row.name });
    let statuses =
        statuses.into_iter().map(|row| CheckResult { verdict: of_status(&row.state), name: row.context });
    Ok(runs.chain(statuses).collect())
}

/// Whether the protection of its base lets somebody merge a pull request. Who rules the repository is let through, unless
/// the rules say otherwise.
pub(super) async fn may_merge(
    call: &Call,
    repo: &Repo,
    pull: &Pull,
    behind: bool,
    merge_commit: bool,
) -> Result<(), Failure> {
    let mut db = call.site.store.read().await?;
    let Some(rules) = of_branch(&mut db, repo, &pull.row.base_ref).await? else { return Ok(()) };
    let not_allowed = |words: &str| Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, words));
    if rules.linear && merge_commit {
        return not_allowed("This branch must not contain merge commits.");
    }
    if !rules.bind(repo.permission) {
        return Ok(());
    }
    if behind && rules.is_strict() {
        return not_allowed("Head branch is out of date. Review and try the merge again.");
    }
    match wants(&mut db, repo, &rules, pull, call.site.clock.now()).await?.first() {
        Some(words) => not_allowed(words),
        None => Ok(()),
    }
}

impl Rules {
    /// Whether a pull request must have everything its base has.
    pub(super) fn is_strict(&self) -> bool {
        self.checks.as_ref().is_some_and(|checks| checks.strict)
    }
}

#[derive(Deserialize)]
struct Wish {
    required_status_checks: Option<WishedChecks>,
    enforce_admins: Option<bool>,
    required_pull_request_reviews: Option<WishedReviews>,
    required_linear_history: Option<bool>,
    allow_force_pushes: Option<bool>,
    allow_deletions: Option<bool>,
}

#[derive(Deserialize)]
struct WishedChecks {
    strict: Option<bool>,
    contexts: Option<Vec<String>>,
    checks: Option<Vec<WishedCheck>>,
}

#[derive(Deserialize)]
struct WishedCheck {
    context: String,
}

#[derive(Deserialize)]
struct WishedReviews {
    required_approving_review_count: Option<i64>,
    dismiss_stale_reviews: Option<bool>,
}

async fn existing(call: &Call, repo: &Repo) -> Result<String, Failure> {
    let branch = call.params.get("branch");
    let missing = || Failure::new(StatusCode::NOT_FOUND, "Branch not found");
    let name = RefName::branch(branch).ok_or_else(missing)?;
    let there = call.site.repository(repo.row.id).read_ref(&name).await?;
    there.map(|_| branch.to_owned()).ok_or_else(missing)
}

async fn protect(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Admin).await?;
    let branch = existing(call, &repo).await?;
    let wish: Wish = call.json()?;
    let checks = wish.required_status_checks.map(|checks| {
        let named = checks.checks.unwrap_or_default().into_iter().map(|check| check.context);
        let mut contexts: Vec<String> =
            checks.contexts.unwrap_or_default().into_iter().chain(named).collect();
        contexts.dedup();
        RequiredChecks { strict: checks.strict.unwrap_or(false), contexts }
    });
    let reviews = wish.required_pull_request_reviews.map(|reviews| RequiredReviews {
        count: reviews.required_approving_review_count.unwrap_or(1).clamp(0, 6),
        dismiss_stale: reviews.dismiss_stale_reviews.unwrap_or(false),
    });
    let rules = Rules {
        checks,
        reviews,
        enforce_admins: wish.enforce_admins.unwrap_or(false),
        linear: wish.required_linear_history.unwrap_or(false),
        allow_force_pushes: wish.allow_force_pushes.unwrap_or(false),
        allow_deletions: wish.allow_deletions.unwrap_or(false),
    };
    let text = serde_json::to_string(&rules).unwrap_or_default();
    let mut tx = call.site.store.begin().await?;
    protections::put(&mut tx, repo.row.id, &branch, &text).await?;
    tx.commit().await?;
    Ok(Reply::ok(&json_of(call, &repo, &branch, &rules)))
}

async fn protected(call: &Call, repo: &Repo, branch: &str) -> Result<Rules, Failure> {
    let mut db = call.site.store.read().await?;
    let rules = of_branch(&mut db, repo, branch).await?;
    rules.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, "Branch not protected"))
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let branch = existing(call, &repo).await?;
    let rules = protected(call, &repo, &branch).await?;
    Ok(Reply::ok(&json_of(call, &repo, &branch, &rules)))
}

async fn required_checks(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Read).await?;
    let branch = existing(call, &repo).await?;
    let rules = protected(call, &repo, &branch).await?;
    let checks = rules
        .checks
        .ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, "Required status checks not enabled"))?;
    Ok(Reply::ok(&checks_json(&url(call, &repo, &branch), &checks)))
}

/// Rulesets, which are GitHub's other way to protect branches. There are none here, and whoever asks is told so.
async fn rules(call: &Call) -> Result<Reply, Failure> {
    call.repo(Need::Read).await?;
    Ok(Page::of(call).reply(call, Vec::new(), Some(0)))
}

async fn unprotect(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Need::Admin).await?;
    let branch = existing(call, &repo).await?;
    let mut tx = call.site.store.begin().await?;
    if !protections::remove(&mut tx, repo.row.id, &branch).await? {
        return Err(Failure::new(StatusCode::NOT_FOUND, "Branch not protected"));
    }
    tx.commit().await?;
    Ok(Reply::no_content())
}

fn url(call: &Call, repo: &Repo, branch: &str) -> String {
    format!("{}/branches/{}/protection", wire::repo_url(&call.site, repo), percent_encode(branch))
}

fn checks_json(url: &str, checks: &RequiredChecks) -> Value {
    let url = format!("{url}/required_status_checks");
    let named: Vec<Value> =
        checks.contexts.iter().map(|context| json!({"context": context, "app_id": null})).collect();
    json!({
        "url": url,
        "strict": checks.strict,
        "contexts": checks.contexts,
        "contexts_url": format!("{url}/contexts"),
        "checks": named,
    })
}

fn json_of(call: &Call, repo: &Repo, branch: &str, rules: &Rules) -> Value {
    let url = url(call, repo, branch);
    let mut json = json!({
        "url": url,
        "enforce_admins": {"url": format!("{url}/enforce_admins"), "enabled": rules.enforce_admins},
        "required_linear_history": {"enabled": rules.linear},
        "allow_force_pushes": {"enabled": rules.allow_force_pushes},
        "allow_deletions": {"enabled": rules.allow_deletions},
        "block_creations": {"enabled": false},
        "required_conversation_resolution": {"enabled": false},
        "lock_branch": {"enabled": false},
        "allow_fork_syncing": {"enabled": false},
        "required_signatures": {"url": format!("{url}/required_signatures"), "enabled": false},
    });
    if let Some(checks) = &rules.checks {
        json["required_status_checks"] = checks_json(&url, checks);
    }
    if let Some(reviews) = &rules.reviews {
        json["required_pull_request_reviews"] = json!({
            "url": format!("{url}/required_pull_request_reviews"),
            "dismiss_stale_reviews": reviews.dismiss_stale,
            "require_code_owner_reviews": false,
            "required_approving_review_count": reviews.count,
            "require_last_push_approval": false,
        });
    }
    json
}

/// Protection as a branch shows it.
pub(super) fn summary(rules: Option<&Rules>) -> Value {
    let checks = rules.and_then(|rules| rules.checks.as_ref());
    let contexts = checks.map(|checks| checks.contexts.clone()).unwrap_or_default();
    let level = match rules {
        Some(rules) if checks.is_some() && rules.enforce_admins => "everyone",
        Some(_) if checks.is_some() => "non_admins",
        Some(_) | None => "off",
    };
    let named: Vec<Value> =
        contexts.iter().map(|context| json!({"context": context, "app_id": null})).collect();
    json!({
        "enabled": rules.is_some(),
        "required_status_checks": {"enforcement_level": level, "contexts": contexts, "checks": named},
    })
}
