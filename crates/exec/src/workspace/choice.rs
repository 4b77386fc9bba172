//! Which of the commits that a run left is its result. A pure choice over what was found.

use std::collections::BTreeSet;

use pilot_core::id::Sha;

use crate::git::Commit;

/// A commit that may be the result, the likeliest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommitCandidate {
    pub(super) sha: Sha,
    /// The commits that are new with it, newest first; none when everything in it was there before the run.
    pub(super) commits: Vec<Commit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResultChoice {
    /// None when the run made no commit.
    pub(super) result: Option<CommitCandidate>,
    /// Commits that are in none of the others, to be pinned beside it.
    pub(super) others: Vec<Sha>,
}

/// The order in which commits are considered: where HEAD is with what lay around, then the branch, then refs the run made.
/// In the middle of a rebase HEAD has a part of the work, and the branch still has all of it.
pub(super) fn order(head: Option<Sha>, branch: Option<Sha>, made: Vec<Sha>, rebasing: bool) -> Vec<Sha> {
    let first = if rebasing { [branch, head] } else { [head, branch] };
    let mut seen = BTreeSet::new();
    first.into_iter().flatten().chain(made).filter(|sha| seen.insert(sha.clone())).collect()
}

/// The first candidate with something new is the result; of the rest, what it does not contain is kept.
pub(super) fn choose(candidates: Vec<CommitCandidate>) -> ResultChoice {
    let mut new = candidates.into_iter().filter(|candidate| !candidate.commits.is_empty());
    let Some(result) = new.next() else { return ResultChoice { result: None, others: Vec::new() } };
    let contained = |sha: &Sha| result.commits.iter().any(|commit| commit.sha == *sha);
    let others = new.map(|candidate| candidate.sha).filter(|sha| !contained(sha)).collect();
    ResultChoice { result: Some(result), others }
}

#[cfg(test)]
mod tests {
    use pilot_core::id::Sha;

    use super::{CommitCandidate, choose, order};
    use crate::git::Commit;

    fn sha(digit: char) -> Sha {
        Sha::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn candidate(commits: &str) -> CommitCandidate {
        let commit = |digit| Commit { sha: sha(digit), parents: Vec::new(), subject: String::new() };
        CommitCandidate {
            sha: sha(commits.chars().next().unwrap_or('0')),
            commits: commits.chars().map(commit).collect(),
        }
    }

    #[test]
    fn the_first_with_news_is_the_result() {
        for (candidates, result, others) in [
            (vec![], None, vec![]),
            (vec![""], None, vec![]),
            (vec!["", "21"], Some('2'), vec![]),
            (vec!["321", "21", "1"], Some('3'), vec![]),
            (vec!["31", "21", "4"], Some('3'), vec!['2', '4']),
        ] {
            let choice = choose(candidates.iter().map(|commits| candidate(commits)).collect());
            assert_eq!(choice.result.map(|result| result.sha), result.map(sha), "{candidates:?}");
            assert_eq!(choice.others, others.into_iter().map(sha).collect::<Vec<_>>(), "{candidates:?}");
        }
    }

    #[test]
    fn a_half_done_rebase_is_not_the_result() {
        let (a, b, c) = (sha('a'), sha('b'), sha('c'));
        let normal = order(Some(a.clone()), Some(b.clone()), vec![c.clone(), a.clone()], false);
        assert_eq!(normal, [a.clone(), b.clone(), c]);
        assert_eq!(order(Some(a.clone()), Some(b.clone()), vec![], true), [b, a]);
    }
}
