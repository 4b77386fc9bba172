//! The short-lived token by which a GitHub App says that it is itself.

use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use crate::http::Moment;

/// GitHub's clock may be behind ours.
const BEFORE: i64 = 60;

/// GitHub takes ten minutes at most.
const AFTER: i64 = 9 * 60;

/// A key to sign with. Never shown.
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

    /// The token of an App; none when the system has no randomness to give.
    pub(super) fn token(&self, app: &str, now: Moment) -> Option<String> {
        let header = json!({"alg": "RS256", "typ": "JWT"});
        let claims = json!({"iat": now.seconds() - BEFORE, "exp": now.seconds() + AFTER, "iss": app});
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let text = format!("{header}.{claims}");
        let mut signature = vec![0; self.0.public_modulus_len()];
        self.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).ok()?;
        Some(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use serde_json::{Value, json};

    use super::SigningKey;
    use crate::http::Moment;

    #[test]
    fn a_token_says_who_until_when_and_is_signed() {
        use aws_lc_rs::signature::KeyPair as _;
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let public = pair.public_key().as_ref().to_vec();
        let der: Vec<u8> =
            AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair).unwrap().as_ref().to_vec();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\r\n{}\r\n-----END PRIVATE KEY-----\r\n",
            STANDARD.encode(der)
        );
        let key = SigningKey::from_pem(&pem).unwrap();
        let token = key.token("12", Moment::from_seconds(1_794_787_141)).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let part = |number: usize| URL_SAFE_NO_PAD.decode(parts[number]).unwrap();
        let said: Value = serde_json::from_slice(&part(1)).unwrap();
        assert_eq!(said, json!({"iat": 1_794_787_081, "exp": 1_794_787_681, "iss": "12"}));
        let head: Value = serde_json::from_slice(&part(0)).unwrap();
        assert_eq!(head, json!({"alg": "RS256", "typ": "JWT"}));
        let signed = format!("{}.{}", parts[0], parts[1]);
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
        assert!(public.verify(signed.as_bytes(), &part(2)).is_ok());
        assert!(!format!("{key:?}").contains("BEGIN"));
    }

    #[test]
    fn what_is_no_key_is_said_so() {
        for (pem, expected) in [
            ("", "does not begin"),
            ("ghp_token", "does not begin"),
            ("-----BEGIN PRIVATE KEY-----\n!!\n-----END PRIVATE KEY-----", "not base64"),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "no RSA key"),
            ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----", "no RSA key"),
            ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "no private key"),
        ] {
            let why = SigningKey::from_pem(pem).unwrap_err();
            assert!(why.contains(expected), "{pem}: {why}");
        }
    }
}
