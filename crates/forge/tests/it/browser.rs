//! A browser without scripts: cookies, forms, redirects.

use hyper::Method;

use crate::client::{Answer, Client};
use crate::world::World;

#[derive(Debug)]
pub(crate) struct Browser {
    pub(crate) client: Client,
    pub(crate) cookie: String,
}

impl Browser {
    /// A browser without a session.
    pub(crate) fn new(world: &World) -> Browser {
        Browser { client: world.me().anonymous(), cookie: String::new() }
    }

    /// A browser signed in with a token.
    pub(crate) async fn signed_in(world: &World, token: &str) -> Browser {
        let mut browser = Browser::new(world);
        let answer = browser.submit("/login", "/login", &[("token", token)]).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        browser
    }

    /// Requests a page without following redirects.
    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        let cookie = self.cookie.clone();
        let answer =
            self.client.ask(Method::GET, path, &[("cookie", &cookie)], None).await.expect("an answer");
        self.keep_cookie(&answer);
        answer
    }

    /// The text of a page, which must exist.
    pub(crate) async fn page(&mut self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text()
    }

    /// Opens a page and sends a form from it.
    pub(crate) async fn submit(&mut self, page: &str, action: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = csrf(&self.page(page).await);
        let mut all = vec![("csrf", csrf.as_str())];
        all.extend(fields);
        let answer = self.post(action, &[], &all).await;
        self.keep_cookie(&answer);
        answer
    }

    /// Sends a form without opening its page.
    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Answer {
        let form = "application/x-www-form-urlencoded";
        let mut all = vec![("cookie", self.cookie.as_str()), ("content-type", form)];
        all.retain(|(name, _)| !headers.iter().any(|(other, _)| other == name));
        all.extend(headers);
        let pairs: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let body = pairs.join("&").into_bytes();
        self.client.ask(Method::POST, path, &all, Some(body)).await.expect("an answer")
    }

    /// Sends a form and follows the redirect.
    pub(crate) async fn submit_and_follow(
        &mut self,
        page: &str,
        action: &str,
        fields: &[(&str, &str)],
    ) -> String {
        let answer = self.submit(page, action, fields).await;
        assert_eq!(answer.status, 303, "{action}: {}", answer.text());
        let to = answer.header("location").to_owned();
        self.page(&to).await
    }

    fn keep_cookie(&mut self, answer: &Answer) {
        let set = answer.header("set-cookie");
        if let Some((cookie, _)) = set.split_once(';') {
            cookie.clone_into(&mut self.cookie);
        }
    }
}

/// The CSRF token of the first form of a page.
pub(crate) fn csrf(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").expect("a form");
    rest.split_once('"').expect("its end").0.to_owned()
}

/// Encodes a form value.
pub(crate) fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
