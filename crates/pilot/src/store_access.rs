//! Opening the store, with the secrets that it must never write down.

use std::path::PathBuf;

use pilot_core::redact::Secrets;
use pilot_store::Store;

use crate::config::{Environment, Loaded};

pub(crate) fn file(loaded: &Loaded) -> PathBuf {
    loaded.store_dir.join("pilot.db")
}

/// Opens the store. Values of variables whose names say that they are secret are taken out of everything it keeps.
pub(crate) async fn open(loaded: &Loaded, environment: &Environment) -> anyhow::Result<Store> {
    let secret = |name: &str| ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word));
    let values = environment.texts().filter(|(name, _)| secret(name)).map(|(_, value)| value);
    let config = loaded.config().ok();
    let configured = config.iter().flat_map(|config| config.secrets());
    Ok(Store::open(&file(loaded), Secrets::new(values.chain(configured))).await?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pilot_core::config::{KEYS, LogLevel};
    use pilot_store::LogLine;

    use super::open;
    use crate::commands::logs::tests::{STARTED, begun};
    use crate::config::{ConfigSources, Environment, load};

    #[tokio::test]
    async fn no_configured_secret_is_stored() {
        for key in KEYS.iter().filter(|key| key.is_secret()) {
            let home = tempfile::tempdir().unwrap();
            let mut yaml = key
                .path
                .rsplit('.')
                .fold("v3ry-pr1vate".to_owned(), |value, part| format!("{{{part}: {value}}}"));
            if key.path.ends_with(".app.private_key") {
                yaml = yaml.replace("{private_key", "{id: 1, installation_id: 2, private_key");
            }
            fs::write(home.path().join("config.yaml"), yaml).unwrap();
            let environment: Environment = [("PILOT_HOME", home.path())].into_iter().collect();
            let loaded = load(&ConfigSources::new(&environment, None)).unwrap();
            loaded.config().unwrap();
            let store = open(&loaded, &environment).await.unwrap();
            let run = begun(&store, "GH-12", "use v3ry-pr1vate", "claude-code").await;
            let line = LogLine::new(STARTED, LogLevel::Info, "runner", "said v3ry-pr1vate");
            store.append_logs(&run.id, &[line]).await.unwrap();
            let logs = store.logs(&run.id).await.unwrap();
            assert!(!format!("{run:?}{logs:?}").contains("v3ry"), "{}: {logs:?}", key.path);
        }
    }
}
