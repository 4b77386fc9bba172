//! Repositories.

use serde::Deserialize;

use super::nullable;
use crate::context::Context;
use crate::git::Signature;
use crate::name::{RefName, Sha, is_repo_name};
use crate::reconcile;
use crate::server::{Access, Call, Failure, FieldError, Page, Reply, Repo, Route, get, patch, post};
use crate::store::{NewRepo, Permission, User, collaborators, repos};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[
    post("/user/repos", |call| Box::pin(create(call))),
    get("/user/repos", |call| Box::pin(list_own(call))),
    get("/repos/{owner}/{repo}", |call| Box::pin(show(call))),
    patch("/repos/{owner}/{repo}", |call| Box::pin(edit(call))),
];

const DEFAULT_BRANCH: &str = "main";
const LONGEST_DESCRIPTION: usize = 350;

#[derive(Deserialize)]
struct NewRepository {
    name: Option<String>,
    description: Option<String>,
    private: Option<bool>,
    auto_init: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_merge_commit: Option<bool>,
    allow_rebase_merge: Option<bool>,
    delete_branch_on_merge: Option<bool>,
}

async fn create(call: &Call) -> Result<Reply, Failure> {
    let actor = call.actor()?;
    let new: NewRepository = call.json()?;
    let name = new.name.as_deref().ok_or_else(|| Failure::missing("Repository", "name"))?;
    check_name(name)?;
    check_description(new.description.as_deref())?;
    let draft = call.ctx.git.create_draft(DEFAULT_BRANCH).await?;
    if new.auto_init == Some(true) {
        let text = format!("# {name}\n{}\n", new.description.as_deref().unwrap_or_default());
        first_commit(&call.ctx, &draft, actor, text.trim_end()).await?;
    }
    let row = NewRepo {
        owner: actor.id,
        name,
        description: new.description.as_deref(),
        private: new.private.unwrap_or(false),
        default_branch: DEFAULT_BRANCH,
        allow_squash: new.allow_squash_merge.unwrap_or(true),
        allow_merge: new.allow_merge_commit.unwrap_or(true),
        allow_rebase: new.allow_rebase_merge.unwrap_or(true),
        delete_branch: new.delete_branch_on_merge.unwrap_or(false),
    };
    let mut tx = call.ctx.store.begin().await?;
    let Some(row) = repos::insert(&mut tx, &row, call.ctx.clock.now()).await? else {
        drop(tx);
        draft.remove().await?;
        return Err(Failure {
            message: "Repository creation failed.".to_owned(),
            ..Failure::invalid(FieldError::custom(
                "Repository",
                "name",
                "name already exists on this account",
            ))
        });
    };
    draft.publish(row.id).await?;
    tx.commit().await?;
    let lock = call.ctx.repo_locks.acquire(row.id).await;
    reconcile::sync_refs(&call.ctx, &lock, &row, actor).await?;
    let repo = Repo { row, owner: std::sync::Arc::clone(actor), permission: Permission::Admin };
    Ok(Reply::created(&wire::full_repository(&call.ctx, &repo)))
}

/// Makes the commit of `auto_init`.
async fn first_commit(
    ctx: &Context,
    git: &crate::git::Repository<'_>,
    actor: &User,
    text: &str,
) -> Result<(), Failure> {
    let blob = git.write_blob(format!("{text}\n").as_bytes()).await?;
    let readme = ("100644".to_owned(), "README.md".to_owned(), Some(blob));
    let tree = git.write_tree(None, &[readme]).await?;
    let who = Signature { name: actor.login.clone(), email: actor.email(), date: ctx.clock.now() };
    let commit = git.write_commit(&tree, &[], &who, &who, "Initial commit").await?;
    if let Some(main) = RefName::branch(DEFAULT_BRANCH) {
        git.update_ref(&main, &commit, &Sha::zero()).await?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), Failure> {
    if is_repo_name(name) {
        return Ok(());
    }
    let error =
        FieldError::custom("Repository", "name", "name is invalid: letters, digits, '.', '-' and '_' only");
    Err(Failure { message: "Repository creation failed.".to_owned(), ..Failure::invalid(error) })
}

fn check_description(text: Option<&str>) -> Result<(), Failure> {
    let valid = text.is_none_or(|text| {
        text.chars().count() <= LONGEST_DESCRIPTION && !text.chars().any(char::is_control)
    });
    if valid {
        Ok(())
    } else {
        Err(Failure::invalid(FieldError::new("Repository", "description", "invalid")))
    }
}

async fn list_own(call: &Call) -> Result<Reply, Failure> {
    let actor = call.actor()?;
    let page = Page::of(call);
    let mut db = call.ctx.store.read().await?;
    let mut items = Vec::new();
    for row in repos::of_user(&mut db, actor.id, page.limit(), page.offset()).await? {
        let permission = collaborators::permission(&mut db, &row, actor).await?;
        let owner = call.ctx.user(row.owner);
        items.push(wire::repository(&call.ctx, &Repo { row, owner, permission }));
    }
    Ok(page.reply(call, items, None))
}

async fn show(call: &Call) -> Result<Reply, Failure> {
    let repo = call.repo(Access::Read).await?;
    Ok(Reply::ok(&wire::full_repository(&call.ctx, &repo)))
}

#[derive(Deserialize)]
struct RepositoryEdit {
    name: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    description: Option<Option<String>>,
    private: Option<bool>,
    archived: Option<bool>,
    default_branch: Option<String>,
    allow_squash_merge: Option<bool>,
    allow_merge_commit: Option<bool>,
    allow_rebase_merge: Option<bool>,
    delete_branch_on_merge: Option<bool>,
}

async fn edit(call: &Call) -> Result<Reply, Failure> {
    let mut repo = call.repo(Access::Admin).await?;
    let edit: RepositoryEdit = call.json()?;
    let mut tx = call.ctx.store.begin().await?;
    let row = &mut repo.row;
    if let Some(name) = edit.name.filter(|name| *name != row.name) {
        check_name(&name)?;
        repos::record_former_name(&mut tx, row).await?;
        row.name = name;
    }
    if let Some(description) = edit.description {
        check_description(description.as_deref())?;
        row.description = description;
    }
    if let Some(branch) = edit.default_branch {
        let name = RefName::branch(&branch);
        let tip = match &name {
            Some(name) => call.ctx.repository(row.id).read_ref(name).await?,
            None => None,
        };
        if tip.is_none() {
            let error =
                format!("The branch {branch} was not found. Please push that ref first or create it.");
            return Err(Failure::invalid(FieldError::custom("Repository", "default_branch", error)));
        }
        call.ctx.repository(row.id).set_head(&branch).await?;
        row.default_branch = branch;
    }
    row.private = edit.private.unwrap_or(row.private);
    row.archived = edit.archived.unwrap_or(row.archived);
    row.allow_squash = edit.allow_squash_merge.unwrap_or(row.allow_squash);
    row.allow_merge = edit.allow_merge_commit.unwrap_or(row.allow_merge);
    row.allow_rebase = edit.allow_rebase_merge.unwrap_or(row.allow_rebase);
    row.delete_branch = edit.delete_branch_on_merge.unwrap_or(row.delete_branch);
    if !repos::update(&mut tx, row, call.ctx.clock.now()).await? {
        let error = FieldError::custom("Repository", "name", "name already exists on this account");
        return Err(Failure::invalid(error));
    }
    tx.commit().await?;
    Ok(Reply::ok(&wire::full_repository(&call.ctx, &repo)))
}
