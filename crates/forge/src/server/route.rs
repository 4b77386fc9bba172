//! The routing table: a method and a pattern select a handler.

use std::pin::Pin;

use hyper::Method;

use super::call::Call;
use super::failure::Failure;
use super::query::percent_decode;
use super::reply::Reply;

pub(crate) type Handler =
    for<'a> fn(&'a Call) -> Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>>;

/// The kind of a route decides about authentication, headers, rate limits and faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteKind {
    Api,
    /// The forge's own routes: request log, fault plan, users, raw files. Without rate limit and faults.
    Forge,
    /// Git over HTTP; the body is streamed.
    Git,
    /// Web pages, authenticated by session instead of token.
    Page,
}

/// A route. In the pattern `{name}` matches one segment of the path, `{name*}` one or more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) kind: RouteKind,
    pub(crate) run: Handler,
}

impl Route {
    pub(crate) const fn new(
        method: &'static str,
        kind: RouteKind,
        pattern: &'static str,
        run: Handler,
    ) -> Route {
        Route { method, pattern, kind, run }
    }
}

pub(crate) const fn get(pattern: &'static str, run: Handler) -> Route {
    Route::new("GET", RouteKind::Api, pattern, run)
}

pub(crate) const fn post(pattern: &'static str, run: Handler) -> Route {
    Route::new("POST", RouteKind::Api, pattern, run)
}

pub(crate) const fn put(pattern: &'static str, run: Handler) -> Route {
    Route::new("PUT", RouteKind::Api, pattern, run)
}

pub(crate) const fn patch(pattern: &'static str, run: Handler) -> Route {
    Route::new("PATCH", RouteKind::Api, pattern, run)
}

pub(crate) const fn delete(pattern: &'static str, run: Handler) -> Route {
    Route::new("DELETE", RouteKind::Api, pattern, run)
}

/// The values of the pattern's names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(Vec<(&'static str, String)>);

impl Params {
    /// The value of a name, which must be in the pattern.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.as_str())
    }
}

/// The first matching route; HEAD matches GET.
pub(crate) fn find(
    table: &[&'static [Route]],
    method: &Method,
    path: &str,
) -> Option<(&'static Route, Params)> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let parts: Vec<&str> = path.trim_start_matches('/').trim_end_matches('/').split('/').collect();
    table
        .iter()
        .flat_map(|routes| routes.iter())
        .filter(|route| route.method == method)
        .find_map(|route| Some((route, matched(route.pattern, &parts)?)))
}

fn matched(pattern: &'static str, parts: &[&str]) -> Option<Params> {
    let mut params = Vec::new();
    let mut at = 0;
    let mut rest = pattern.trim_start_matches('/').split('/');
    while let Some(piece) = rest.next() {
        let name = piece.strip_prefix('{').and_then(|piece| piece.strip_suffix('}'));
        let taken = match name {
            // Takes all segments except those that the rest of the pattern needs.
            Some(name) if name.ends_with('*') => parts.len().checked_sub(at + rest.clone().count())?,
            Some(_) | None => 1,
        };
        let here = parts.get(at..at + taken).filter(|here| !here.is_empty())?;
        match name {
            Some(name) => {
                let value = percent_decode(&here.join("/"));
                params.push((name.trim_end_matches('*'), value));
            }
            None if here[0] == piece => {}
            None => return None,
        }
        at += taken;
    }
    (at == parts.len()).then_some(Params(params))
}

#[cfg(test)]
mod tests {
    use super::matched;

    #[test]
    fn patterns_match_segments() {
        let check = |pattern, path: &str, expect: Option<&[(&str, &str)]>| {
            let parts: Vec<&str> = path.split('/').collect();
            let found = matched(pattern, &parts).map(|params| params.0);
            let expect = expect.map(|pairs| {
                pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect::<Vec<_>>()
            });
            assert_eq!(found, expect, "{pattern} {path}");
        };
        check("/repos/{owner}/{repo}", "repos/a/b", Some(&[("owner", "a"), ("repo", "b")]));
        check("/repos/{owner}/{repo}", "repos/a", None);
        check("/repos/{owner}/{repo}", "repos/a/b/c", None);
        check("/x/{ref*}", "x/heads/a%2Fb/c", Some(&[("ref", "heads/a/b/c")]));
        check("/x/{branch*}/protection", "x/a/b/protection", Some(&[("branch", "a/b")]));
        check("/x/{branch*}/protection", "x/protection", None);
    }
}
