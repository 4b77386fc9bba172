//! Searching issues and pull requests, by the words that clients use.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::server::{Call, Failure, FieldError, Page, Reply, Repo, Route, get};
use crate::store::issues::{Filter, Sort};
use crate::store::{issues, labels};
use crate::wire;

/// Routes about searching.
pub(crate) const ROUTES: &[Route] = &[get("/search/issues", |call| Box::pin(search(call)))];

/// GitHub finds no more than this.
const MOST: i64 = 1000;
const LONGEST: usize = 256;

/// What a search asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    repo: Option<(String, String)>,
    pull: Option<bool>,
    state: Option<&'static str>,
    labels: Vec<String>,
    author: Option<String>,
    assignee: Option<String>,
    words: Vec<String>,
}

/// Reads `repo:o/r is:issue is:open label:"a b" words`; a qualifier that is not known is an error, not a silent miss.
fn parse(text: &str) -> Result<Wish, String> {
    let mut wish = Wish::default();
    for term in terms(text) {
        let Some((name, value)) = term.split_once(':') else {
            wish.words.push(term.to_lowercase());
            continue;
        };
        match (name, value) {
            ("repo", value) => {
                let (owner, repo) =
                    value.split_once('/').ok_or_else(|| format!("{term} is not owner/name"))?;
                wish.repo = Some((owner.to_owned(), repo.to_owned()));
            }
            ("is" | "type", "issue") => wish.pull = Some(false),
            ("is" | "type", "pr" | "pull-request") => wish.pull = Some(true),
            ("is" | "state", "open") => wish.state = Some("open"),
            ("is" | "state", "closed") => wish.state = Some("closed"),
            ("label", value) => wish.labels.push(value.to_owned()),
            ("author", value) => wish.author = Some(value.to_owned()),
            ("assignee", value) => wish.assignee = Some(value.to_owned()),
            ("in" | "sort" | "archived", _) => {}
            (_, _) => return Err(format!("{term} is not supported by this forge")),
        }
    }
    Ok(wish)
}

/// Words, with what stands between quotes kept together.
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
    let wish = parse(text).map_err(|words| Failure::invalid(FieldError::custom("Search", "q", words)))?;
    let Some((owner, name)) = wish.repo.clone() else {
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
    let mut db = call.site.store.read().await?;
    let (total, items) = match filter(&mut db, call, &repo, wish).await? {
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
    wish: Wish,
) -> Result<Option<Filter>, Failure> {
    let mut filter = Filter { pull: wish.pull, state: wish.state, words: wish.words, ..Filter::default() };
    for name in &wish.labels {
        match labels::by_name(db, repo.row.id, name).await? {
            Some(label) => filter.labels.push(label.id),
            None => return Ok(None),
        }
    }
    for (login, place) in [(wish.author, &mut filter.creator), (wish.assignee, &mut filter.assignee)] {
        if let Some(login) = login {
            let Some(user) = call.site.people.by_login(&login) else { return Ok(None) };
            *place = Some(user.id);
        }
    }
    filter.sort = match call.query.get("sort") {
        Some("updated") => Sort::Updated,
        Some("comments") => Sort::Comments,
        Some(_) | None => Sort::Created,
    };
    filter.ascending = call.query.get("order") == Some("asc");
    Ok(Some(filter))
}

async fn matches(
    db: &mut SqliteConnection,
    call: &Call,
    repo: &Repo,
    filter: &Filter,
    page: Page,
) -> Result<(i64, Vec<Value>), Failure> {
    let until = call.site.clock.now().before(call.site.lags.lists);
    let total = issues::count(db, repo.row.id, filter, until).await?.min(MOST);
    let rows = issues::list(db, repo.row.id, filter, until, page.limit(), page.offset()).await?;
    let extras = wire::Extras::of(db, repo, &rows).await?;
    let shown = rows.iter().map(|row| {
        let issue = wire::issue(&call.site, repo, row, &extras);
        wire::extend(issue, json!({"score": 1.0}))
    });
    Ok((total, shown.collect()))
}

#[cfg(test)]
mod tests {
    use super::{Wish, parse};

    #[test]
    fn searches_are_read() {
        let wish = parse(r#"repo:o/r is:issue is:open label:"good first" Fix author:bob"#);
        let expect = Wish {
            repo: Some(("o".to_owned(), "r".to_owned())),
            pull: Some(false),
            state: Some("open"),
            labels: vec!["good first".to_owned()],
            author: Some("bob".to_owned()),
            assignee: None,
            words: vec!["fix".to_owned()],
        };
        assert_eq!(wish, Ok(expect));
        assert!(parse("involves:bob").is_err() && parse("repo:x").is_err());
    }
}
