//! What a list of labelled issues says about those that are not in it.

use std::collections::BTreeSet;

use crate::name::IssueNumber;
use crate::task::Stage;

/// A task of ours, as far as this matters.
#[derive(Clone, Copy, Debug)]
pub struct Tracked<'t> {
    /// Its issue.
    pub issue: IssueNumber,
    /// Where it stands.
    pub stage: &'t Stage,
}

/// The issues to be read one by one, because a whole list of the open, labelled ones does not have them: their label is gone,
/// they are closed, or the list is stale. A list alone proves nothing, and one that could not be read says nothing at all.
pub fn missing<'t>(
    listed: &BTreeSet<IssueNumber>,
    tracked: impl IntoIterator<Item = Tracked<'t>>,
) -> Vec<IssueNumber> {
    let gone = tracked.into_iter().filter(|task| !listed.contains(&task.issue) && expects_label(task.stage));
    gone.map(|task| task.issue).collect()
}

/// Whether a task in this stage would be in the list.
fn expects_label(stage: &Stage) -> bool {
    use crate::task::Hold;
    match stage {
        Stage::Ended { .. } | Stage::Held { hold: Hold::IssueClosed | Hold::LabelGone } => false,
        Stage::Checking { .. }
        | Stage::Held { .. }
        | Stage::Waiting { .. }
        | Stage::Queued { .. }
        | Stage::Claiming { .. }
        | Stage::Starting { .. }
        | Stage::Running { .. }
        | Stage::Stopping { .. }
        | Stage::Publishing { .. }
        | Stage::Opening { .. }
        | Stage::AwaitingCi { .. }
        | Stage::Merging { .. }
        | Stage::Failing { .. }
        | Stage::Closing { .. }
        | Stage::Continued { .. }
        | Stage::Landing { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{Tracked, missing};
    use crate::name::{Generation, IssueNumber};
    use crate::task::{Hold, Stage};

    #[test]
    fn what_should_be_listed_and_is_not_is_read() {
        let running = Stage::Running { generation: Generation(1) };
        let gone = Stage::Held { hold: Hold::LabelGone };
        let paused = Stage::Held { hold: Hold::Paused { by: "@ann".to_owned() } };
        let tracked = [(1, &running), (2, &running), (3, &gone), (4, &paused)];
        let tracked = tracked.map(|(issue, stage)| Tracked { issue: IssueNumber(issue), stage });
        let listed = [IssueNumber(1)].into();
        assert_eq!(missing(&listed, tracked), [IssueNumber(2), IssueNumber(4)]);
    }
}
