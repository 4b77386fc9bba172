//! The ways to authenticate a request.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pilot_core::redact::Secrets;
use pilot_core::time::Timestamp;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::digest;
use super::jwt::SigningKey;

/// How a request authenticates. Its secret never appears in Debug output, errors or logs.
#[derive(Clone, Debug)]
pub enum Auth {
    Bearer(SecretText),
    Basic {
        user: String,
        password: SecretText,
    },
    /// A header of any name, such as `PRIVATE-TOKEN` or `X-API-Key`; also `Authorization` with a bare key.
    Header {
        name: HeaderName,
        value: SecretText,
    },
    /// A token as the first segment of the path, behind a prefix: `/botTOKEN/…`.
    PathToken {
        prefix: &'static str,
        token: SecretText,
    },
    /// `Authorization: Bearer JWT`, signed again for each attempt.
    AppJwt(Arc<AppJwt>),
}

/// A non-empty secret of visible ASCII characters and blanks, so that it fits into a header.
#[derive(Clone)]
pub struct SecretText(String);

impl SecretText {
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        (fits && !text.trim().is_empty()).then(|| Self(text.to_owned()))
    }

    /// The secret itself, for git's password prompt.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// The key of an app that signs short-lived JSON web tokens.
#[derive(Debug)]
pub struct AppJwt {
    issuer: String,
    key: SigningKey,
}

impl AppJwt {
    /// An app by its id and its private key in PEM; the error names what is wrong with the key.
    pub fn parse(issuer: &str, pem: &str) -> Result<Self, &'static str> {
        Ok(Self { issuer: issuer.to_owned(), key: SigningKey::from_pem(pem)? })
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }
}

impl Auth {
    pub fn bearer(token: &str) -> Option<Self> {
        SecretText::parse(token).map(Self::Bearer)
    }

    /// What must be redacted from everything the service replies. Signed tokens are recognised by their shape.
    pub(super) fn secrets(&self) -> Secrets {
        match self {
            Self::Bearer(secret)
            | Self::Header { value: secret, .. }
            | Self::PathToken { token: secret, .. } => Secrets::new([secret.expose()]),
            Self::Basic { user, password } => {
                Secrets::new([password.expose(), &encode_basic(user, password)])
            }
            Self::AppJwt(_) => Secrets::none(),
        }
    }

    /// Tells identities apart without revealing them: a digest of the secret, or of the app's id.
    pub(super) fn identity(&self) -> [u8; 32] {
        match self {
            Self::Bearer(token) => digest(&["bearer", token.expose()]),
            Self::Basic { user, password } => digest(&["basic", user, password.expose()]),
            Self::Header { name, value } => digest(&["header", name.as_str(), value.expose()]),
            Self::PathToken { prefix, token } => digest(&["path", prefix, token.expose()]),
            Self::AppJwt(app) => digest(&["app", &app.issuer]),
        }
    }

    /// Adds the secret to an outgoing request; none when it could not be signed.
    pub(super) fn apply(&self, url: &mut Url, headers: &mut HeaderMap, now: Timestamp) -> Option<()> {
        let (name, value) = match self {
            Self::Bearer(token) => (AUTHORIZATION, format!("Bearer {}", token.expose())),
            Self::Basic { user, password } => {
                (AUTHORIZATION, format!("Basic {}", encode_basic(user, password)))
            }
            Self::Header { name, value } => (name.clone(), value.expose().to_owned()),
            Self::AppJwt(app) => (AUTHORIZATION, format!("Bearer {}", app.key.sign(&app.issuer, now)?)),
            Self::PathToken { prefix, token } => {
                let rest = url.path().trim_start_matches('/').to_owned();
                url.set_path(&format!("/{prefix}{}/{rest}", token.expose()));
                return Some(());
            }
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Some(())
    }
}

fn encode_basic(user: &str, password: &SecretText) -> String {
    STANDARD.encode(format!("{user}:{}", password.expose()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pilot_core::time::Timestamp;
    use reqwest::Url;
    use reqwest::header::{HeaderMap, HeaderName};

    use super::{AppJwt, Auth, SecretText};
    use crate::http::jwt::tests::PKCS8;

    const SECRET: &str = "s3cr3t-t0k3n";

    fn all_kinds() -> Vec<Auth> {
        let secret = || SecretText::parse(SECRET).unwrap();
        vec![
            Auth::Bearer(secret()),
            Auth::Basic { user: "ada".to_owned(), password: secret() },
            Auth::Header { name: HeaderName::from_static("private-token"), value: secret() },
            Auth::PathToken { prefix: "bot", token: secret() },
            Auth::AppJwt(Arc::new(AppJwt::parse("42", PKCS8).unwrap())),
        ]
    }

    #[test]
    fn each_kind_puts_its_secret_where_the_service_expects_it() {
        let expected = [
            "https://h/x?y=1 authorization: Bearer s3cr3t-t0k3n",
            "https://h/x?y=1 authorization: Basic YWRhOnMzY3IzdC10MGszbg==",
            "https://h/x?y=1 private-token: s3cr3t-t0k3n",
            "https://h/bots3cr3t-t0k3n/x?y=1",
            "https://h/x?y=1 authorization: Bearer eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.",
        ];
        for (auth, expected) in all_kinds().into_iter().zip(expected) {
            let (mut url, mut headers) = (Url::parse("https://h/x?y=1").unwrap(), HeaderMap::new());
            auth.apply(&mut url, &mut headers, Timestamp(0)).unwrap();
            let header = headers.iter().map(|(name, value)| format!(" {name}: {}", value.to_str().unwrap()));
            let sent = format!("{url}{}", header.collect::<String>());
            assert!(sent.starts_with(expected), "{sent}");
            let shown = format!("{auth:?} {headers:?}");
            assert!(!shown.contains("s3cr3t") && !shown.contains("BEGIN"), "{shown}");
            assert_eq!(auth.secrets().redact(&sent).matches("[redacted]").count(), 1, "{sent}");
        }
    }

    #[test]
    fn identities_differ_by_kind_and_secret() {
        let mut seen: Vec<[u8; 32]> = all_kinds().iter().map(Auth::identity).collect();
        seen.push(Auth::bearer("another").unwrap().identity());
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 6);
        assert_eq!(Auth::bearer(SECRET).unwrap().identity(), all_kinds()[0].identity());
    }

    #[test]
    fn secrets_that_fit_no_header_are_refused() {
        for text in ["", " ", "two\nlines", "tab\tbed", "ä"] {
            assert!(SecretText::parse(text).is_none(), "{text:?}");
        }
    }
}
