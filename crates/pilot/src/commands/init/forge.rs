//! Where a repository is pushed to, by the address of its remote.

use std::fmt;

/// The longest host or path that is believed.
const LONGEST: usize = 200;

/// A forge and a repository on it. Never a user or a password: an address may hold both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RemoteForge {
    Hosted { host: String, repository: String },
    Local,
}

impl RemoteForge {
    /// Reads an address as git takes it; none when it is not understood.
    pub(super) fn parse(url: &str) -> Option<RemoteForge> {
        let url = url.trim();
        if let Some((scheme, rest)) = url.split_once("://") {
            return match scheme {
                "file" => Some(RemoteForge::Local),
                "https" | "http" | "ssh" | "git" => {
                    let (place, path) = rest.split_once('/')?;
                    let host = place.rsplit('@').next().unwrap_or_default();
                    // The port is no part of the name.
                    RemoteForge::hosted(host.split(':').next().unwrap_or_default(), path)
                }
                _ => None,
            };
        }
        // `user@host:path`, unless a slash comes first: then the colon is part of a file's name.
        match url.split_once(':') {
            Some((place, path)) if !place.contains('/') => {
                RemoteForge::hosted(place.rsplit('@').next().unwrap_or_default(), path)
            }
            Some(_) | None if url.is_empty() => None,
            Some(_) | None => Some(RemoteForge::Local),
        }
    }

    fn hosted(host: &str, path: &str) -> Option<RemoteForge> {
        let repository = path.trim_matches('/');
        let repository = repository.strip_suffix(".git").unwrap_or(repository);
        let plain = |text: &str| {
            !text.is_empty()
                && text.len() <= LONGEST
                && text.chars().all(|c| c.is_ascii_alphanumeric() || ['.', '-', '_', '/'].contains(&c))
        };
        (plain(host) && plain(repository)).then(|| RemoteForge::Hosted {
            host: host.to_ascii_lowercase(),
            repository: repository.to_owned(),
        })
    }

    /// The owner and the name of a repository on GitHub.
    pub(super) fn github(&self) -> Option<(&str, &str)> {
        let RemoteForge::Hosted { host, repository } = self else { return None };
        let (owner, name) = repository.split_once('/').filter(|_| host == "github.com")?;
        (!name.contains('/')).then_some((owner, name))
    }
}

impl fmt::Display for RemoteForge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoteForge::Hosted { host, repository } => write!(f, "{repository} on {host}"),
            RemoteForge::Local => f.write_str("a directory of this machine"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RemoteForge;

    #[test]
    fn addresses_are_read_as_git_takes_them() {
        for (url, expect) in [
            ("https://github.com/ada/engine.git", "ada/engine on github.com"),
            ("https://github.com/ada/engine/", "ada/engine on github.com"),
            ("git@github.com:ada/engine.git", "ada/engine on github.com"),
            ("ssh://git@GitHub.com:22/ada/engine.git", "ada/engine on github.com"),
            ("https://ada:s3cret@gitlab.com/group/sub/engine.git", "group/sub/engine on gitlab.com"),
            ("https://x@y:t0ken@host.example/a/b", "a/b on host.example"),
            ("/srv/git/engine.git", "a directory of this machine"),
            ("../engine", "a directory of this machine"),
            ("./odd:name", "a directory of this machine"),
            ("file:///srv/git/engine.git", "a directory of this machine"),
        ] {
            let forge = RemoteForge::parse(url).unwrap_or_else(|| panic!("{url}"));
            assert_eq!(forge.to_string(), expect, "{url}");
            assert!(!forge.to_string().contains("s3cret") && !forge.to_string().contains("t0ken"));
            let github = expect.strip_suffix(" on github.com").map(|_| ("ada", "engine"));
            assert_eq!(forge.github(), github, "{url}");
        }
        assert_eq!(RemoteForge::parse("https://github.com/a/b/c").unwrap().github(), None);
        for url in [
            "",
            "ext::sh -c x",
            "https://",
            "https://host",
            "https://h/a b",
            "https://h/\u{1b}[2J",
            "s3://b/k",
        ] {
            assert_eq!(RemoteForge::parse(url), None, "{url:?}");
        }
    }
}
