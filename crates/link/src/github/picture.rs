//! Images that issues show. Any account may write any address into an issue, so they are fetched from the forge itself and from
//! where it keeps what people attach, and from nowhere else.

use reqwest::header::{ACCEPT, HeaderValue};

use super::{Repo, RepoName};
use crate::http::{Auth, HttpError, Request, Url};
use crate::tracker::PictureError;

/// Where github.com keeps what people attach, besides its own pages. The addresses are themselves the keys.
const STORES: [&str; 4] = [
    "user-images.githubusercontent.com",
    "private-user-images.githubusercontent.com",
    "raw.githubusercontent.com",
    "github-production-user-asset-6210df.s3.amazonaws.com",
];

const MOST_REDIRECTS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetch {
    WithToken,
    Plain,
}

impl Repo {
    /// Fetches what is said to be an image, of at most so many bytes. The token goes to the forge's own host alone, and there
    /// only for attachments and this repository.
    pub async fn picture(&self, address: &str, most: usize) -> Result<Vec<u8>, PictureError> {
        let mut url = Url::parse(address).map_err(|_| PictureError::BadAddress)?;
        // What other hosts say of their limits is not the API's business.
        let http = self.github.http().with_own_budget();
        for _ in 0..=MOST_REDIRECTS {
            let how = way(self.github.api_url(), &self.name, &url).ok_or_else(|| {
                let host = url.host_str().unwrap_or("another place").to_owned();
                PictureError::Elsewhere { host }
            })?;
            let request = Request::get(url.clone()).with_max_body(most);
            let request = request.with_header(ACCEPT, HeaderValue::from_static("image/*"));
            let request = match how {
                Fetch::WithToken => request.with_auth(&Auth::Bearer(self.github.token().await?)),
                Fetch::Plain => request,
            };
            match http.send(&request).await {
                Ok(reply) => return Ok(reply.body.to_vec()),
                Err(HttpError::Redirected { to: Some(to), .. }) => url = to,
                Err(HttpError::Redirected { to: None, .. }) => return Err(PictureError::LedOn),
                Err(HttpError::TooLarge { limit, .. }) => return Err(PictureError::TooLarge { limit }),
                Err(HttpError::Refused { reply }) => {
                    return Err(PictureError::Refused { status: reply.status.as_u16() });
                }
                Err(error) => return Err(PictureError::Http(error)),
            }
        }
        Err(PictureError::LedOn)
    }
}

/// How an image is fetched from an address; none when it is not.
fn way(api: &Url, repo: &RepoName, url: &Url) -> Option<Fetch> {
    if !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    if url.origin() == api.origin() || is_web(api, url) {
        let path = url.path().to_ascii_lowercase();
        let own = [format!("/{repo}/"), format!("/repos/{repo}/"), "/user-attachments/".to_owned()];
        let is_own = own.iter().any(|start| path.starts_with(&start.to_ascii_lowercase()));
        return Some(if is_own { Fetch::WithToken } else { Fetch::Plain });
    }
    let stored = api.host_str() == Some("api.github.com")
        && url.scheme() == "https"
        && url.port().is_none()
        && url.host_str().is_some_and(|host| STORES.contains(&host));
    stored.then_some(Fetch::Plain)
}

/// Whether an address is of the pages that belong to an API: `https://github.com` to `https://api.github.com`.
fn is_web(api: &Url, url: &Url) -> bool {
    let host = api.host_str().and_then(|host| host.strip_prefix("api."));
    host.is_some() && url.host_str() == host && url.scheme() == api.scheme() && url.port() == api.port()
}

#[cfg(test)]
mod tests {
    use super::{Fetch, way};
    use crate::github::RepoName;
    use crate::http::Url;

    const HUB: &str = "https://api.github.com/";
    const ENTERPRISE: &str = "https://ghe.example/api/v3/";
    const LOCAL: &str = "http://127.0.0.1:4000/";

    #[test]
    fn only_the_forge_is_asked_and_only_its_own_pages_see_the_token() {
        let (token, plain) = (Some(Fetch::WithToken), Some(Fetch::Plain));
        for (api, url, expected) in [
            (HUB, "https://github.com/user-attachments/assets/1-2", token),
            (HUB, "https://github.com/Ada/Engine/assets/1/2", token),
            (HUB, "https://github.com/ada/engine/raw/main/a.png", token),
            (HUB, "https://github.com/ada/secret/raw/main/a.png", plain),
            (HUB, "https://github.com/ada/engine/../secret/raw/main/a.png", plain),
            (HUB, "https://github.com/ada/engine/%2e%2e/secret/a.png", plain),
            (HUB, "https://github.com\\ada\\engine\\..\\..\\user", plain),
            (HUB, "https://github.com/logout", plain),
            (HUB, "https://user-images.githubusercontent.com/1/2.png", plain),
            (HUB, "https://private-user-images.githubusercontent.com/1/2.png?jwt=x", plain),
            (HUB, "https://raw.githubusercontent.com/ada/engine/main/a.png", plain),
            (HUB, "https://github-production-user-asset-6210df.s3.amazonaws.com/1?X-Amz=1", plain),
            (HUB, "http://github.com/user-attachments/assets/1", None),
            (HUB, "https://github.com:444/user-attachments/assets/1", None),
            (HUB, "https://github.com@evil.example/user-attachments/1", None),
            (HUB, "https://token@github.com/user-attachments/assets/1", None),
            (HUB, "https://github.com.evil.example/user-attachments/1", None),
            (HUB, "https://gist.github.com/a.png", None),
            (HUB, "https://evil.s3.amazonaws.com/1", None),
            (HUB, "http://user-images.githubusercontent.com/1.png", None),
            (HUB, "https://user-images.githubusercontent.com:8443/1.png", None),
            (HUB, "http://169.254.169.254/latest/meta-data/", None),
            (HUB, "http://localhost/a.png", None),
            (HUB, "http://[::ffff:169.254.169.254]/", None),
            (HUB, "file:///etc/passwd", None),
            (HUB, "data:image/png;base64,AAAA", None),
            (HUB, "ftp://github.com/a.png", None),
            (ENTERPRISE, "https://ghe.example/user-attachments/assets/1", token),
            (ENTERPRISE, "https://ghe.example/storage/user/5/files/1", plain),
            (ENTERPRISE, "https://github.com/user-attachments/assets/1", None),
            (ENTERPRISE, "https://user-images.githubusercontent.com/1.png", None),
            (LOCAL, "http://127.0.0.1:4000/ada/engine/raw/main/a.png", token),
            (LOCAL, "http://127.0.0.1:4000/login", plain),
            (LOCAL, "http://127.0.0.1:4001/ada/engine/raw/main/a.png", None),
            (LOCAL, "http://localhost:4000/ada/engine/raw/main/a.png", None),
            (LOCAL, "http://2130706433:4001/", None),
        ] {
            let (api, repo) = (Url::parse(api).unwrap(), RepoName::parse("ada/engine").unwrap());
            assert_eq!(way(&api, &repo, &Url::parse(url).unwrap()), expected, "{api} {url}");
        }
    }
}
