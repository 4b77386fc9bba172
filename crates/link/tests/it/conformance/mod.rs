//! What every adapter must do: each call of the ports under each condition, against the adapter's own server.
//!
//! The calls, the expected answers and the meaning of each fault are the same for all; an adapter brings its server's replies.

mod calls;
mod github;
mod toy;

use std::time::Duration;

use pilot_core::config::{Adapters, ProjectForge, ProjectTracker};
use pilot_core::id::TaskKey;
use pilot_core::observed::{Failure, FailureKind};
use pilot_core::port::{Answer, Call};
use pilot_link::connect::Connector;
use pilot_link::forge::Forge;
use pilot_link::http::Settings;
use pilot_link::tracker::Tracker;

use self::calls::{Effect, Row, all_calls};
use crate::pace::{START, TestPace};
use crate::server::{Act, Server, answer, ok};

/// An adapter under test, and how its server replies.
trait Adapter {
    const NAME: &'static str;

    fn key(number: u64) -> TaskKey;

    /// What a user configures for a service at this address, with [`SECRET`] as its credential.
    fn configure(url: &str) -> (Adapters, ProjectTracker, ProjectForge);

    /// The server's replies to what the daemon asks about a repository first.
    fn facts() -> Vec<Act>;

    /// The server's replies to a call that works, one for each request.
    fn works(call: &Call) -> Vec<Act>;

    /// The same where what the call is about does not exist.
    fn absent(call: &Call) -> Vec<Act>;

    /// A reply to a request that the credentials do not allow.
    fn refused() -> Act;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Works,
    Absent,
    Refused,
    Limited,
    ReplyLost,
    Garbage,
    Slow,
}

impl Condition {
    const ALL: [Condition; 7] = [
        Condition::Works,
        Condition::Absent,
        Condition::Refused,
        Condition::Limited,
        Condition::ReplyLost,
        Condition::Garbage,
        Condition::Slow,
    ];

    /// What the server does.
    fn script<A: Adapter>(self, row: &Row) -> Vec<Act> {
        let works = A::works(&row.call);
        let limited = Act::Say(answer(429, &[("Retry-After", "60")], "{\"message\":\"slow down\"}"));
        match self {
            Condition::Works => works,
            Condition::Absent => A::absent(&row.call),
            Condition::Refused => vec![A::refused()],
            Condition::Limited => vec![limited],
            // The last request of an effect is the effect itself.
            Condition::ReplyLost => broken_at(works.len() - 1, &works, &Act::Break(Vec::new())),
            Condition::Slow => broken_at(works.len() - 1, &works, &Act::Stall(Vec::new())),
            // A log is plain text, so that only its first request has a form.
            Condition::Garbage if row.effect == Effect::None => {
                broken_at(0, &works, &ok("<html>log in</html>"))
            }
            Condition::Garbage => broken_at(works.len() - 1, &works, &ok("<html>log in</html>")),
        }
    }

    /// What the call must come to.
    fn expected(self, row: &Row) -> Result<Answer, FailureKind> {
        let is_effect = row.effect != Effect::None;
        match self {
            Condition::Works => Ok(row.answer.clone()),
            Condition::Absent => row.absent.clone().ok_or(FailureKind::NotFound),
            Condition::Refused => Err(FailureKind::Forbidden),
            Condition::Limited => Err(FailureKind::RateLimited),
            Condition::ReplyLost | Condition::Slow if is_effect => Err(FailureKind::Lost),
            Condition::ReplyLost | Condition::Slow => Err(FailureKind::NotSent),
            Condition::Garbage if is_effect => Err(FailureKind::Lost),
            Condition::Garbage => Err(FailureKind::Server),
        }
    }
}

/// The replies up to one request, which fails as often as it may be sent.
fn broken_at(request: usize, works: &[Act], fault: &Act) -> Vec<Act> {
    works.iter().take(request).cloned().chain(std::iter::repeat_n(fault.clone(), 3)).collect()
}

async fn check_adapter<A: Adapter>() {
    for row in all_calls(A::key) {
        for condition in Condition::ALL {
            let name = format!("{}: {:?}: {condition:?}", A::NAME, row.call);
            check_call::<A>(&row, condition, &name).await;
        }
    }
}

async fn check_call<A: Adapter>(row: &Row, condition: Condition, name: &str) {
    let server = Server::start([]).await;
    let idle = if condition == Condition::Slow { Duration::from_millis(60) } else { Duration::from_secs(30) };
    let settings = Settings { idle_timeout: idle, ..Settings::default() };
    let (adapters, tracker, forge) = A::configure(server.url().as_str().trim_end_matches('/'));
    let connector = Connector::new(&adapters, None, settings, TestPace::new());
    let tracker = Tracker::connect(&tracker, &connector).expect("a tracker");
    let forge = Forge::connect(&forge, &connector).expect("a forge");
    server.then(A::facts());
    assert_eq!(forge.facts().await.expect("facts").own_login, "pilot-bot", "{name}");
    let (before, script) = (server.seen().len(), condition.script::<A>(row));
    server.then(script.clone());
    let result = call(&tracker, &forge, &row.call).await;
    let kinds = result.as_ref().map_err(|failure: &Failure| failure.kind);
    let expected = condition.expected(row);
    assert_eq!(kinds.cloned(), expected, "{name}: {result:?}, {:?}", server.lines());
    let requests = &server.seen()[before..];
    if condition == Condition::Works {
        assert!(server.is_done(), "{name}: {:?}", server.lines());
        for text in &row.sends {
            let last = &requests.last().expect("a request").body;
            assert!(last.contains(text), "{name}: {last}");
        }
    }
    if let Err(failure) = &result {
        let limit = (condition == Condition::Limited).then(|| START.after(Duration::from_secs(60)));
        assert_eq!(failure.retry_at, limit, "{name}");
        assert!(!failure.detail.contains(SECRET), "{name}: {failure}");
    }
    if condition == Condition::Limited {
        assert_eq!(requests.len(), 1, "{name}");
    }
    if row.effect == Effect::Once && condition == Condition::ReplyLost {
        let effect = requests.iter().filter(|seen| !seen.line().starts_with("GET ")).count();
        assert_eq!(effect, 1, "{name}: it may have arrived, so it is not sent again");
    }
}

/// The credential of every adapter here; no failure may show it.
const SECRET: &str = "s3cr3t-t0k3n-0f-0urs";

async fn call(tracker: &Tracker, forge: &Forge, call: &Call) -> Result<Answer, Failure> {
    match call {
        Call::Tracker(call) => tracker.call(call).await.map(Answer::Tracker),
        Call::Forge(call) => forge.call(call).await.map(Answer::Forge),
        Call::Git(call) => panic!("{call:?} is answered by git"),
    }
}

#[tokio::test]
async fn github_answers_every_call_under_every_condition() {
    check_adapter::<github::GithubAdapter>().await;
}

#[tokio::test]
async fn the_toy_answers_every_call_under_every_condition() {
    check_adapter::<toy::ToyAdapter>().await;
}
