//! The next page of a list, from the `Link` header (RFC 8288).

use reqwest::Url;

/// The address that a `Link` header gives for `rel="next"`, relative to `base`; none on the last page.
///
/// An address with another scheme, host or port than `base` is refused: the token would be sent there.
pub(super) fn next_page(header: &str, base: &Url) -> Result<Option<Url>, String> {
    let Some((target, _)) = links(header).find(|(_, is_next)| *is_next) else { return Ok(None) };
    let url = base.join(target).ok().filter(|url| url.origin() == base.origin());
    url.map(Some).ok_or_else(|| target.chars().take(200).collect())
}

/// Each `<address>; param; param` of the header. Addresses may contain commas, so `<` and `>` are the separators.
fn links(header: &str) -> impl Iterator<Item = (&str, bool)> {
    header.split('<').skip(1).filter_map(|link| {
        let (target, params) = link.split_once('>')?;
        Some((target, params.split([';', ',']).any(is_next)))
    })
}

fn is_next(param: &str) -> bool {
    let Some((name, value)) = param.split_once('=') else { return false };
    let mut words = value.trim().trim_matches('"').split_ascii_whitespace();
    name.trim().eq_ignore_ascii_case("rel") && words.any(|word| word.eq_ignore_ascii_case("next"))
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::next_page;

    const CASES: [(&str, Result<Option<&str>, ()>); 14] = [
        ("<https://api.example/x?page=2>; rel=\"next\"", Ok(Some("https://api.example/x?page=2"))),
        (
            "<https://api.example/x?page=1>; rel=\"prev\", <https://api.example/x?page=3>; rel=\"next\"",
            Ok(Some("https://api.example/x?page=3")),
        ),
        (
            "<https://api.example/x?labels=a,b&page=2>; rel=next",
            Ok(Some("https://api.example/x?labels=a,b&page=2")),
        ),
        ("<https://api.example/x>; rel=\"last next\"", Ok(Some("https://api.example/x"))),
        ("<https://api.example/x>;REL=NEXT;title=\"y\"", Ok(Some("https://api.example/x"))),
        ("</x?page=2>; rel=\"next\"", Ok(Some("https://api.example/x?page=2"))),
        ("<https://api.example/x?page=9>; rel=\"last\"", Ok(None)),
        ("<https://api.example/x?page=9>; rel=\"nextish\"", Ok(None)),
        ("<https://evil.example/x>; rel=\"next\"", Err(())),
        ("<http://api.example/x>; rel=\"next\"", Err(())),
        ("<https://api.example:444/x>; rel=\"next\"", Err(())),
        ("<https://api.example/x", Ok(None)),
        ("next", Ok(None)),
        ("", Ok(None)),
    ];

    #[test]
    fn the_next_page_is_found_on_the_same_origin_only() {
        let base = Url::parse("https://api.example/repos").unwrap();
        for (header, expected) in CASES {
            let next = next_page(header, &base).map_err(|_| ());
            assert_eq!(
                next.as_ref().map(|url| url.as_ref().map(Url::as_str)),
                expected.as_ref().map(|url| *url),
                "{header}"
            );
        }
    }
}
