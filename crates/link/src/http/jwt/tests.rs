use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use super::SigningKey;
use crate::time::from_seconds;

/// A key that opens nothing, as `openssl genrsa` made it.
const PKCS1: &str = include_str!("../../../tests/fixtures/app-key.pkcs1.pem");
/// The same key in its other form.
pub(crate) const PKCS8: &str = include_str!("../../../tests/fixtures/app-key.pem");
/// Its public half.
const PUBLIC: &str = include_str!("../../../tests/fixtures/app-key.public.pem");

#[test]
fn a_token_names_its_issuer_and_expiry_and_is_signed() {
    for pem in [PKCS1, PKCS8, &PKCS8.replace('\n', "\r\n")] {
        check_token(&SigningKey::from_pem(pem).unwrap());
    }
}

fn check_token(key: &SigningKey) {
    let token = key.sign("12", from_seconds(1_794_787_141)).unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let part = |number: usize| URL_SAFE_NO_PAD.decode(parts[number]).unwrap();
    let claims: Value = serde_json::from_slice(&part(1)).unwrap();
    assert_eq!(claims, json!({"iat": 1_794_787_081, "exp": 1_794_787_681, "iss": "12"}));
    let head: Value = serde_json::from_slice(&part(0)).unwrap();
    assert_eq!(head, json!({"alg": "RS256", "typ": "JWT"}));
    let signed = format!("{}.{}", parts[0], parts[1]);
    let public: String = PUBLIC.lines().filter(|line| !line.starts_with("-----")).collect();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, STANDARD.decode(public).unwrap());
    assert!(public.verify(signed.as_bytes(), &part(2)).is_ok());
    assert!(!format!("{key:?}").contains("BEGIN"));
}

#[test]
fn text_that_is_no_key_is_refused() {
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
