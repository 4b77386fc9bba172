//! Issues.

use serde::Deserialize;
use serde_json::json;

use super::user::ActorWire;
use super::{Actor, GithubError, Listing, Number, Repo, Why};
use crate::http::{Class, Method, Moment};

/// GitHub takes 256 characters in a title.
const LONGEST_TITLE: usize = 256;

/// An issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Its number.
    pub number: Number,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Whether it is open.
    pub state: IssueState,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// Who opened it.
    pub author: Actor,
    /// When it was opened.
    pub created: Moment,
    /// When anything about it changed last.
    pub updated: Moment,
    /// The address for people.
    pub html_url: String,
    /// How many comments it has.
    pub comments: u64,
    /// Whether it is really a pull request.
    pub is_pull: bool,
}

/// Whether an issue is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueState {
    /// It is.
    Open,
    /// It is closed.
    Closed {
        /// Closed as not planned, or as a duplicate, rather than done.
        unplanned: bool,
    },
}

/// Which states to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFilter {
    /// Open ones.
    Open,
    /// Both.
    All,
}

impl StateFilter {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::All => "all",
        }
    }
}

/// Which issues to list.
#[derive(Clone, Copy, Debug)]
pub struct IssueQuery<'a> {
    /// With all of these labels.
    pub labels: &'a [&'a str],
    /// In these states.
    pub state: StateFilter,
}

/// An issue to be opened.
#[derive(Clone, Copy, Debug)]
pub struct NewIssue<'a> {
    /// Its title.
    pub title: &'a str,
    /// Its text.
    pub body: &'a str,
    /// Its labels.
    pub labels: &'a [&'a str],
}

#[derive(Deserialize)]
struct Wire {
    number: u64,
    title: String,
    body: Option<String>,
    state: String,
    state_reason: Option<String>,
    #[serde(default)]
    labels: Vec<LabelWire>,
    user: Option<ActorWire>,
    created_at: String,
    updated_at: String,
    html_url: String,
    comments: u64,
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LabelWire {
    Name(String),
    Full { name: Option<String> },
}

impl Repo {
    /// The issues, oldest first, without pull requests. It leaves the last of the hour's requests to others.
    pub async fn issues(&self, query: &IssueQuery<'_>) -> Result<Listing<Issue>, GithubError> {
        let what = self.doing("list the issues");
        let labels = query.labels.join(",");
        let mut pairs = vec![("state", query.state.word()), ("sort", "created"), ("direction", "asc")];
        if !labels.is_empty() {
            pairs.push(("labels", &labels));
        }
        let request = self.list(&what, &["issues"], &pairs)?.poll();
        let list = self.github.pages::<Vec<Wire>, _>(&what, request, |wire| wire.number).await?;
        let items = list.items.into_iter().filter(|wire| wire.pull_request.is_none());
        let items = items.map(|wire| wire.issue(&what)).collect::<Result<_, _>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }

    /// One issue, or the pull request of that number.
    pub async fn issue(&self, number: Number) -> Result<Issue, GithubError> {
        let what = self.doing(&format!("read issue {number}"));
        let wire: Wire = self.get(&what, &["issues", &number.0.to_string()]).await?;
        wire.issue(&what)
    }

    /// The same; none when there is no such issue any more. That is believed only where the repository itself is seen.
    pub async fn find_issue(&self, number: Number) -> Result<Option<Issue>, GithubError> {
        let found = self.issue(number).await;
        self.absent(found).await
    }

    /// Opens an issue: one call, and what became of it. Whoever repeats it looks first.
    pub async fn add_issue(&self, new: &NewIssue<'_>) -> Result<Issue, GithubError> {
        let what = self.doing(&format!("open the issue {:?}", new.title));
        let title: String = new.title.chars().take(LONGEST_TITLE).collect();
        let body = json!({"title": title, "body": new.body, "labels": new.labels});
        let request = self.effect(&what, Method::POST, &["issues"], Class::Once, &body)?;
        self.github.write::<Wire>(&what, request).await?.issue(&what)
    }

    /// Closes an issue as done, or as not planned; closed already is as good.
    pub async fn close_issue(&self, number: Number, unplanned: bool) -> Result<Issue, GithubError> {
        let what = self.doing(&format!("close issue {number}"));
        let path = ["issues", &number.0.to_string()];
        let reason = if unplanned { "not_planned" } else { "completed" };
        let body = json!({"state": "closed", "state_reason": reason});
        let request = self.effect(&what, Method::PATCH, &path, Class::Idempotent, &body)?;
        self.github.write::<Wire>(&what, request).await?.issue(&what)
    }
}

impl Wire {
    fn issue(self, what: &str) -> Result<Issue, GithubError> {
        let unplanned = matches!(self.state_reason.as_deref(), Some("not_planned" | "duplicate"));
        let name = |label: LabelWire| match label {
            LabelWire::Name(name) => Some(name),
            LabelWire::Full { name } => name,
        };
        Ok(Issue {
            number: Number(self.number),
            title: self.title,
            body: self.body.unwrap_or_default(),
            state: if self.state == "open" { IssueState::Open } else { IssueState::Closed { unplanned } },
            labels: self.labels.into_iter().filter_map(name).collect(),
            author: self.user.into(),
            created: moment(what, &self.created_at)?,
            updated: moment(what, &self.updated_at)?,
            html_url: self.html_url,
            comments: self.comments,
            is_pull: self.pull_request.is_some(),
        })
    }
}

/// A time in an answer.
pub(super) fn moment(what: &str, text: &str) -> Result<Moment, GithubError> {
    Moment::parse_rfc3339(text).ok_or_else(|| {
        let detail = format!("{:?} is no time", text.chars().take(50).collect::<String>());
        GithubError::new(what, Why::Malformed { detail })
    })
}
