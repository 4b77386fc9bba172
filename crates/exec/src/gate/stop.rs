//! Gates inside the session of an agent that asks before it stops: a file says which, Pilot itself is the hook.
//!
//! The file is in the run's private directory, never in the repository, and counts how often the agent was held. The hook
//! can only cost the agent a few rounds: on any doubt, error or timeout the agent may stop, and the gates after the
//! session judge the commit.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pilot_core::gate::{Gate, GatePolicy, OnFailure, StopAnswer, stop_answer, verdict};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::round::{GateContext, GateRound, GateTarget, run_gates};
use super::session::TreeBefore;
use crate::environment::{Rules, gate_environment};
use crate::git::Program;
use crate::process::{Containment, ProcessLimits};

/// The word that makes Pilot the hook when it is its first argument.
pub const WORD: &str = "__stop-gate";

/// The agent waits a little longer for the hook than the hook for its gates.
const SLACK: Duration = Duration::from_secs(30);

/// What the hook needs to know, and how often it has held the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopGate {
    /// The gates; those that only warn are left out when they run.
    pub gates: Vec<Gate>,
    pub parallel: bool,
    pub policy: GatePolicy,
    pub tree: PathBuf,
    /// The run's private directory for temporary files.
    pub tmp: PathBuf,
    pub pass: Vec<String>,
    pub deny: Vec<String>,
    /// How long all gates together may take; then the agent may stop. Shorter than the silence a run may keep.
    #[serde(with = "pilot_core::duration")]
    pub limit: Duration,
    #[serde(with = "pilot_core::duration")]
    pub grace: Duration,
    pub cap: u32,
    pub held: u32,
}

/// Why the hook failed; the agent may stop then.
#[derive(Debug, thiserror::Error)]
pub enum StopGateError {
    #[error("use {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("read {}: {source}", path.display())]
    File { path: PathBuf, source: serde_json::Error },
    #[error("parse the hook input from the agent: {0}")]
    Input(serde_json::Error),
}

#[derive(Debug, Deserialize)]
struct StopInput {
    #[serde(default)]
    stop_hook_active: bool,
}

impl StopGate {
    /// Writes the file, as a whole, for its owner alone.
    pub fn save(&self, path: &Path) -> Result<(), StopGateError> {
        let broken = |source| StopGateError::Io { path: path.to_owned(), source };
        let bytes = serde_json::to_vec(self)
            .map_err(|source| StopGateError::File { path: path.to_owned(), source })?;
        let new = path.with_extension("new");
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(true).write(true).mode(0o600).open(&new);
        file.and_then(|mut file| file.write_all(&bytes)).map_err(broken)?;
        fs::rename(&new, path).map_err(broken)
    }

    pub fn load(path: &Path) -> Result<StopGate, StopGateError> {
        let bytes = fs::read(path).map_err(|source| StopGateError::Io { path: path.to_owned(), source })?;
        serde_json::from_slice(&bytes).map_err(|source| StopGateError::File { path: path.to_owned(), source })
    }

    /// The settings that make Claude Code ask before it stops: the value of its `--settings`. `pilot` is our own program,
    /// `file` the one this is saved in.
    pub fn settings(&self, pilot: &Path, file: &Path) -> String {
        let command = [pilot.display().to_string(), WORD.to_owned(), file.display().to_string()];
        let command = command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let timeout = (self.limit + SLACK).as_secs();
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]}})
            .to_string()
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Runs the hook. `file` is where the [`StopGate`] is saved, `input` what the agent says, `ours` the environment the hook was
/// started in. What is to be printed; nothing when the agent may stop.
pub async fn answer_stop(
    file: &Path,
    input: &[u8],
    ours: &BTreeMap<OsString, OsString>,
    containment: &Containment,
) -> Result<Option<String>, StopGateError> {
    let stop: StopInput = serde_json::from_slice(input).map_err(StopGateError::Input)?;
    let mut saved = StopGate::load(file)?;
    if saved.held >= saved.cap {
        // A gate that only warns never holds the agent.
        return Ok(None);
    }
    let found = saved.check(ours, containment).await;
    let StopAnswer::GoOn { reason } = stop_answer(&found, saved.held, saved.cap, stop.stop_hook_active)
    else {
        return Ok(None);
    };
    // Saved before the answer: a hook that cannot save its count does not hold the agent.
    saved.held += 1;
    saved.save(file)?;
    Ok(Some(json!({"decision": "block", "reason": reason}).to_string()))
}

impl StopGate {
    async fn check(
        &self,
        ours: &BTreeMap<OsString, OsString>,
        containment: &Containment,
    ) -> pilot_core::gate::GateVerdict {
        let holding = |gate: &&Gate| gate.action(&self.policy) != OnFailure::Warn;
        let gates: Vec<Gate> = self.gates.iter().filter(holding).cloned().collect();
        let env = gate_environment(ours, &Rules { pass: &self.pass, deny: &self.deny }, &self.tmp);
        let path = ours.get(&OsString::from("PATH")).cloned().unwrap_or_default();
        let program = Arc::new(Program::new(path, None));
        // Without git there is nothing to restore.
        let before = TreeBefore::look(&program, &self.tree).ok();
        let context = GateContext {
            target: GateTarget::AsIs(&self.tree),
            env: &env,
            limits: ProcessLimits::default(),
            grace: self.grace,
            containment,
        };
        let round = GateRound { gates: &gates, parallel: self.parallel, policy: self.policy };
        let results = run_gates(&round, &context, tokio::time::sleep(self.limit), |_| {}).await;
        if let Some(before) = before {
            // Leftovers are found when the session is finalised.
            let _ = before.put_back();
        }
        verdict("", results)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use pilot_core::gate::{Gate, GateKind, GatePolicy};

    use super::StopGate;

    fn stop_gate() -> StopGate {
        StopGate {
            gates: vec![Gate::new("test", GateKind::Test, "make test")],
            parallel: false,
            policy: GatePolicy::default(),
            tree: PathBuf::from("/run/tree"),
            tmp: PathBuf::from("/run/tmp"),
            pass: vec!["NPM_*".to_owned()],
            deny: Vec::new(),
            limit: Duration::from_secs(600),
            grace: Duration::from_secs(5),
            cap: 2,
            held: 0,
        }
    }

    #[test]
    fn settings_name_one_hook_and_survive_odd_paths() {
        let settings =
            stop_gate().settings(Path::new("/opt/my 'pilot'/pilot"), Path::new("/run/stop gate.json"));
        assert_eq!(
            settings,
            r#"{"hooks":{"Stop":[{"hooks":[{"command":"'/opt/my '\\''pilot'\\''/pilot' '__stop-gate' '/run/stop gate.json'","timeout":630,"type":"command"}]}]}}"#
        );
    }
}
