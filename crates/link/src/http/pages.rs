//! The next page of a list, as the `Link` header names it.

use reqwest::Url;

/// The address that a `Link` header gives for `rel="next"`, relative to `base`.
///
/// A page elsewhere than at `base`'s own scheme, host and port is none: the token would go there.
pub fn next_page(header: &str, base: &Url) -> Option<Url> {
    let target = links(header).find(|(_, is_next)| *is_next).map(|(target, _)| target)?;
    base.join(target).ok().filter(|url| url.origin() == base.origin())
}

/// Each `<address>; param; param` of the header. Commas may stand inside an address, so `<` and `>` lead the way.
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

    const CASES: [(&str, Option<&str>); 14] = [
        ("<https://api.example/x?page=2>; rel=\"next\"", Some("https://api.example/x?page=2")),
        (
            "<https://api.example/x?page=1>; rel=\"prev\", <https://api.example/x?page=3>; rel=\"next\"",
            Some("https://api.example/x?page=3"),
        ),
        (
            "<https://api.example/x?labels=a,b&page=2>; rel=next",
            Some("https://api.example/x?labels=a,b&page=2"),
        ),
        ("<https://api.example/x>; rel=\"last next\"", Some("https://api.example/x")),
        ("<https://api.example/x>;REL=NEXT;title=\"y\"", Some("https://api.example/x")),
        ("</x?page=2>; rel=\"next\"", Some("https://api.example/x?page=2")),
        ("<https://api.example/x?page=9>; rel=\"last\"", None),
        ("<https://api.example/x?page=9>; rel=\"nextish\"", None),
        ("<https://evil.example/x>; rel=\"next\"", None),
        ("<http://api.example/x>; rel=\"next\"", None),
        ("<https://api.example:444/x>; rel=\"next\"", None),
        ("<https://api.example/x", None),
        ("next", None),
        ("", None),
    ];

    #[test]
    fn the_next_page_is_found_and_only_at_home() {
        let base = Url::parse("https://api.example/repos").unwrap();
        for (header, expected) in CASES {
            assert_eq!(next_page(header, &base).as_ref().map(Url::as_str), expected, "{header}");
        }
    }
}
