//! Claims: refs below `refs/pilot/claims/` on the remote that name the Pilot working on a task. Neither branch nor tag, so
//! they trigger no CI and appear in no list.

use pilot_core::id::Sha;

use super::RemoteError;
use super::exchange_dir::ExchangeDir;
use super::push::RemoteSession;

const LONGEST_HOLDER: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimHolder {
    Free,
    Us,
    Other(String),
}

impl RemoteSession<'_> {
    /// Places a claim in our name unless one exists. Returns its holder, never `Free`.
    pub fn place_claim(&self, name: &str, us: &str) -> Result<ClaimHolder, RemoteError> {
        let exchange = self.exchange()?;
        let ours = write_claimant(&exchange, us)?;
        match self.move_claim(&exchange, name, None, Some(&ours))? {
            true => Ok(ClaimHolder::Us),
            false => match self.read_holder(&exchange, name, &ours)? {
                // Released between the push and the read: a retry finds it free.
                ClaimHolder::Free => Err(self.unknown("the claim was released meanwhile".to_owned())),
                holder @ (ClaimHolder::Us | ClaimHolder::Other(_)) => Ok(holder),
            },
        }
    }

    pub fn read_claim(&self, name: &str, us: &str) -> Result<ClaimHolder, RemoteError> {
        let exchange = self.exchange()?;
        let ours = write_claimant(&exchange, us)?;
        self.read_holder(&exchange, name, &ours)
    }

    pub fn release_claim(&self, name: &str, us: &str) -> Result<(), RemoteError> {
        let exchange = self.exchange()?;
        let ours = write_claimant(&exchange, us)?;
        self.move_claim(&exchange, name, Some(&ours), None).map(|_| ())
    }

    /// Moves the ref from one place to another; false when it is not where it was expected.
    fn move_claim(
        &self,
        exchange: &ExchangeDir,
        name: &str,
        from: Option<&Sha>,
        to: Option<&Sha>,
    ) -> Result<bool, RemoteError> {
        let full = claim_ref(name);
        let lease = format!("--force-with-lease={full}:{}", from.map_or("", Sha::as_str));
        let refspec = format!("{}:{full}", to.map_or("", Sha::as_str));
        let url = self.remote.url();
        let args = ["push", "--porcelain", "--no-verify", &lease, "--", url, &refspec];
        let ended = self.in_time(exchange.end(&args))?;
        let printed = String::from_utf8_lossy(&ended.stdout);
        let stale = printed.lines().any(|line| line.starts_with('!') && line.contains("(stale info)"));
        let gone = to.is_none() && ended.stderr.contains("remote ref does not exist");
        match ended.code {
            Some(0) => Ok(true),
            _ if stale || gone => Ok(false),
            _ => Err(self.remote.explain(&ended.stderr)),
        }
    }

    fn read_holder(
        &self,
        exchange: &ExchangeDir,
        name: &str,
        ours: &Sha,
    ) -> Result<ClaimHolder, RemoteError> {
        let full = claim_ref(name);
        let ended = self.in_time(exchange.end(&["ls-remote", "--", self.remote.url(), &full]))?;
        if ended.code != Some(0) {
            return Err(self.remote.explain(&ended.stderr));
        }
        let printed = String::from_utf8_lossy(&ended.stdout);
        let Some((sha, _)) = printed.lines().find_map(|line| line.split_once('\t')) else {
            return Ok(ClaimHolder::Free);
        };
        if sha == ours.as_str() {
            return Ok(ClaimHolder::Us);
        }
        Ok(ClaimHolder::Other(
            self.read_holder_name(exchange, &full).unwrap_or_else(|| sha.chars().take(7).collect()),
        ))
    }

    /// The name in another Pilot's claim; none when it cannot be read.
    fn read_holder_name(&self, exchange: &ExchangeDir, full: &str) -> Option<String> {
        let refspec = format!("+{full}:refs/claim");
        let flags = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--"];
        exchange.end(&[&flags[..], &[self.remote.url(), &refspec]].concat()).ok()?;
        let said = exchange.end(&["cat-file", "blob", "refs/claim"]).ok()?;
        let said = String::from_utf8(said.stdout).ok()?;
        let name = said.lines().next()?.chars().filter(|c| !c.is_control());
        Some(name.take(LONGEST_HOLDER).collect()).filter(|name: &String| !name.is_empty())
    }
}

fn claim_ref(name: &str) -> String {
    format!("refs/pilot/claims/{name}")
}

/// Writes the blob that identifies us: the same name gives the same id.
fn write_claimant(exchange: &ExchangeDir, us: &str) -> Result<Sha, RemoteError> {
    Ok(exchange.write_blob(format!("{us}\n").as_bytes())?)
}
