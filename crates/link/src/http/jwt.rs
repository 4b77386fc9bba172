//! The short-lived, signed token (RFC 7519, RS256) by which an app authenticates.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pilot_core::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;

use crate::time::seconds;

/// The service's clock may be behind ours.
const BEFORE: i64 = 60;

/// GitHub takes ten minutes at most.
const AFTER: i64 = 9 * 60;

pub(super) struct SigningKey(RsaKeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey([redacted])")
    }
}

impl SigningKey {
    /// Reads `-----BEGIN RSA PRIVATE KEY-----` (as GitHub hands it out) or `-----BEGIN PRIVATE KEY-----`.
    pub(super) fn from_pem(pem: &str) -> Result<Self, &'static str> {
        let lines = || pem.lines().map(str::trim);
        let kind = lines()
            .find_map(|line| line.strip_prefix("-----BEGIN ")?.strip_suffix("-----"))
            .ok_or("it does not begin with -----BEGIN")?;
        let inside = lines().skip_while(|line| !line.starts_with("-----BEGIN ")).skip(1);
        let text: String = inside.take_while(|line| !line.starts_with("-----END ")).collect();
        let der = STANDARD.decode(text).map_err(|_| "what is between BEGIN and END is not base64")?;
        let key = match kind {
            "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der),
            "PRIVATE KEY" => RsaKeyPair::from_pkcs8(&der),
            _ => return Err("it is no private key, or has a password"),
        };
        key.map(Self).map_err(|_| "it is no RSA key of 2048 bits or more")
    }

    /// A signed token for `issuer`; none when the system has no randomness.
    pub(super) fn sign(&self, issuer: &str, now: Timestamp) -> Option<String> {
        let header = json!({"alg": "RS256", "typ": "JWT"});
        let claims = json!({"iat": seconds(now) - BEFORE, "exp": seconds(now) + AFTER, "iss": issuer});
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let text = format!("{header}.{claims}");
        let mut signature = vec![0; self.0.public().modulus_len()];
        self.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).ok()?;
        Some(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

#[cfg(test)]
pub(super) mod tests;
