//! The transport against a service that misbehaves.

use std::sync::Arc;
use std::time::Duration;

use pilot_link::http::{
    Auth, HeldBack, Http, HttpError, Method, Pace, Proxy, Request, Resend, Settings, Url,
};
use serde_json::{Value, json};

use crate::pace::{START, TestPace};
use crate::server::{Act, Server, answer, ok, refuse};

const TOKEN: &str = "s3cr3t-t0k3n-0f-0urs";

fn settings() -> Settings {
    Settings { max_body: 10_000, ..Settings::default() }
}

fn http(pace: &Arc<TestPace>) -> Http {
    Http::new(settings(), Arc::clone(pace) as Arc<dyn Pace>).expect("it is set up")
}

/// Patient, unless no more bytes will come.
fn http_for(act: &Act, pace: &Arc<TestPace>) -> Http {
    let idle =
        if matches!(act, Act::Stall(_)) { Duration::from_millis(100) } else { settings().idle_timeout };
    Http::new(Settings { idle_timeout: idle, ..settings() }, Arc::clone(pace) as Arc<dyn Pace>)
        .expect("it is set up")
}

fn get(server: &Server, path: &str) -> Request {
    Request::get(server.at(path)).with_auth(&Auth::bearer(TOKEN).expect("it is set up"))
}

fn post(server: &Server, class: Resend) -> Request {
    let by = Auth::bearer(TOKEN).expect("it is set up");
    Request::new(Method::POST, server.at("x"), class).with_auth(&by).with_json(&json!({"a": 1}))
}

/// A name for how it ended.
fn ending<T>(result: &Result<T, HttpError>) -> String {
    match result {
        Ok(_) => "fine".to_owned(),
        Err(HttpError::Unreachable { .. }) => "unreachable".to_owned(),
        Err(HttpError::Lost { .. }) => "lost".to_owned(),
        Err(HttpError::RateLimited { .. }) => "held".to_owned(),
        Err(HttpError::Redirected { .. }) => "moved".to_owned(),
        Err(HttpError::Refused { reply }) => reply.status.as_u16().to_string(),
        Err(HttpError::TooLarge { .. }) => "too large".to_owned(),
        Err(HttpError::Malformed { .. }) => "malformed".to_owned(),
    }
}

fn cut(bytes: &[u8], less: usize) -> Vec<u8> {
    bytes[..bytes.len() - less].to_vec()
}

/// Ways to answer badly: what a read makes of it when it lasts, and what an effect does.
fn misbehaviours() -> Vec<(&'static str, Act, &'static str, &'static str)> {
    let whole = || answer(200, &[("ETag", "\"1\"")], "{\"a\":1}");
    let long = "x".repeat(20_000);
    vec![
        ("slams the door", Act::Slam, "lost", "lost"),
        ("breaks at once", Act::Break(Vec::new()), "lost", "lost"),
        ("closes at once", Act::Say(Vec::new()), "lost", "lost"),
        ("breaks in the head", Act::Break(b"HTTP/1.1 200 OK\r\nContent".to_vec()), "lost", "lost"),
        ("breaks in the body", Act::Break(cut(&whole(), 3)), "lost", "lost"),
        ("closes in the body", Act::Say(cut(&whole(), 3)), "lost", "lost"),
        ("never answers", Act::Stall(Vec::new()), "lost", "lost"),
        ("stalls in the body", Act::Stall(cut(&whole(), 3)), "lost", "lost"),
        ("speaks something else", Act::Say(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()), "lost", "lost"),
        ("500", refuse(500, "oops"), "500", "500"),
        ("502 as a page", Act::Say(answer(502, &[], "<html><h1>Bad Gateway</h1>")), "502", "502"),
        ("503", refuse(503, "later"), "503", "503"),
        ("a huge refusal", Act::Say(answer(504, &[], &"<html>".repeat(100_000))), "504", "504"),
        ("a page", Act::Say(answer(200, &[], "<html>Please log in</html>")), "malformed", "fine"),
        ("cut JSON", Act::Say(answer(200, &[("ETag", "\"1\"")], "{\"a\":")), "malformed", "fine"),
        ("not modified, unasked", Act::Say(answer(304, &[], "")), "malformed", "malformed"),
        ("a length that is too small", lying_length("{\"a\":1}", 3), "malformed", "fine"),
        (
            "a length that is no number",
            Act::Say(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}".to_vec()),
            "lost",
            "lost",
        ),
        ("too much, announced", Act::Say(answer(200, &[], &long)), "too large", "too large"),
        (
            "too much, unannounced",
            Act::Say(format!("HTTP/1.1 200 OK\r\n\r\n{long}").into_bytes()),
            "too large",
            "too large",
        ),
        ("an absurd length", lying_length("{}", 1 << 40), "too large", "too large"),
        ("401", refuse(401, "Bad credentials"), "401", "401"),
        ("404", refuse(404, "Not Found"), "404", "404"),
        ("409", refuse(409, "Conflict"), "409", "409"),
        ("422", refuse(422, "Validation Failed"), "422", "422"),
        ("301", Act::Say(answer(301, &[("Location", "/elsewhere")], "")), "moved", "moved"),
        (
            "302 to another host",
            Act::Say(answer(302, &[("Location", "http://evil.example/")], "")),
            "moved",
            "moved",
        ),
        ("307 to nowhere", Act::Say(answer(307, &[], "")), "moved", "moved"),
        ("403 with a wait", Act::Say(answer(403, &[("Retry-After", "60")], "{}")), "held", "held"),
        ("403 in words", refuse(403, "You have exceeded a secondary rate limit"), "held", "held"),
        ("403 for rights", refuse(403, "Must have admin rights to Repository."), "403", "403"),
        ("429", refuse(429, "slow down"), "held", "held"),
    ]
}

fn lying_length(body: &str, length: usize) -> Act {
    Act::Say(
        format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
            .into_bytes(),
    )
}

/// Reads are repeated when that may help, effects only when nothing was sent; nothing ever tells the token.
#[tokio::test]
async fn what_is_repeated_depends_on_the_class() {
    for (name, act, read, effect) in misbehaviours() {
        let passes = ["lost", "malformed", "500", "502", "503", "504"].contains(&read);
        let server = Server::start(vec![act.clone(); 3]).await;
        let pace = TestPace::new();
        let result = http_for(&act, &pace).read::<Value>(&get(&server, "x")).await;
        assert_eq!(ending(&result), read, "a read when it {name}: {result:?}");
        assert_eq!(pace.waits().len(), if passes { 2 } else { 0 }, "a read when it {name}");
        assert_eq!(server.is_done(), passes, "a read when it {name}");
        check_silence(&result);

        let server = Server::start(vec![act.clone(); 3]).await;
        let pace = TestPace::new();
        let result = http_for(&act, &pace).send(&post(&server, Resend::Once)).await;
        assert_eq!(ending(&result), effect, "an effect when it {name}: {result:?}");
        assert!(pace.waits().is_empty(), "an effect is repeated when it {name}");
        assert!(server.seen().len() <= 1);
        let doubt = result.as_ref().err().is_some_and(HttpError::may_have_happened);
        assert_eq!(
            doubt,
            ["lost", "malformed", "too large", "500", "502", "503", "504"].contains(&effect),
            "{name}"
        );
        check_silence(&result);
    }
}

fn check_silence<T: std::fmt::Debug>(result: &Result<T, HttpError>) {
    let Err(error) = result else { return };
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn a_read_survives_two_bad_answers() {
    for (name, act, read, _) in misbehaviours() {
        if !["lost", "malformed", "500", "502", "503", "504"].contains(&read) {
            continue;
        }
        let server = Server::start([act.clone(), act.clone(), ok("{\"a\":1}")]).await;
        let pace = TestPace::new();
        let read = http_for(&act, &pace).read::<Value>(&get(&server, "x")).await.unwrap();
        assert_eq!(read.value, json!({"a": 1}), "{name}");
        assert_eq!(pace.waits(), [Duration::from_millis(250), Duration::from_millis(500)]);
    }
}

#[tokio::test]
async fn an_idempotent_effect_is_repeated_and_the_same_each_time() {
    let server = Server::start([refuse(502, "x"), Act::Break(Vec::new()), ok("{}")]).await;
    http(&TestPace::new()).send(&post(&server, Resend::Idempotent)).await.unwrap();
    let bodies: Vec<String> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, ["{\"a\":1}"; 3]);
}

#[tokio::test]
async fn nobody_at_home_is_told_from_a_lost_answer() {
    let server = Server::start([]).await;
    let url = server.at("x");
    drop(server);
    let pace = TestPace::new();
    let request = Request::new(Method::POST, url, Resend::Once);
    let error = http(&pace).send(&request).await.unwrap_err();
    assert!(matches!(error, HttpError::Unreachable { .. }) && !error.may_have_happened(), "{error:?}");
    assert!(error.to_string().contains("check the network"), "{error}");
    assert_eq!(pace.waits().len(), 2, "nothing was sent, so even an effect is tried again");
}

#[tokio::test]
async fn who_cannot_encrypt_gets_no_token() {
    let server = Server::start(vec![Act::Slam; 3]).await;
    let mut url = server.at("x");
    url.set_scheme("https").unwrap();
    let request = Request::new(Method::POST, url, Resend::Once).with_auth(&Auth::bearer(TOKEN).unwrap());
    let error = http(&TestPace::new()).send(&request).await.unwrap_err();
    assert!(matches!(error, HttpError::Unreachable { .. }), "nothing was sent: {error:?}");
    assert!(server.is_done(), "it was tried");
}

#[tokio::test]
async fn the_token_goes_with_the_request_and_comes_back_in_no_error() {
    let echo = format!("{{\"message\":\"bad token {TOKEN}\"}}");
    let server =
        Server::start([Act::Say(answer(401, &[], &echo)), Act::Say(answer(200, &[], &format!("<{TOKEN}")))])
            .await;
    let http = http(&TestPace::new());
    let error = http.send(&get(&server, "x")).await.unwrap_err();
    assert_eq!(server.seen()[0].header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert!(server.seen()[0].header("user-agent").is_some_and(|name| name.starts_with("pilot/")));
    assert!(error.to_string().ends_with("bad token [redacted]"), "{error}");
    server.then(vec![Act::Say(answer(200, &[], &format!("<{TOKEN}"))); 2]);
    check_silence(&http.read::<Value>(&get(&server, "x")).await);
}

#[tokio::test]
async fn an_unchanged_answer_costs_a_304() {
    let tagged = |etag: &str, body: &str| {
        let link = "<?page=2>; rel=\"next\"";
        Act::Say(answer(200, &[("ETag", etag), ("Link", link)], body))
    };
    let unchanged = || Act::Say(answer(304, &[("ETag", "W/\"1\"")], ""));
    let server =
        Server::start([tagged("W/\"1\"", "[1]"), unchanged(), tagged("\"2\"", "[2]"), unchanged()]).await;
    let http = http(&TestPace::new());
    for (value, is_unchanged) in [(1, false), (1, true), (2, false), (2, true)] {
        let read = http.read::<Vec<u64>>(&get(&server, "list")).await.unwrap();
        assert_eq!((read.value, read.unchanged), (vec![value], is_unchanged));
        assert_eq!(read.next, Some(server.at("list?page=2")), "a 304 need not repeat it");
    }
    let asked: Vec<_> =
        server.seen().iter().map(|seen| seen.header("if-none-match").map(str::to_owned)).collect();
    assert_eq!(asked, [None, Some("W/\"1\"".into()), Some("W/\"1\"".into()), Some("\"2\"".into())]);
    server.then([tagged("\"3\"", "[3]")]);
    let fresh = http.read::<Vec<u64>>(&get(&server, "list").uncached()).await.unwrap();
    assert_eq!((fresh.value, server.seen()[4].header("if-none-match")), (vec![3], None));
    server.then([ok("[]")]);
    http.with_own_budget().read::<Vec<u64>>(&get(&server, "list")).await.unwrap();
    assert_eq!(server.seen()[5].header("if-none-match"), None, "another identity has its own cache");
}

/// A cut answer with an ETag must not come back, whole in name, with every 304.
#[tokio::test]
async fn what_was_not_understood_is_never_kept() {
    let broken = || Act::Say(answer(200, &[("ETag", "\"1\"")], "[1,"));
    let server = Server::start([broken(), broken(), broken(), ok("[1]")]).await;
    let http = http(&TestPace::new());
    let first = http.read::<Vec<u64>>(&get(&server, "x")).await;
    assert_eq!(ending(&first), "malformed");
    assert_eq!(http.read::<Vec<u64>>(&get(&server, "x")).await.unwrap().value, [1]);
    assert!(server.seen().iter().all(|seen| seen.header("if-none-match").is_none()));
}

#[tokio::test]
async fn a_limit_holds_everything_until_its_time() {
    let spent =
        [("X-RateLimit-Limit", "5000"), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1794787241")];
    let server = Server::start([Act::Say(answer(200, &spent, "[]"))]).await;
    let pace = TestPace::new();
    let http = http(&pace);
    http.read::<Value>(&get(&server, "x")).await.unwrap();
    assert_eq!(http.rate().map(|rate| (rate.limit, rate.remaining)), Some((5000, 0)));
    for request in [get(&server, "x"), post(&server, Resend::Once)] {
        let error = http.send(&request).await.unwrap_err();
        let HttpError::RateLimited { until, limit: HeldBack::Exhausted } = error else { panic!("{error:?}") };
        assert_eq!(until, START.after(Duration::from_secs(100)));
        assert_eq!(
            error.to_string(),
            "send before 2026-11-16T00:00:41Z: the service's rate limit is used up"
        );
    }
    assert_eq!(server.seen().len(), 1, "held calls cost nothing");
    pace.pass(Duration::from_secs(100));
    server.then([Act::Say(answer(429, &[("Retry-After", "30")], "")), ok("[]")]);
    assert_eq!(ending(&http.send(&get(&server, "x")).await), "held");
    assert_eq!(ending(&http.send(&get(&server, "x")).await), "held");
    pace.pass(Duration::from_secs(30));
    assert_eq!(ending(&http.send(&get(&server, "x")).await), "fine");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_request_that_is_given_up_leaves_nothing_behind() {
    let server = Server::start([Act::Stall(Vec::new()), ok("[]")]).await;
    let patient = Settings {
        idle_timeout: Duration::from_secs(600),
        total_timeout: Duration::from_secs(600),
        max_concurrent: 1,
        ..settings()
    };
    let http = Http::new(patient, TestPace::new()).unwrap();
    let request = get(&server, "x");
    {
        let mut first = std::pin::pin!(http.send(&request));
        while server.seen().is_empty() {
            tokio::select! {
                biased;
                _ = &mut first => panic!("no answer came"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    assert_eq!(ending(&http.send(&request).await), "fine", "its place is free again");
}

#[tokio::test]
async fn only_the_end_of_a_long_text_is_kept() {
    let long: String = (0..100_000).map(|number| format!("{number}\n")).collect();
    let server =
        Server::start([Act::Say(answer(200, &[], &long)), Act::Say(answer(200, &[], "short"))]).await;
    let http = http(&TestPace::new());
    let tail = http.read_tail(&Request::get(server.at("log")), 12).await.unwrap();
    assert_eq!(tail.bytes, b"99998\n99999\n");
    assert_eq!((tail.skipped, tail.complete), (long.len() as u64 - 12, true));
    assert_eq!(http.read_tail(&Request::get(server.at("log")), 12).await.unwrap().bytes, b"short");
    assert!(server.seen()[0].header("authorization").is_none());
    server.then([refuse(404, "gone")]);
    assert_eq!(ending(&http.read_tail(&Request::get(server.at("log")), 12).await), "404");
}

#[tokio::test]
async fn a_proxy_is_used_when_it_is_named_and_only_then() {
    let proxy = Server::start([ok("[]")]).await;
    let named = Proxy { url: proxy.url().to_string(), bypass: "127.0.0.1".to_owned() };
    let http = Http::new(Settings { proxy: Some(named), ..settings() }, TestPace::new()).unwrap();
    let elsewhere = Request::get(Url::parse("http://forge.example/x").unwrap());
    assert_eq!(ending(&http.send(&elsewhere).await), "fine");
    assert_eq!(proxy.lines(), ["GET http://forge.example/x"]);
    let server = Server::start([ok("[]")]).await;
    assert_eq!(ending(&http.send(&Request::get(server.at("x"))).await), "fine", "not by the proxy");
    let bad = Proxy { url: "http://user:pa55w0rd@[".to_owned(), bypass: String::new() };
    let error = Http::new(Settings { proxy: Some(bad), ..settings() }, TestPace::new()).unwrap_err();
    assert!(error.to_string().contains("http://host:port") && !error.to_string().contains("pa55"), "{error}");
}
