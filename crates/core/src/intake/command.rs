//! Orders in comments.

use crate::fact::Order;

/// The order a comment gives: its first line is `/pilot` and one word, and nothing else. Whoever quotes one, gives none.
pub fn read_command(comment: &str) -> Option<Order> {
    let line = comment.trim_start_matches(['\u{feff}', '\r', '\n']).lines().next()?;
    let mut words = line.split_whitespace();
    if line.starts_with(char::is_whitespace) || words.next() != Some("/pilot") {
        return None;
    }
    let order = match words.next()?.to_ascii_lowercase().as_str() {
        "cancel" => Order::Cancel,
        "retry" => Order::Retry,
        "pause" => Order::Pause,
        "resume" => Order::Resume,
        "why" => Order::Why,
        _ => return None,
    };
    words.next().is_none().then_some(order)
}

#[cfg(test)]
mod tests {
    use super::read_command;
    use crate::fact::Order;

    #[test]
    fn only_a_first_line_of_its_own_is_an_order() {
        for (text, expect) in [
            ("/pilot cancel", Some(Order::Cancel)),
            ("/pilot RETRY\n\nbecause it was flaky", Some(Order::Retry)),
            ("\r\n/pilot pause  \r\n", Some(Order::Pause)),
            ("/pilot resume", Some(Order::Resume)),
            ("/pilot why", Some(Order::Why)),
            ("> /pilot cancel", None),
            ("    /pilot cancel", None),
            ("please /pilot cancel", None),
            ("/pilot cancel everything", None),
            ("/pilot", None),
            ("/pilots cancel", None),
            ("first\n/pilot cancel", None),
            ("", None),
        ] {
            assert_eq!(read_command(text), expect, "{text:?}");
        }
        for order in [Order::Cancel, Order::Retry, Order::Pause, Order::Resume, Order::Why] {
            assert_eq!(read_command(&format!("/pilot {}", order.as_str())), Some(order));
        }
    }
}
