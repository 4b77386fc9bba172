//! Git: what is fetched from and pushed to the forge's repository, and the refs that show claims.

use crate::id::{Branch, Sha, TaskKey};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitCall {
    /// Fetches the commit a run starts from: the head of the base branch, or `from`, where work on a branch continues.
    /// Answer: `Base`.
    FetchBase { base: Branch, branch: Branch, from: Option<Sha> },
    /// Fetches a branch and says whether it contains a commit, as far as git can tell. Answer: `Contains`.
    Contains { branch: Branch, sha: Sha },
    /// Creates the claim ref of a task, if there is none. Answer: `Claim`.
    PlaceClaim(TaskKey),
    /// Answer: `Claim`.
    ReadClaim(TaskKey),
    /// Deletes the claim ref, if it is ours. Answer: `Done`, also where there was none.
    ReleaseClaim(TaskKey),
    /// Where a branch is on the forge, if that contains nothing but what `sha` contains. Answer: `Head`.
    Head { branch: Branch, sha: Sha },
    /// Sets a branch of ours to a commit, if it is where it is expected: none for a new branch. Answer: `Done`, also where it
    /// is there already.
    Push { branch: Branch, sha: Sha, expect: Option<Sha> },
    /// Deletes a branch of ours, if it is where it is expected, here and on the forge. Answer: `Done`, also where there was
    /// none.
    DeleteBranch { branch: Branch, expect: Sha },
    /// Deletes branches of merged work from the checkout, each if it is where it is expected. Answer: `Done`.
    ForgetBranches(Vec<(Branch, Sha)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitAnswer {
    Done,
    Base(Sha),
    Contains(bool),
    /// The owner of the claim: none for ours, and where there is none.
    Claim(Option<String>),
    Head(Option<Sha>),
}
