//! Opening what Pilot remembers, with what must never be written down.

use std::path::PathBuf;

use pilot_core::redact::Secrets;
use pilot_store::Store;

use crate::config::{Environment, Loaded};

/// The file of the store.
pub(crate) fn file(loaded: &Loaded) -> PathBuf {
    loaded.store_dir.join("pilot.db")
}

/// Opens the store. Values of variables whose names say that they are secret are taken out of everything it keeps.
pub(crate) async fn open(loaded: &Loaded, environment: &Environment) -> anyhow::Result<Store> {
    let secret = |name: &str| ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word));
    let values = environment.texts().filter(|(name, _)| secret(name)).map(|(_, value)| value);
    let github = loaded.config().ok().map(|config| &config.adapters.github);
    let configured = github.iter().flat_map(|github| [&github.token, &github.app.private_key]);
    let configured = configured.flatten().map(String::as_str);
    Ok(Store::open(&file(loaded), Secrets::new(values.chain(configured))).await?)
}
