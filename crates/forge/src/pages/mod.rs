//! The web pages: server-rendered HTML and plain forms, no scripts.
//!
//! A page calls the API with its user's permissions (`client`), so it can do nothing that the API refuses. All text goes
//! through one writer that escapes it (`html`); sessions and forged forms are `session`'s.

mod activity;
mod checks;
mod client;
mod diff;
mod files;
mod html;
mod icon;
mod issues;
mod markdown;
mod pulls;
mod releases;
mod repositories;
mod session;
mod sign_in;
mod thread;
mod time;
mod view;

pub(crate) use session::{Sessions, session_user};

use hyper::Method;

use crate::name::is_reserved;
use crate::server::{Call, Failure, Handler, Params, Reply, Route, RouteKind};

const fn page(pattern: &'static str, run: Handler) -> Route {
    Route::new("GET", RouteKind::Page, pattern, run)
}

const fn form(pattern: &'static str, run: Handler) -> Route {
    Route::new("POST", RouteKind::Page, pattern, run)
}

/// A handler whose failures become pages.
macro_rules! shown {
    ($run:path) => {
        |call| {
            Box::pin(
                async move { Ok($run(call).await.unwrap_or_else(|failure| view::failed(call, &failure))) },
            )
        }
    };
}

const ROUTES: &[Route] = &[
    page("/", shown!(repositories::list)),
    form("/", shown!(repositories::create)),
    page("/assets/forge.css", shown!(style)),
    page("/assets/forge.svg", shown!(picture)),
    page("/login", shown!(sign_in::show)),
    form("/login", shown!(sign_in::enter)),
    page("/login/{code}", shown!(sign_in::follow)),
    form("/logout", shown!(sign_in::leave)),
    page("/{owner}", shown!(repositories::owner)),
    page("/{owner}/{repo}", shown!(repositories::show)),
    page("/{owner}/{repo}/tree/{ref}", shown!(files::show)),
    page("/{owner}/{repo}/tree/{ref}/{path*}", shown!(files::show)),
    page("/{owner}/{repo}/blob/{ref}/{path*}", shown!(files::show)),
    page("/{owner}/{repo}/commit/{sha}", shown!(files::commit)),
    page("/{owner}/{repo}/issues", shown!(issues::list)),
    form("/{owner}/{repo}/issues", shown!(issues::create)),
    page("/{owner}/{repo}/issues/new", shown!(issues::new)),
    page("/{owner}/{repo}/issues/{number}", shown!(issues::show)),
    form("/{owner}/{repo}/issues/{number}/comments", shown!(issues::comment)),
    form("/{owner}/{repo}/issues/{number}/labels", shown!(issues::label_form)),
    page("/{owner}/{repo}/pulls", shown!(pulls::list)),
    page("/{owner}/{repo}/pull/{number}", shown!(pulls::show)),
    page("/{owner}/{repo}/pull/{number}/files", shown!(pulls::files)),
    form("/{owner}/{repo}/pull/{number}/reviews", shown!(pulls::review)),
    form("/{owner}/{repo}/pull/{number}/merge", shown!(pulls::merge)),
    page("/{owner}/{repo}/checks/{id}", shown!(checks::show)),
    form("/{owner}/{repo}/checks/{id}/rerun", shown!(checks::rerun)),
    page("/{owner}/{repo}/actions/runs/{run}", shown!(checks::run)),
    page("/{owner}/{repo}/actions/runs/{run}/job/{id}", shown!(checks::show)),
    page("/{owner}/{repo}/releases", shown!(releases::list)),
    form("/{owner}/{repo}/releases", shown!(releases::create)),
    page("/{owner}/{repo}/releases/tag/{tag*}", shown!(releases::show)),
    page("/{owner}/{repo}/activity", shown!(activity::show)),
];

/// The page of a path. Paths that start like the API's have none, so that a wrong one gets GitHub's 404.
pub(crate) fn find(method: &Method, path: &str) -> Option<(&'static Route, Params)> {
    let (route, params) = crate::server::find(&[ROUTES], method, path)?;
    let fixed = !route.pattern.starts_with("/{owner}");
    (fixed || !is_reserved(params.get("owner"))).then_some((route, params))
}

async fn style(_: &Call) -> Result<Reply, Failure> {
    Ok(view::style())
}

async fn picture(_: &Call) -> Result<Reply, Failure> {
    Ok(view::picture())
}
