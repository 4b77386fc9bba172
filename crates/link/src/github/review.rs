//! Reviews of pull requests.

use pilot_core::id::PrNumber;
use pilot_core::observed::{PrReview, ReviewDecision};
use serde::Deserialize;

use super::user::{ActorWire, read_author};
use super::{GITHUB, Repo};
use crate::error::LinkError;

#[derive(Deserialize)]
struct ReviewWire {
    id: u64,
    user: Option<ActorWire>,
    state: String,
}

impl Repo {
    /// The reviews that approve or request changes, oldest first.
    pub async fn reviews(&self, pr: PrNumber) -> Result<Vec<PrReview>, LinkError> {
        let action = self.describe(&format!("list the reviews of #{}", pr.0));
        let request = self.list(&action, &["pulls", &pr.0.to_string(), "reviews"], &[])?;
        let list = self.github.pages::<Vec<ReviewWire>, _>(&action, request, |wire| wire.id).await?;
        let reviews = list.items.into_iter().filter_map(|wire| {
            let decision = match wire.state.as_str() {
                "APPROVED" => ReviewDecision::Approve,
                "CHANGES_REQUESTED" => ReviewDecision::RequestChanges,
                "COMMENTED" | "DISMISSED" | "PENDING" => return None,
                // It might request changes, so nothing may be decided without it.
                odd => {
                    let why = format!("a review has the state {odd:?}");
                    return Some(Err(LinkError::malformed(&GITHUB, &action, &why)));
                }
            };
            Some(Ok(PrReview { login: read_author(wire.user.as_ref(), "").login, decision }))
        });
        reviews.collect()
    }
}
