//! The library's clients: one for plain connections, one for encrypted ones.
//!
//! Loading the system's root certificates takes time and memory, so it waits until the first encrypted connection. A forge
//! on loopback needs none.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, NoProxy, Url};

use super::error::describe_causes;
use super::{Proxy, Settings, SetupError};

/// How long a connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(15);

/// Both clients; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Clients {
    plain: Client,
    encrypted: Arc<OnceLock<Client>>,
}

impl Clients {
    pub(super) fn new(settings: &Settings) -> Result<Self, SetupError> {
        let none = builder(settings)?.tls_certs_only([]);
        let plain = none.build().map_err(|error| SetupError::Tls { reason: describe_causes(&error) })?;
        let clients = Self { plain, encrypted: Arc::default() };
        if settings.proxy.as_ref().is_some_and(|proxy| proxy.url.starts_with("https:")) {
            // Then even a plain request is encrypted on its way to the proxy.
            return Ok(Self { plain: clients.encrypted(settings)?, ..clients });
        }
        Ok(clients)
    }

    pub(super) fn client_for(&self, url: &Url, settings: &Settings) -> Result<Client, SetupError> {
        if url.scheme() == "http" { Ok(self.plain.clone()) } else { self.encrypted(settings) }
    }

    fn encrypted(&self, settings: &Settings) -> Result<Client, SetupError> {
        if let Some(client) = self.encrypted.get() {
            return Ok(client.clone());
        }
        let built = builder(settings)?
            .build()
            .map_err(|error| SetupError::Tls { reason: describe_causes(&error) })?;
        Ok(self.encrypted.get_or_init(|| built).clone())
    }
}

fn builder(settings: &Settings) -> Result<ClientBuilder, SetupError> {
    // An error says that the process has one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(&settings.user_agent)
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.idle_timeout)
        .timeout(settings.total_timeout)
        .pool_max_idle_per_host(settings.max_concurrent)
        // Servers close idle connections after a minute or so; a request on one that is closing is lost.
        .pool_idle_timeout(IDLE)
        // A redirect is an error here: following it blindly would change what an address means.
        .redirect(Policy::none())
        .referer(false)
        .no_proxy();
    let Some(Proxy { url, bypass }) = &settings.proxy else { return Ok(builder) };
    let proxy = reqwest::Proxy::all(url.as_str()).map_err(|error| {
        // The address may hold a password, and the error quotes the address.
        SetupError::Proxy { reason: describe_causes(&error.without_url()) }
    })?;
    Ok(builder.proxy(proxy.no_proxy(NoProxy::from_string(bypass))))
}
