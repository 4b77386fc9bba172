//! Checks with their logs.

use hyper::Method;
use serde_json::{Value, json};

use super::ask::{self, items, number, text};
use super::html::outside;
use super::icon::Sign;
use super::markdown;
use super::pulls::verdict;
use super::repositories::signed_in_form;
use super::view::{Place, Tab, View, see};
use crate::ci;
use crate::server::{Call, Failure, Reply};

/// The end of a log that is shown; all of it is in the API.
const MOST_LOG: usize = 512 << 10;

/// A check and what it printed.
pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let place = Place::of(call).await?;
    let id = call.number("id")?;
    let check = ask::get(call, &format!("{}/check-runs/{id}", place.api)).await?;
    let log = ci::read_log(&call.site, id).await?;
    let sign = Sign::of_check(text(&check, "/status"), text(&check, "/conclusion"));
    if sign == Sign::Waiting {
        view.again_in(3);
    }
    view.begin_in(text(&check, "/name"), &place, Tab::Pulls);
    heading(&mut view, &place, &check, sign);
    output(&mut view, &check, log.is_none());
    match log {
        Some(bytes) => print(&mut view, &bytes),
        None if sign == Sign::Waiting => {
            view.html
                .put("<p class=\"card pad quiet\">Still running. This page looks again by itself.</p>", &[]);
        }
        None => view.html.put("<p class=\"card pad quiet\">There is no log.</p>", &[]),
    }
    if sign != Sign::Waiting && place.may("push") && text(&check, "/app/slug") == crate::wire::CI_APP {
        view.form(&format!("{}/checks/{id}/rerun", place.base), "buttons");
        view.html.put("<button class=\"button\">Run again</button></form>", &[]);
    }
    Ok(view.end())
}

fn heading(view: &mut View<'_>, place: &Place, check: &Value, sign: Sign) {
    let sha = text(check, "/head_sha");
    view.html.put(
        "<div class=\"heading\"><h1>{}</h1><p><span class=\"state {}\">",
        &[&text(check, "/name"), &sign.class()],
    );
    sign.draw(&mut view.html);
    view.html.put(
        "{}</span> <span class=\"quiet\">on <a href=\"{}/commit/{}\"><code>{}</code></a>",
        &[&verdict(check), &place.base, &sha, &sha.get(..7).unwrap_or(sha)],
    );
    for pull in items(check, "/pull_requests") {
        let number = number(pull, "/number");
        view.html.put(" for <a href=\"{}/pull/{}\">#{}</a>", &[&place.base, &number, &number]);
    }
    view.html.put("</span></p></div>", &[]);
}

/// What the check says about itself.
fn output(view: &mut View<'_>, check: &Value, alone: bool) {
    let (title, summary) = (text(check, "/output/title"), text(check, "/output/summary"));
    // Our own runs repeat the end of their log here.
    if !alone || (title.is_empty() && summary.is_empty()) {
        return;
    }
    view.html.put("<article class=\"card pad prose\"><h3>{}</h3>", &[&title]);
    if !summary.is_empty() {
        markdown::write(&mut view.html, summary);
    }
    if let Some(url) =
        outside(text(check, "/details_url")).filter(|url| !url.starts_with(&view.call.site.url))
    {
        view.html.put("<p><a href=\"{}\" rel=\"noopener noreferrer nofollow\">Details</a></p>", &[&url]);
    }
    view.html.put("</article>", &[]);
}

fn print(view: &mut View<'_>, bytes: &[u8]) {
    let tail = bytes.len().saturating_sub(MOST_LOG);
    let words = String::from_utf8_lossy(&bytes[tail..]);
    let words: String = without_colours(&words);
    view.html.put("<section class=\"card\"><h2 class=\"head\">Log</h2>", &[]);
    if tail > 0 {
        view.html.put("<p class=\"quiet pad\">Only the end is shown here.</p>", &[]);
    }
    view.html.put("<pre class=\"log\">{}</pre></section>", &[&words]);
}

/// Text without the signs by which terminals are told colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.strip_prefix('[').and_then(|part| {
            let end = part.find(|c: char| c.is_ascii_alphabetic())?;
            part.get(end + 1..)
        });
        plain.push_str(rest.unwrap_or(part));
    }
    plain
}

/// The form that runs it again.
pub(super) async fn rerun(call: &Call) -> Result<Reply, Failure> {
    signed_in_form(call)?;
    let place = Place::of(call).await?;
    let id = call.number("id")?;
    let check = ask::get(call, &format!("{}/check-runs/{id}", place.api)).await?;
    ask::ask(call, Method::POST, &format!("{}/check-runs/{id}/rerequest", place.api), &json!({})).await?;
    Ok(see(&match items(&check, "/pull_requests").first() {
        Some(pull) => format!("{}/pull/{}", place.base, number(pull, "/number")),
        None => format!("{}/activity", place.base),
    }))
}

/// A run is shown by its newest check.
pub(super) async fn run(call: &Call) -> Result<Reply, Failure> {
    View::open(call)?;
    let place = Place::of(call).await?;
    let jobs = ask::get(call, &format!("{}/actions/runs/{}/jobs", place.api, call.number("run")?)).await?;
    let newest = items(&jobs, "/jobs").first().ok_or_else(Failure::not_found)?;
    Ok(see(&format!("{}/checks/{}", place.base, number(newest, "/id"))))
}

#[cfg(test)]
mod tests {
    use super::without_colours;

    #[test]
    fn colours_are_for_terminals() {
        assert_eq!(without_colours("a\u{1b}[1;31mred\u{1b}[0m b"), "ared b");
        assert_eq!(without_colours("\u{1b}"), "");
    }
}
