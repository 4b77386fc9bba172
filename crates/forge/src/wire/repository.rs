//! GitHub's JSON of repositories.

use serde_json::{Map, Value, json};

use super::{extend, user};
use crate::context::Context;
use crate::server::Repo;
use crate::store::Permission;

/// The URL fields of a repository, relative to its API URL.
const PARTS: [(&str, &str); 37] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
    ("url", ""),
];

/// The API URL of a repository.
pub(crate) fn repo_url(ctx: &Context, repo: &Repo) -> String {
    format!("{}/repos/{}/{}", ctx.url, repo.owner.login, repo.row.name)
}

/// The page URL of a repository.
pub(crate) fn html_url(ctx: &Context, repo: &Repo) -> String {
    format!("{}/{}/{}", ctx.url, repo.owner.login, repo.row.name)
}

/// A nested repository: all fields of `minimal-repository` and `repository`, and none that webhooks do not have.
pub(crate) fn repository(ctx: &Context, repo: &Repo) -> Value {
    let (row, url, html) = (&repo.row, repo_url(ctx, repo), html_url(ctx, repo));
    let parts: Map<String, Value> =
        PARTS.iter().map(|(name, path)| ((*name).to_owned(), format!("{url}{path}").into())).collect();
    let git = html.replacen("http://", "git://", 1);
    let facts = json!({
        "id": row.id,
        "node_id": format!("R_{}", row.id),
        "name": row.name,
        "full_name": format!("{}/{}", repo.owner.login, row.name),
        "owner": user(ctx, &repo.owner),
        "private": row.private,
        "visibility": if row.private { "private" } else { "public" },
        "html_url": html,
        "clone_url": format!("{html}.git"),
        "git_url": format!("{git}.git"),
        "ssh_url": format!("{html}.git"),
        "svn_url": html,
        "mirror_url": null,
        "homepage": null,
        "description": row.description,
        "language": null,
        "license": null,
        "topics": [],
        "fork": false,
        "archived": row.archived,
        "disabled": false,
        "is_template": false,
        "allow_forking": true,
        "web_commit_signoff_required": false,
        "default_branch": row.default_branch,
        "pushed_at": row.pushed.iso(),
        "created_at": row.created.iso(),
        "updated_at": row.updated.iso(),
    });
    extend(extend(Value::Object(parts), facts), numbers_and_rules(repo))
}

pub(crate) fn full_repository(ctx: &Context, repo: &Repo) -> Value {
    extend(repository(ctx, repo), json!({"network_count": 0, "subscribers_count": 0}))
}

fn numbers_and_rules(repo: &Repo) -> Value {
    let row = &repo.row;
    json!({
        "size": 0,
        "forks": 0,
        "forks_count": 0,
        "stargazers_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "open_issues": row.open_issues,
        "open_issues_count": row.open_issues,
        "has_issues": true,
        "has_projects": false,
        "has_wiki": false,
        "has_pages": false,
        "has_discussions": false,
        "has_downloads": false,
        "allow_squash_merge": row.allow_squash,
        "allow_merge_commit": row.allow_merge,
        "allow_rebase_merge": row.allow_rebase,
        "allow_auto_merge": false,
        "allow_update_branch": true,
        "delete_branch_on_merge": row.delete_branch,
        "custom_properties": {},
        "permissions": permissions(repo.permission),
    })
}

pub(crate) fn permissions(permission: Permission) -> Value {
    json!({
        "admin": permission >= Permission::Admin,
        "maintain": permission >= Permission::Maintain,
        "push": permission >= Permission::Write,
        "triage": permission >= Permission::Triage,
        "pull": permission >= Permission::Read,
    })
}
