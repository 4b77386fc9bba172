//! How to reach a service, and the bounds of every call.

use std::time::Duration;

/// How to reach a service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What we call ourselves.
    pub user_agent: String,
    /// How long connecting may take.
    pub connect: Duration,
    /// How long an answer may stand still.
    pub idle: Duration,
    /// How long one attempt may take in all.
    pub total: Duration,
    /// The largest body that is read.
    pub body: usize,
    /// Room for answers that can be asked for by ETag.
    pub cache: usize,
    /// How often a request is repeated at most.
    pub repeats: u32,
    /// How many requests are under way at once; the others wait.
    pub at_once: usize,
    /// A proxy; none means a direct way, whatever the environment says.
    pub proxy: Option<Proxy>,
}

/// A proxy for everything but some hosts.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// Its address, with a name and password if it wants them.
    pub url: String,
    /// Hosts that are reached directly, as in `NO_PROXY`.
    pub bypass: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            user_agent: concat!("pilot/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(60),
            body: 16 << 20,
            cache: 1 << 20,
            repeats: 2,
            at_once: 8,
            proxy: None,
        }
    }
}

/// Why no connection to a service could be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The address of the proxy is none.
    #[error("use a proxy: {reason}; write it as http://host:port")]
    Proxy {
        /// What is wrong.
        reason: String,
    },
    /// TLS does not work here.
    #[error("set up TLS: {reason}; are the system's root certificates installed (package ca-certificates)?")]
    Tls {
        /// What is wrong.
        reason: String,
    },
}
