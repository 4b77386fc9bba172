//! Polls: what is new on a project's tracker.

use std::time::Duration;

use super::Next;
use crate::fact::{CommandSource, UserCommand};
use crate::intake::read_command;
use crate::observed::{Failure, Ticket, Trust};
use crate::policy::Policy;
use crate::port::{Answer, Call, CommentPlace, PostedComment, Reply, TrackerAnswer, TrackerCall};
use crate::time::Timestamp;

/// How far comments are read again: an unchanged request costs nothing while its answer is unchanged.
const OVERLAP: Duration = Duration::from_secs(300);

/// How much farther back the next poll reads after commands could not be read. The same call would be answered with
/// "unchanged", and they would never be.
const STEP_BACK: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polled {
    /// All open, labelled tickets; none when they are the same as last time.
    pub tickets: Result<Option<Vec<Ticket>>, Failure>,
    pub commands: Result<Vec<PolledCommand>, Failure>,
    /// From when comments are read next time.
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolledCommand {
    pub on: CommentPlace,
    pub command: UserCommand,
    pub by: CommandSource,
}

/// What to do next for a poll, from the replies so far: the tickets, then the comments, then the trust of each author of a
/// command.
pub fn next_poll_step(policy: &Policy, since: Timestamp, said: &[Reply]) -> Next<Polled> {
    let Some((first, rest)) = said.split_first() else {
        return Next::Call(Call::Tracker(TrackerCall::Labelled(policy.label.clone())));
    };
    let tickets = match first {
        Ok(Answer::Tracker(TrackerAnswer::Tickets(tickets))) => Ok(tickets.clone()),
        Ok(answer) => Err(super::wrong_answer(answer)),
        Err(failure) => Err(failure.clone()),
    };
    // Also when the tickets are the same: a closed ticket, or one without the label, is not among them.
    match commands(since, rest) {
        Next::Call(call) => Next::Call(call),
        Next::Done(Ok((commands, since))) => Next::Done(Polled { tickets, commands: Ok(commands), since }),
        Next::Done(Err(failure)) => {
            Next::Done(Polled { tickets, commands: Err(failure), since: since.before(STEP_BACK) })
        }
    }
}

type Commands = Result<(Vec<PolledCommand>, Timestamp), Failure>;

fn commands(since: Timestamp, said: &[Reply]) -> Next<Commands> {
    let Some((first, trusts)) = said.split_first() else {
        return Next::Call(Call::Tracker(TrackerCall::CommentsSince(since)));
    };
    let posted = match first {
        Ok(Answer::Tracker(TrackerAnswer::Posted(posted))) => posted.as_deref().unwrap_or_default(),
        Ok(answer) => return Next::Done(Err(super::wrong_answer(answer))),
        Err(failure) => return Next::Done(Err(failure.clone())),
    };
    let given: Vec<(&PostedComment, UserCommand)> =
        posted.iter().filter_map(|comment| Some((comment, read_command(&comment.text)?))).collect();
    let mut commands = Vec::with_capacity(given.len());
    for (place, (comment, command)) in given.into_iter().enumerate() {
        // The login this Pilot uses counts like any other: many users run Pilot with their own account.
        let trust = match trusts.get(place) {
            None => return Next::Call(Call::Tracker(TrackerCall::Trust(comment.login.clone()))),
            Some(Ok(Answer::Tracker(TrackerAnswer::Trust(trust)))) => *trust,
            Some(Ok(answer)) => return Next::Done(Err(super::wrong_answer(answer))),
            Some(Err(failure)) => return Next::Done(Err(failure.clone())),
        };
        commands.push(PolledCommand { on: comment.on.clone(), command, by: source(comment, trust) });
    }
    let last = posted.iter().map(|comment| comment.posted_at).max().unwrap_or(since);
    let moves = last.since(since) > OVERLAP;
    Next::Done(Ok((commands, if moves { last } else { since })))
}

fn source(comment: &PostedComment, trust: Trust) -> CommandSource {
    CommandSource::Comment {
        id: comment.id.clone(),
        posted_at: comment.posted_at,
        login: comment.login.clone(),
        trust,
        pr: match comment.on {
            CommentPlace::Ticket(_) => None,
            CommentPlace::Pull(pr) => Some(pr),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Polled, PolledCommand, next_poll_step};
    use crate::fact::{CommandSource, UserCommand};
    use crate::id::CommentId;
    use crate::observed::{Failure, FailureKind, Trust};
    use crate::perform::Next;
    use crate::port::{Answer, Call, CommentPlace, PostedComment, Reply, TrackerAnswer, TrackerCall};
    use crate::task::scenario::{at, gh, policy, ticket};

    fn tracker(answer: TrackerAnswer) -> Reply {
        Ok(Answer::Tracker(answer))
    }

    fn posted(id: &str, seconds: i64, text: &str) -> PostedComment {
        PostedComment {
            on: CommentPlace::Ticket(gh(1)),
            id: CommentId::parse(id).unwrap(),
            posted_at: at(seconds),
            login: "ann".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn tickets_then_comments_then_the_trust_of_who_commands() {
        let policy = policy();
        let mut said = Vec::new();
        let step = |said: &[Reply]| next_poll_step(&policy, at(0), said);
        let label = policy.label.clone();
        assert_eq!(step(&said), Next::Call(Call::Tracker(TrackerCall::Labelled(label))));
        said.push(tracker(TrackerAnswer::Tickets(Some(vec![ticket(1)]))));
        assert_eq!(step(&said), Next::Call(Call::Tracker(TrackerCall::CommentsSince(at(0)))));
        let comments = vec![posted("a", 10, "hello"), posted("b", 400, "/pilot cancel")];
        said.push(tracker(TrackerAnswer::Posted(Some(comments))));
        assert_eq!(step(&said), Next::Call(Call::Tracker(TrackerCall::Trust("ann".to_owned()))));
        said.push(tracker(TrackerAnswer::Trust(Trust::Untrusted)));
        let by = CommandSource::Comment {
            id: CommentId::parse("b").unwrap(),
            posted_at: at(400),
            login: "ann".to_owned(),
            trust: Trust::Untrusted,
            pr: None,
        };
        let commands =
            vec![PolledCommand { on: CommentPlace::Ticket(gh(1)), command: UserCommand::Cancel, by }];
        let tickets = Ok(Some(vec![ticket(1)]));
        assert_eq!(step(&said), Next::Done(Polled { tickets, commands: Ok(commands), since: at(400) }));
    }

    #[test]
    fn comments_are_read_although_the_listed_tickets_are_the_same() {
        let policy = policy();
        let mut said = vec![tracker(TrackerAnswer::Tickets(None))];
        let next = next_poll_step(&policy, at(7), &said);
        assert_eq!(next, Next::Call(Call::Tracker(TrackerCall::CommentsSince(at(7)))));
        said.push(tracker(TrackerAnswer::Posted(None)));
        let quiet = Polled { tickets: Ok(None), commands: Ok(Vec::new()), since: at(7) };
        assert_eq!(next_poll_step(&policy, at(7), &said), Next::Done(quiet));
    }

    #[test]
    fn commands_that_could_not_be_read_are_read_again() {
        let policy = policy();
        let failure = || Failure::new(FailureKind::Lost, "");
        let unread = Polled { tickets: Err(failure()), commands: Err(failure()), since: at(6) };
        let lost = [Err(failure()), Err(failure())];
        assert_eq!(next_poll_step(&policy, at(7), &lost), Next::Done(unread.clone()));
        let comments = tracker(TrackerAnswer::Posted(Some(vec![posted("a", 10, "/pilot cancel")])));
        let no_trust = [Err(failure()), comments, Err(failure())];
        assert_eq!(next_poll_step(&policy, at(7), &no_trust), Next::Done(unread));
        let recent = vec![posted("a", 200, "/pilot"), posted("b", 100, "x")];
        let said =
            [tracker(TrackerAnswer::Tickets(Some(vec![]))), tracker(TrackerAnswer::Posted(Some(recent)))];
        let Next::Done(polled) = next_poll_step(&policy, at(0), &said) else { panic!() };
        assert_eq!(polled.since, at(0), "the same request again while little has happened");
    }
}
