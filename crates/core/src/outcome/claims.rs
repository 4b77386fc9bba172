//! What an agent claims about its own end by marks. A claim of success proves nothing, one of failure is believed.

use crate::signal::{Kind, Signal};
use crate::text::truncate;

/// The most of a claim's reason that is kept, in bytes.
const REASON_LIMIT: usize = 1024;

/// The claims of one run. Feed it the signals that count: echoes of our own prompt do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    exit: bool,
    success: bool,
    blocked: Option<String>,
    exit_reason: Option<String>,
}

impl Claims {
    pub fn observe(&mut self, signal: &Signal) {
        let failed = signal.claims_exit() && signal.success == Some(false);
        self.exit |= signal.claims_exit();
        self.success |= signal.claims_exit() && signal.success == Some(true);
        let reason = signal.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        if let Some(reason) = reason.filter(|_| signal.claims_exit()) {
            self.exit_reason = Some(truncate(reason, REASON_LIMIT).to_owned());
        }
        if failed || signal.kind == Kind::Blocked {
            let words = [&signal.reason, &signal.payload, &signal.message];
            let words = words.into_iter().flatten().map(|words| words.trim()).find(|words| !words.is_empty());
            // The last reason that was given: later ones know more.
            if words.is_some() || self.blocked.is_none() {
                self.blocked = Some(truncate(words.unwrap_or_default(), REASON_LIMIT).to_owned());
            }
        }
    }

    pub fn exit(&self) -> bool {
        self.exit
    }

    /// The last reason that an exit mark gave.
    pub fn exit_reason(&self) -> Option<&str> {
        self.exit_reason.as_deref()
    }

    pub fn success(&self) -> bool {
        self.success && self.blocked.is_none()
    }

    /// The reason, perhaps empty, when the agent said that it cannot succeed. Of several claims the worst holds.
    pub fn blocked(&self) -> Option<&str> {
        self.blocked.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::Claims;
    use crate::signal::{Found, scan};

    fn claims(text: &str) -> Claims {
        let mut claims = Claims::default();
        for found in scan(text.as_bytes()) {
            if let Found::Signal(signal) = found {
                claims.observe(&signal);
            }
        }
        claims
    }

    fn exit(fields: &str) -> String {
        format!("```pilot-signal\n{{\"type\":\"exit\"{fields}}}\n```\n")
    }

    #[test]
    fn a_claim_of_failure_outweighs_one_of_success() {
        let good = exit(r#","success":true"#);
        let bad = exit(r#","success":false,"reason":"no database""#);
        assert_eq!(claims("").blocked(), None);
        assert!(!claims("").exit());
        assert!(claims(&good).success());
        assert_eq!(claims(&bad).blocked(), Some("no database"));
        assert_eq!(claims(&format!("{good}{bad}")).blocked(), Some("no database"));
        assert_eq!(claims(&format!("{bad}{good}")).blocked(), Some("no database"));
        assert_eq!(claims("<pilot:blocked>no key</pilot:blocked>").blocked(), Some("no key"));
        assert_eq!(claims(&exit(r#","success":false"#)).blocked(), Some(""));
    }

    #[test]
    fn a_status_that_is_no_exit_claims_nothing() {
        let status = claims("```pilot-signal\n{\"phase\":\"IMPL\",\"success\":false}\n```\n");
        assert_eq!((status.exit(), status.blocked()), (false, None));
        let banner = claims("EXIT_SIGNAL: true\n");
        assert_eq!((banner.exit(), banner.success(), banner.blocked()), (true, false, None));
    }
}
