//! How to reach a service, and the bounds of every request.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Settings {
    pub user_agent: String,
    pub connect_timeout: Duration,
    /// How long a reply may make no progress.
    pub idle_timeout: Duration,
    pub total_timeout: Duration,
    pub max_body: usize,
    pub cache_bytes: usize,
    pub max_retries: u32,
    /// Requests in flight at once; the others wait.
    pub max_concurrent: usize,
    /// None means a direct connection, whatever the environment sets.
    pub proxy: Option<Proxy>,
}

#[derive(Clone, Debug)]
pub struct Proxy {
    /// Its address, with user name and password if it needs them.
    pub url: String,
    /// Hosts that are reached directly, as in `NO_PROXY`.
    pub bypass: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            user_agent: concat!("pilot/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(60),
            max_body: 16 << 20,
            cache_bytes: 1 << 20,
            max_retries: 2,
            max_concurrent: 8,
            proxy: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("use a proxy: {reason}; write it as http://host:port")]
    Proxy { reason: String },
    #[error("set up TLS: {reason}; are the system's root certificates installed (package ca-certificates)?")]
    Tls { reason: String },
}
