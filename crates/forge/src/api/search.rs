//! Issue search with GitHub's query syntax.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::server::{Call, Failure, FieldError, Page, Reply, Repo, Route, get};
use crate::store::{IssueFilter, IssueSort, issues, labels};
use crate::wire;

pub(crate) const ROUTES: &[Route] = &[get("/search/issues", |call| Box::pin(search(call)))];

/// GitHub's limit for results.
const MOST: i64 = 1000;
const LONGEST: usize = 256;

#[derive(Debug, Default, PartialEq, Eq)]
struct SearchQuery {
    repo: Option<(String, String)>,
    pull: Option<bool>,
    state: Option<&'static str>,
    labels: Vec<String>,
    author: Option<String>,
    assignee: Option<String>,
    words: Vec<String>,
}

/// Reads `repo:o/r is:issue is:open label:"a b" words`; an unknown qualifier is an error.
fn parse_query(text: &str) -> Result<SearchQuery, String> {
    let mut search = SearchQuery::default();
    for term in terms(text) {
        let Some((name, value)) = term.split_once(':') else {
            search.words.push(term.to_lowercase());
            continue;
        };
        match (name, value) {
            ("repo", value) => {
                let (owner, repo) =
                    value.split_once('/').ok_or_else(|| format!("{term} is not owner/name"))?;
                search.repo = Some((owner.to_owned(), repo.to_owned()));
            }
            ("is" | "type", "issue") => search.pull = Some(false),
            ("is" | "type", "pr" | "pull-request") => search.pull = Some(true),
            ("is" | "state", "open") => search.state = Some("open"),
            ("is" | "state", "closed") => search.state = Some("closed"),
            ("label", value) => search.labels.push(value.to_owned()),
            ("author", value) => search.author = Some(value.to_owned()),
            ("assignee", value) => search.assignee = Some(value.to_owned()),
            ("in" | "sort" | "archived", _) => {}
            (_, _) => return Err(format!("{term} is not supported by this forge")),
        }
    }
    Ok(search)
}

/// Splits at white space outside of quotes.
fn terms(text: &str) -> Vec<String> {
    let (mut terms, mut term, mut quoted) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            letter if letter.is_whitespace() && !quoted => terms.push(std::mem::take(&mut term)),
            letter => term.push(letter),
        }
    }
    terms.push(term);
    terms.retain(|term| !term.is_empty());
    terms
}

async fn search(call: &Call) -> Result<Reply, Failure> {
    let page = Page::of(call);
    let text = call.query.get("q").ok_or_else(|| Failure::missing("Search", "q"))?;
    if text.chars().count() > LONGEST {
        return Err(Failure::invalid(FieldError::custom(
            "Search",
            "q",
            "The search is longer than 256 characters.",
        )));
    }
    let search =
        parse_query(text).map_err(|words| Failure::invalid(FieldError::custom("Search", "q", words)))?;
    let Some((owner, name)) = search.repo.clone() else {
        return Err(Failure::invalid(FieldError::custom(
            "Search",
            "q",
            "Add repo:owner/name to the search.",
        )));
    };
    let found = call.find_repo(&owner, &name).await?;
    let repo = found.ok_or_else(|| {
        let words = "The listed users and repositories cannot be searched either because the resources do not exist \
                     or you do not have permission to view them.";
        Failure::invalid(FieldError::custom("Search", "q", words))
    })?;
    let mut db = call.ctx.store.read().await?;
    let (total, items) = match filter(&mut db, call, &repo, search).await? {
        Some(filter) => matches(&mut db, call, &repo, &filter, page).await?,
        None => (0, Vec::new()),
    };
    let more = items.len() > page.size();
    let items: Vec<Value> = items.into_iter().take(page.size()).collect();
    let json = json!({
        "total_count": total,
        "incomplete_results": false,
        "items": items,
        "search_type": "lexical",
    });
    Ok(page.linked(call, Reply::ok(&json), more, total))
}

async fn filter(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    search: SearchQuery,
) -> Result<Option<IssueFilter>, Failure> {
    let mut filter =
        IssueFilter { pull: search.pull, state: search.state, words: search.words, ..IssueFilter::default() };
    for name in &search.labels {
        match labels::by_name(db, repo.row.id, name).await? {
            Some(label) => filter.labels.push(label.id),
            None => return Ok(None),
        }
    }
    for (login, place) in [(search.author, &mut filter.creator), (search.assignee, &mut filter.assignee)] {
        if let Some(login) = login {
            let Some(user) = call.ctx.users.by_login(&login) else { return Ok(None) };
            *place = Some(user.id);
        }
    }
    filter.sort = match call.query.get("sort") {
        Some("updated") => IssueSort::Updated,
        Some("comments") => IssueSort::Comments,
        Some(_) | None => IssueSort::Created,
    };
    filter.ascending = call.query.get("order") == Some("asc");
    Ok(Some(filter))
}

async fn matches(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    filter: &IssueFilter,
    page: Page,
) -> Result<(i64, Vec<Value>), Failure> {
    let until = call.ctx.clock.now().before(call.ctx.lags.lists);
    let total = issues::count(db, repo.row.id, filter, until).await?.min(MOST);
    let rows = issues::list(db, repo.row.id, filter, until, page.limit(), page.offset()).await?;
    let extras = wire::Extras::of(db, repo, &rows).await?;
    let shown = rows.iter().map(|row| {
        let issue = wire::issue(&call.ctx, repo, row, &extras);
        wire::extend(issue, json!({"score": 1.0}))
    });
    Ok((total, shown.collect()))
}

#[cfg(test)]
mod tests {
    use super::{SearchQuery, parse_query};

    #[test]
    fn queries_are_parsed() {
        let search = parse_query(r#"repo:o/r is:issue is:open label:"good first" Fix author:bob"#);
        let expect = SearchQuery {
            repo: Some(("o".to_owned(), "r".to_owned())),
            pull: Some(false),
            state: Some("open"),
            labels: vec!["good first".to_owned()],
            author: Some("bob".to_owned()),
            assignee: None,
            words: vec!["fix".to_owned()],
        };
        assert_eq!(search, Ok(expect));
        assert!(parse_query("involves:bob").is_err() && parse_query("repo:x").is_err());
    }
}
