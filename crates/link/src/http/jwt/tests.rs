use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::SigningKey;
use crate::time::from_seconds;

fn to_pem(pair: &KeyPair) -> String {
    let der = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(pair).unwrap();
    let text = STANDARD.encode(der.as_ref());
    format!("-----BEGIN PRIVATE KEY-----\r\n{text}\r\n-----END PRIVATE KEY-----\r\n")
}

pub(crate) fn new_pem() -> String {
    to_pem(&KeyPair::generate(KeySize::Rsa2048).unwrap())
}

#[test]
fn a_token_names_its_issuer_and_expiry_and_is_signed() {
    use aws_lc_rs::signature::KeyPair as _;
    let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let public = pair.public_key().as_ref().to_vec();
    let key = SigningKey::from_pem(&to_pem(&pair)).unwrap();
    let token = key.sign("12", from_seconds(1_794_787_141)).unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let part = |number: usize| URL_SAFE_NO_PAD.decode(parts[number]).unwrap();
    let claims: Value = serde_json::from_slice(&part(1)).unwrap();
    assert_eq!(claims, json!({"iat": 1_794_787_081, "exp": 1_794_787_681, "iss": "12"}));
    let head: Value = serde_json::from_slice(&part(0)).unwrap();
    assert_eq!(head, json!({"alg": "RS256", "typ": "JWT"}));
    let signed = format!("{}.{}", parts[0], parts[1]);
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
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
