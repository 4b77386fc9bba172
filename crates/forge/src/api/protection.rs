//! Branch protection: the rules, the checks of a change against them, and the unmet requirements of a pull request.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::name::RefName;
use crate::server::{Access, Call, Failure, Page, Reply, Repo, Route, delete, get, percent_encode, put};
use crate::store::{Permission, Pull, checks, collaborators, protections, reviews};
use crate::timestamp::Timestamp;
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/branches/{branch*}/protection", |call| Box::pin(show(call))),
    put("/repos/{owner}/{repo}/branches/{branch*}/protection", |call| Box::pin(protect(call))),
    delete("/repos/{owner}/{repo}/branches/{branch*}/protection", |call| Box::pin(unprotect(call))),
    get("/repos/{owner}/{repo}/branches/{branch*}/protection/required_status_checks", |call| {
        Box::pin(required_checks(call))
    }),
    get("/repos/{owner}/{repo}/rules/branches/{branch*}", |call| Box::pin(rules(call))),
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BranchRules {
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

/// A direct change of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BranchChange {
    Push,
    /// An update that drops commits.
    Force,
    Delete,
}

/// The rules of a branch, if it is protected.
pub(super) async fn of_branch(
    db: &mut SqliteConnection,
    repo: &Repo,
    branch: &str,
) -> Result<Option<BranchRules>, sqlx::Error> {
    let text = protections::of_branch(db, repo.row.id, branch).await?;
    Ok(text.map(|text| serde_json::from_str(&text).unwrap_or_default()))
}

impl BranchRules {
    /// Whether the rules apply to a user with this permission: administrators are exempt unless `enforce_admins` is set.
    fn applies_to(&self, permission: Permission) -> bool {
        self.enforce_admins || permission < Permission::Admin
    }

    /// Whether changes must come through pull requests.
    fn requires_pull(&self) -> bool {
        self.reviews.is_some() || self.checks.is_some()
    }
}

/// The input of the pre-receive hook: one line for each protected branch.
pub(super) async fn rules_for_push(call: &Call, repo: &Repo) -> Result<String, Failure> {
    let mut db = call.ctx.store.read().await?;
    let mut lines = String::new();
    for (branch, text) in protections::of_repo(&mut db, repo.row.id).await? {
        let rules: BranchRules = serde_json::from_str(&text).unwrap_or_default();
        let mut letters = String::new();
        if !rules.allow_force_pushes {
            letters.push('f');
        }
        if !rules.allow_deletions {
            letters.push('d');
        }
        if rules.requires_pull() && rules.applies_to(repo.permission) {
            letters.push('p');
        }
        lines.push_str(&format!("refs/heads/{branch} {letters}\n"));
    }
    Ok(lines)
}

/// Checks whether the API may change a branch directly.
pub(super) async fn check_change(
    call: &Call,
    repo: &Repo,
    name: &RefName,
    change: BranchChange,
) -> Result<(), Failure> {
    let Some(branch) = name.as_branch() else { return Ok(()) };
    let mut db = call.ctx.store.read().await?;
    let Some(rules) = of_branch(&mut db, repo, branch).await? else { return Ok(()) };
    let refuse = |words: &str| {
        Err(Failure::unprocessable(format!("Protected branch update failed for {name}.\n\n{words}")))
    };
    match change {
        BranchChange::Delete if !rules.allow_deletions => refuse("Cannot delete this protected branch"),
        BranchChange::Force if !rules.allow_force_pushes => refuse("Cannot force-push to this branch"),
        BranchChange::Push | BranchChange::Force
            if rules.requires_pull() && rules.applies_to(repo.permission) =>
        {
            refuse("Changes must be made through a pull request.")
        }
        BranchChange::Push | BranchChange::Force | BranchChange::Delete => Ok(()),
    }
}

/// The unmet requirements of a pull request, in GitHub's words.
pub(super) async fn missing_requirements(
    db: &mut SqliteConnection,
    repo: &Repo,
    rules: &BranchRules,
    pull: &Pull,
    now: Timestamp,
) -> Result<Vec<String>, sqlx::Error> {
    let mut missing = Vec::new();
    if let Some(required) = &rules.checks {
        let results = results(db, repo.row.id, &pull.row.head_sha, now).await?;
        for context in &required.contexts {
            match results.iter().find(|result| result.name == *context).map(|result| result.verdict) {
                Some(CheckVerdict::Passed) => {}
                Some(CheckVerdict::Failed) => {
                    missing.push(format!("Required status check \"{context}\" is failing."));
                }
                Some(CheckVerdict::Pending) | None => {
                    missing.push(format!("Required status check \"{context}\" is expected."));
                }
            }
        }
    }
    if let Some(required) = &rules.reviews {
        let (approved, objected) = count_reviews(db, repo, pull, required.dismiss_stale).await?;
        if objected {
            missing.push("Changes were requested by a reviewer with write access.".to_owned());
        }
        if approved < required.count {
            let (count, noun) =
                (required.count, if required.count == 1 { "review is" } else { "reviews are" });
            missing
                .push(format!("At least {count} approving {noun} required by reviewers with write access."));
        }
    }
    Ok(missing)
}

/// The number of approvals by users with write access, and whether one of them requests changes. The last review of each
/// user counts.
async fn count_reviews(
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckVerdict {
    Passed,
    Failed,
    Pending,
}

/// The latest result of one check run or status.
#[derive(Clone, Debug)]
pub(super) struct CheckResult {
    name: String,
    pub(super) verdict: CheckVerdict,
}

/// The latest result of every visible check run and status of a commit.
pub(super) async fn results(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
    now: Timestamp,
) -> Result<Vec<CheckResult>, sqlx::Error> {
    let runs = checks::latest(checks::of_sha(db, repo, sha, now).await?, |row| row.name.clone());
    let statuses = checks::latest(checks::statuses_of_sha(db, repo, sha).await?, |row| row.context.clone());
    let of_run = |conclusion: Option<&str>| match conclusion {
        None => CheckVerdict::Pending,
        Some("success" | "neutral" | "skipped") => CheckVerdict::Passed,
        Some(_) => CheckVerdict::Failed,
    };
    let of_status = |state: &str| match state {
        "success" => CheckVerdict::Passed,
        "pending" => CheckVerdict::Pending,
        _ => CheckVerdict::Failed,
    };
    let runs = runs
        .into_iter()
        .map(|row| CheckResult { verdict: of_run(row.conclusion.as_deref()), name: row.name });
    let statuses =
        statuses.into_iter().map(|row| CheckResult { verdict: of_status(&row.state), name: row.context });
    Ok(runs.chain(statuses).collect())
}

/// Checks a merge against the protection of the base branch.
pub(super) async fn check_merge(
    call: &Call,
    repo: &Repo,
    pull: &Pull,
    behind: bool,
    merge_commit: bool,
) -> Result<(), Failure> {
    let mut db = call.ctx.store.read().await?;
    let Some(rules) = of_branch(&mut db, repo, &pull.row.base_ref).await? else { return Ok(()) };
    let not_allowed = |words: &str| Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, words));
    if rules.linear && merge_commit {
        return not_allowed("This branch must not contain merge commits.");
    }
    if !rules.applies_to(repo.permission) {
        return Ok(());
    }
    if behind && rules.is_strict() {
        return not_allowed("Head branch is out of date. Review and try the merge again.");
    }
    match missing_requirements(&mut db, repo, &rules, pull, call.ctx.clock.now()).await?.first() {
        Some(words) => not_allowed(words),
        None => Ok(()),
    }
}

impl BranchRules {
    /// Whether a pull request must contain the tip of its base branch.
    pub(super) fn is_strict(&self) -> bool {
        self.checks.as_ref().is_some_and(|checks| checks.strict)
    }
}

#[derive(Deserialize)]
struct ProtectionRequest {
    required_status_checks: Option<RequestedChecks>,
    enforce_admins: Option<bool>,
    required_pull_request_reviews: Option<RequestedReviews>,
    required_linear_history: Option<bool>,
    allow_force_pushes: Option<bool>,
    allow_deletions: Option<bool>,
}

#[derive(Deserialize)]
struct RequestedChecks {
    strict: Option<bool>,
    contexts: Option<Vec<String>>,
    checks: Option<Vec<RequestedCheck>>,
}

#[derive(Deserialize)]
struct RequestedCheck {
    context: String,
}

#[derive(Deserialize)]
struct RequestedReviews {
    required_approving_review_count: Option<i64>,
    dismiss_stale_reviews: Option<bool>,
}

async fn find_branch(call: &Call, repo: &Repo) -> Result<String, Failure> {
    let branch = call.params.get("branch");
    let missing = || Failure::new(StatusCode::NOT_FOUND, "Branch not found");
    let name = RefName::branch(branch).ok_or_else(missing)?;
    let tip = call.ctx.repository(repo.row.id).read_ref(&name).await?;
    tip.map(|_| branch.to_owned()).ok_or_else(missing)
}

async fn protect(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let branch = find_branch(call, &repo).await?;
    let request: ProtectionRequest = call.json()?;
    let checks = request.required_status_checks.map(|checks| {
        let named = checks.checks.unwrap_or_default().into_iter().map(|check| check.context);
        let mut contexts: Vec<String> =
            checks.contexts.unwrap_or_default().into_iter().chain(named).collect();
        contexts.dedup();
        RequiredChecks { strict: checks.strict.unwrap_or(false), contexts }
    });
    let reviews = request.required_pull_request_reviews.map(|reviews| RequiredReviews {
        count: reviews.required_approving_review_count.unwrap_or(1).clamp(0, 6),
        dismiss_stale: reviews.dismiss_stale_reviews.unwrap_or(false),
    });
    let rules = BranchRules {
        checks,
        reviews,
        enforce_admins: request.enforce_admins.unwrap_or(false),
        linear: request.required_linear_history.unwrap_or(false),
        allow_force_pushes: request.allow_force_pushes.unwrap_or(false),
        allow_deletions: request.allow_deletions.unwrap_or(false),
    };
    let text = serde_json::to_string(&rules).unwrap_or_default();
    let mut tx = call.ctx.store.begin().await?;
    protections::put(&mut tx, repo.row.id, &branch, &text).await?;
    tx.commit().await?;
    Ok(Reply::ok(&json_of(call, &repo, &branch, &rules)))
}

async fn find_rules(call: &Call, repo: &Repo, branch: &str) -> Result<BranchRules, Failure> {
    let mut db = call.ctx.store.read().await?;
    let rules = of_branch(&mut db, repo, branch).await?;
    rules.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, "Branch not protected"))
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let branch = find_branch(call, &repo).await?;
    let rules = find_rules(call, &repo, &branch).await?;
    Ok(Reply::ok(&json_of(call, &repo, &branch, &rules)))
}

async fn required_checks(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    let branch = find_branch(call, &repo).await?;
    let rules = find_rules(call, &repo, &branch).await?;
    let checks = rules
        .checks
        .ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, "Required status checks not enabled"))?;
    Ok(Reply::ok(&checks_json(&url(call, &repo, &branch), &checks)))
}

/// Rulesets are GitHub's other way to protect branches; this forge has none.
async fn rules(call: &Call) -> Result<Reply, Failure> {
    call.repo(Access::Read).await?;
    Ok(Page::of(call).reply(call, Vec::new(), Some(0)))
}

async fn unprotect(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Admin).await?;
    let branch = find_branch(call, &repo).await?;
    let mut tx = call.ctx.store.begin().await?;
    if !protections::remove(&mut tx, repo.row.id, &branch).await? {
        return Err(Failure::new(StatusCode::NOT_FOUND, "Branch not protected"));
    }
    tx.commit().await?;
    Ok(Reply::no_content())
}

fn url(call: &Call, repo: &Repo, branch: &str) -> String {
    format!("{}/branches/{}/protection", wire::repo_url(&call.ctx, repo), percent_encode(branch))
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

fn json_of(call: &Call, repo: &Repo, branch: &str, rules: &BranchRules) -> Value {
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

/// The protection in the JSON of a branch.
pub(super) fn summary(rules: Option<&BranchRules>) -> Value {
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
