//! Claims: small refs of our own on the other side, which say who works on what. No branch and no tag, so nothing is built
//! for them and nobody sees them in a list.

use super::push::Courier;
use super::relay::Relay;
use super::{RemoteError, Sha};

/// The most that is read of somebody else's name.
const LONGEST_HOLDER: usize = 100;

/// Who has a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nobody.
    Nobody,
    /// We do.
    Us,
    /// Somebody else.
    Other(String),
}

impl Courier<'_> {
    /// Takes a claim in our name, unless somebody has it. Says who has it then: never nobody.
    pub fn place_claim(&self, name: &str, us: &str) -> Result<Holder, RemoteError> {
        let relay = self.relay()?;
        let ours = write(&relay, us)?;
        match self.move_claim(&relay, name, None, Some(&ours))? {
            true => Ok(Holder::Us),
            false => match self.holder(&relay, name, &ours)? {
                // Gone between the push and the look: whoever asks again finds it free.
                Holder::Nobody => Err(self.unknown("the claim moves".to_owned())),
                holder @ (Holder::Us | Holder::Other(_)) => Ok(holder),
            },
        }
    }

    /// Who has a claim.
    pub fn claim(&self, name: &str, us: &str) -> Result<Holder, RemoteError> {
        let relay = self.relay()?;
        let ours = write(&relay, us)?;
        self.holder(&relay, name, &ours)
    }

    /// Gives a claim of ours back. Somebody else's stays.
    pub fn release_claim(&self, name: &str, us: &str) -> Result<(), RemoteError> {
        let relay = self.relay()?;
        let ours = write(&relay, us)?;
        self.move_claim(&relay, name, Some(&ours), None).map(|_| ())
    }

    /// Moves the ref from one place to another; false when it is not where it was expected.
    fn move_claim(
        &self,
        relay: &Relay,
        name: &str,
        from: Option<&Sha>,
        to: Option<&Sha>,
    ) -> Result<bool, RemoteError> {
        let full = full(name);
        let lease = format!("--force-with-lease={full}:{}", from.map_or("", Sha::as_str));
        let refspec = format!("{}:{full}", to.map_or("", Sha::as_str));
        let url = self.remote.url();
        let args = ["push", "--porcelain", "--no-verify", &lease, "--", url, &refspec];
        let ended = self.in_time(relay.end(&args))?;
        let printed = String::from_utf8_lossy(&ended.stdout);
        let stale = printed.lines().any(|line| line.starts_with('!') && line.contains("(stale info)"));
        let gone = to.is_none() && ended.stderr.contains("remote ref does not exist");
        match ended.code {
            Some(0) => Ok(true),
            _ if stale || gone => Ok(false),
            _ => Err(self.remote.explain(&ended.stderr)),
        }
    }

    fn holder(&self, relay: &Relay, name: &str, ours: &Sha) -> Result<Holder, RemoteError> {
        let full = full(name);
        let ended = self.in_time(relay.end(&["ls-remote", "--", self.remote.url(), &full]))?;
        if ended.code != Some(0) {
            return Err(self.remote.explain(&ended.stderr));
        }
        let printed = String::from_utf8_lossy(&ended.stdout);
        let Some((sha, _)) = printed.lines().find_map(|line| line.split_once('\t')) else {
            return Ok(Holder::Nobody);
        };
        if sha == ours.as_str() {
            return Ok(Holder::Us);
        }
        Ok(Holder::Other(self.name_of(relay, &full).unwrap_or_else(|| sha.chars().take(7).collect())))
    }

    /// What the other's claim says; none when that cannot be read.
    fn name_of(&self, relay: &Relay, full: &str) -> Option<String> {
        let refspec = format!("+{full}:refs/claim");
        let flags = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--"];
        relay.end(&[&flags[..], &[self.remote.url(), &refspec]].concat()).ok()?;
        let said = relay.end(&["cat-file", "blob", "refs/claim"]).ok()?;
        let said = String::from_utf8(said.stdout).ok()?;
        let name = said.lines().next()?.chars().filter(|c| !c.is_control());
        Some(name.take(LONGEST_HOLDER).collect()).filter(|name: &String| !name.is_empty())
    }
}

fn full(name: &str) -> String {
    format!("refs/pilot/claims/{name}")
}

/// The object that stands for us: the same name gives the same one.
fn write(relay: &Relay, us: &str) -> Result<Sha, RemoteError> {
    let printed = relay.text(&["hash-object", "-w", "--stdin"], format!("{us}\n").as_bytes())?;
    Ok(Sha::parse(printed.trim())?)
}
