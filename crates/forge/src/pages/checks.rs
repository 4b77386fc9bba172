//! Check runs with their logs.

use hyper::Method;
use serde_json::{Value, json};

use super::client::{self, items, number, text};
use super::html::outside;
use super::icon::Icon;
use super::markdown;
use super::pulls::verdict;
use super::repositories::signed_in_form;
use super::view::{RepoPage, Tab, View, redirect};
use crate::ci;
use crate::server::{Call, Failure, Reply};

/// How much of the end of a log is shown; the API has all of it.
const MOST_LOG: usize = 512 << 10;

pub(super) async fn show(call: &Call) -> Result<Reply, Failure> {
    let mut view = View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let id = call.number("id")?;
    let check = client::get(call, &format!("{}/check-runs/{id}", repo.api)).await?;
    let log = ci::read_log(&call.ctx, id).await?;
    let icon = Icon::of_check(text(&check, "/status"), text(&check, "/conclusion"));
    if icon == Icon::Waiting {
        view.refresh_after(3);
    }
    view.begin_repo(text(&check, "/name"), &repo, Tab::Pulls);
    heading(&mut view, &repo, &check, icon);
    output(&mut view, &check, log.is_none());
    match log {
        Some(bytes) => print(&mut view, &bytes),
        None if icon == Icon::Waiting => {
            view.html.put("<p class=\"card pad quiet\">Still running. This page reloads by itself.</p>", &[]);
        }
        None => view.html.put("<p class=\"card pad quiet\">This check has no log.</p>", &[]),
    }
    if icon != Icon::Waiting && repo.may("push") && text(&check, "/app/slug") == crate::wire::CI_APP {
        view.form(&format!("{}/checks/{id}/rerun", repo.base), "buttons");
        view.html.put("<button class=\"button\">Run again</button></form>", &[]);
    }
    Ok(view.end())
}

fn heading(view: &mut View<'_>, repo: &RepoPage, check: &Value, icon: Icon) {
    let sha = text(check, "/head_sha");
    view.html.put(
        "<div class=\"heading\"><h1>{}</h1><p><span class=\"state {}\">",
        &[&text(check, "/name"), &icon.class()],
    );
    icon.draw(&mut view.html);
    view.html.put(
        "{}</span> <span class=\"quiet\">on <a href=\"{}/commit/{}\"><code>{}</code></a>",
        &[&verdict(check), &repo.base, &sha, &sha.get(..7).unwrap_or(sha)],
    );
    for pull in items(check, "/pull_requests") {
        let number = number(pull, "/number");
        view.html.put(" for <a href=\"{}/pull/{}\">#{}</a>", &[&repo.base, &number, &number]);
    }
    view.html.put("</span></p></div>", &[]);
}

/// The title and summary of a check run.
fn output(view: &mut View<'_>, check: &Value, alone: bool) {
    let (title, summary) = (text(check, "/output/title"), text(check, "/output/summary"));
    // The forge's own CI repeats the end of the log here.
    if !alone || (title.is_empty() && summary.is_empty()) {
        return;
    }
    view.html.put("<article class=\"card pad prose\"><h3>{}</h3>", &[&title]);
    if !summary.is_empty() {
        markdown::write(&mut view.html, summary);
    }
    if let Some(url) = outside(text(check, "/details_url")).filter(|url| !url.starts_with(&view.call.ctx.url))
    {
        view.html.put("<p><a href=\"{}\" rel=\"noopener noreferrer nofollow\">Details</a></p>", &[&url]);
    }
    view.html.put("</article>", &[]);
}

fn print(view: &mut View<'_>, bytes: &[u8]) {
    let tail = bytes.len().saturating_sub(MOST_LOG);
    let words = String::from_utf8_lossy(&bytes[tail..]);
    let words: String = without_color_codes(&words);
    view.html.put("<section class=\"card\"><h2 class=\"head\">Log</h2>", &[]);
    if tail > 0 {
        view.html.put("<p class=\"quiet pad\">Only the end is shown here.</p>", &[]);
    }
    view.html.put("<pre class=\"log\">{}</pre></section>", &[&words]);
}

/// Removes the escape sequences of terminal colors.
fn without_color_codes(text: &str) -> String {
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

pub(super) async fn rerun(call: &Call) -> Result<Reply, Failure> {
    signed_in_form(call)?;
    let repo = RepoPage::of(call).await?;
    let id = call.number("id")?;
    let check = client::get(call, &format!("{}/check-runs/{id}", repo.api)).await?;
    client::send(call, Method::POST, &format!("{}/check-runs/{id}/rerequest", repo.api), &json!({})).await?;
    Ok(redirect(&match items(&check, "/pull_requests").first() {
        Some(pull) => format!("{}/pull/{}", repo.base, number(pull, "/number")),
        None => format!("{}/activity", repo.base),
    }))
}

/// Redirects a run to its newest check run.
pub(super) async fn run(call: &Call) -> Result<Reply, Failure> {
    View::open(call)?;
    let repo = RepoPage::of(call).await?;
    let jobs = client::get(call, &format!("{}/actions/runs/{}/jobs", repo.api, call.number("run")?)).await?;
    let newest = items(&jobs, "/jobs").first().ok_or_else(Failure::not_found)?;
    Ok(redirect(&format!("{}/checks/{}", repo.base, number(newest, "/id"))))
}

#[cfg(test)]
mod tests {
    use super::without_color_codes;

    #[test]
    fn color_codes_are_removed() {
        assert_eq!(without_color_codes("a\u{1b}[1;31mred\u{1b}[0m b"), "ared b");
        assert_eq!(without_color_codes("\u{1b}"), "");
    }
}
