//! The table of routes: a method and a pattern lead to a function.

use std::pin::Pin;

use hyper::Method;

use super::call::Call;
use super::failure::Failure;
use super::query::percent_decode;
use super::reply::Reply;

/// What a route does.
pub(crate) type Handler =
    for<'a> fn(&'a Call) -> Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>>;

/// Whom a route speaks to, which decides about headers, limits and the form of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// GitHub's API.
    Api,
    /// The forge's own: the request log, the fault plan, users, files as they are. Not counted, not faulted.
    Own,
    /// Git over HTTP: the body is streamed.
    Git,
    /// Pages for people: signed in by a session, not by a token.
    Page,
}

/// One route. `{name}` is one part of the path, `{name*}` one or more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) face: Face,
    pub(crate) run: Handler,
}

/// A GET of the API.
pub(crate) const fn get(pattern: &'static str, run: Handler) -> Route {
    Route { method: "GET", pattern, face: Face::Api, run }
}

/// A POST of the API.
pub(crate) const fn post(pattern: &'static str, run: Handler) -> Route {
    Route { method: "POST", pattern, face: Face::Api, run }
}

/// A PUT of the API.
pub(crate) const fn put(pattern: &'static str, run: Handler) -> Route {
    Route { method: "PUT", pattern, face: Face::Api, run }
}

/// A PATCH of the API.
pub(crate) const fn patch(pattern: &'static str, run: Handler) -> Route {
    Route { method: "PATCH", pattern, face: Face::Api, run }
}

/// A DELETE of the API.
pub(crate) const fn delete(pattern: &'static str, run: Handler) -> Route {
    Route { method: "DELETE", pattern, face: Face::Api, run }
}

/// The parts of a path that a pattern names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(Vec<(&'static str, String)>);

impl Params {
    /// A part by its name; the pattern says that it is there.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.as_str())
    }
}

/// The first route that fits. A HEAD is answered as a GET.
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
            // Takes everything but what the pieces behind it need.
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
    fn patterns_take_what_they_name() {
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
