//! What a list of labelled tickets says about those that are not in it.

use std::collections::BTreeSet;

use crate::id::TaskKey;
use crate::task::{Hold, Stage, StageGroup};

/// The tasks whose tickets are to be read one by one, because a whole list of the open, labelled ones does not have them:
/// the label is gone, the ticket is closed, or the list is stale. A list alone proves nothing, and one that could not be read
/// says nothing at all.
pub fn missing<'t>(
    listed: &BTreeSet<TaskKey>,
    tracked: impl IntoIterator<Item = (&'t TaskKey, &'t Stage)>,
) -> Vec<TaskKey> {
    let gone = tracked.into_iter().filter(|(key, stage)| !listed.contains(*key) && expects_label(stage));
    gone.map(|(key, _)| key.clone()).collect()
}

/// Whether a task in this stage would be in the list.
fn expects_label(stage: &Stage) -> bool {
    let is_off = matches!(stage, Stage::Held { hold: Hold::TicketClosed | Hold::LabelGone });
    stage.group() != StageGroup::Ended && !is_off
}

#[cfg(test)]
mod tests {
    use super::missing;
    use crate::id::Generation;
    use crate::task::scenario::gh;
    use crate::task::{Hold, Stage};

    #[test]
    fn what_should_be_listed_and_is_not_is_read() {
        let running = Stage::Running { generation: Generation(1) };
        let gone = Stage::Held { hold: Hold::LabelGone };
        let paused = Stage::Held { hold: Hold::Paused { by: "@ann".to_owned() } };
        let keys = [1, 2, 3, 4].map(gh);
        let tracked = keys.iter().zip([&running, &running, &gone, &paused]);
        let listed = [gh(1)].into();
        assert_eq!(missing(&listed, tracked), [gh(2), gh(4)]);
    }
}
