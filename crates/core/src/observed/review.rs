//! People's reviews of a pull request.

use std::collections::{BTreeMap, BTreeSet};

/// What a review decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    Approve,
    RequestChanges,
}

/// A review that decides something. One that only comments, or that was dismissed, is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrReview {
    pub login: String,
    pub decision: ReviewDecision,
}

/// The users whose last review requests changes. The reviews come in the order of their time; the commit they are about does
/// not matter.
pub fn requests_for_changes(reviews: &[PrReview]) -> BTreeSet<String> {
    let last: BTreeMap<&str, ReviewDecision> =
        reviews.iter().map(|review| (review.login.as_str(), review.decision)).collect();
    let requests = last.into_iter().filter(|(_, decision)| *decision == ReviewDecision::RequestChanges);
    requests.map(|(login, _)| login.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{PrReview, ReviewDecision, requests_for_changes};

    #[test]
    fn the_last_review_of_each_user_counts() {
        use ReviewDecision::{Approve, RequestChanges};
        for (reviews, expect) in [
            (vec![], vec![]),
            (vec![("ann", Approve)], vec![]),
            (vec![("ann", RequestChanges)], vec!["ann"]),
            (vec![("ann", RequestChanges), ("ann", Approve)], vec![]),
            (vec![("ann", Approve), ("ann", RequestChanges)], vec!["ann"]),
            (vec![("ann", RequestChanges), ("bob", Approve)], vec!["ann"]),
            (vec![("bob", RequestChanges), ("ann", RequestChanges), ("bob", Approve)], vec!["ann"]),
        ] {
            let read: Vec<PrReview> = reviews
                .iter()
                .map(|(login, decision)| PrReview { login: (*login).to_owned(), decision: *decision })
                .collect();
            let found: Vec<String> = requests_for_changes(&read).into_iter().collect();
            assert_eq!(found, expect, "{reviews:?}");
        }
    }
}
