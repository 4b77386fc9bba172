//! Version 5 in stored JSON: tickets by key instead of by number, comments by text, and the words of the ports.
//!
//! Facts, stages, actions and log entries of version 4 are rewritten value by value. Must never know a type of the core:
//! those change, and what version 4 wrote does not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::database::{Transaction, row, values};
use crate::error::Result;

row! {
    struct StoredTask {
        id: String,
        project_path: String,
        task_key: String,
        task_json: String,
        stage: String,
    }
}

row! {
    struct StoredEntry {
        project: String,
        task: String,
        seq: i64,
        at: i64,
        entry: String,
    }
}

row! {
    struct StoredAction {
        project: String,
        task: String,
        key: String,
        action: String,
    }
}

row! {
    struct StoredProject {
        id: String,
        facts: String,
    }
}

/// Rewrites every row that holds JSON of the core.
pub(crate) async fn rewrite_rows(transaction: &mut Transaction) -> Result<()> {
    let logs = rewrite_logs(transaction).await?;
    let tasks: Vec<StoredTask> =
        transaction.all("SELECT id, project_path, task_key, task_json, stage FROM task_queue", &[]).await?;
    for task in tasks {
        let facts = parse(transaction, &task.task_json)?;
        let last = facts.get("last_order").and_then(Value::as_u64);
        let key = (task.project_path, task.task_key);
        let at = last.and_then(|id| logs.commands.get(&(key.0.clone(), key.1.clone(), id))).copied();
        let mut facts = rewrite_value(facts, at.unwrap_or_default());
        facts["life"]["has_begun"] = json!(logs.begun.contains(&key));
        let facts = facts.to_string();
        let stage = rewrite_value(parse(transaction, &task.stage)?, 0).to_string();
        let update = "UPDATE task_queue SET task_json = $2, stage = $3 WHERE id = $1";
        transaction.execute(update, values![task.id, facts, stage]).await?;
    }
    let projects: Vec<StoredProject> = transaction.all("SELECT id, facts FROM projects", &[]).await?;
    for project in projects {
        let facts = rewrite_value(parse(transaction, &project.facts)?, 0).to_string();
        transaction
            .execute("UPDATE projects SET facts = $2 WHERE id = $1", values![project.id, facts])
            .await?;
    }
    let actions: Vec<StoredAction> =
        transaction.all("SELECT project, task, key, action FROM outbox", &[]).await?;
    for row in actions {
        let (key, action) =
            (rewrite_key(&row.key), rewrite_value(parse(transaction, &row.action)?, 0).to_string());
        let update = "UPDATE outbox SET key = $4, action = $5 WHERE project = $1 AND task = $2 AND key = $3";
        transaction.execute(update, values![row.project, row.task, row.key, key, action]).await?;
    }
    Ok(())
}

/// What the logs of version 4 say that its facts do not.
#[derive(Default)]
struct Logs {
    /// When each command by comment was recorded, by project, task and comment.
    commands: BTreeMap<(String, String, u64), i64>,
    /// The tasks of which a run started.
    begun: BTreeSet<(String, String)>,
}

async fn rewrite_logs(transaction: &mut Transaction) -> Result<Logs> {
    let mut logs = Logs::default();
    let tasks: Vec<StoredEntry> =
        transaction.all("SELECT project, task, seq, at, entry FROM task_log", &[]).await?;
    for row in tasks {
        let entry = parse(transaction, &row.entry)?;
        if let Some((id, at)) = command_time(&entry) {
            logs.commands.insert((row.project.clone(), row.task.clone(), id), at);
        }
        if entry.pointer("/happened/what").and_then(Value::as_str) == Some("run_started") {
            logs.begun.insert((row.project.clone(), row.task.clone()));
        }
        let update = "UPDATE task_log SET entry = $4 WHERE project = $1 AND task = $2 AND seq = $3";
        let entry = rewrite_value(entry, row.at).to_string();
        transaction.execute(update, values![row.project, row.task, row.seq, entry]).await?;
    }
    let projects: Vec<StoredEntry> =
        transaction.all("SELECT project, '' AS task, seq, at, entry FROM project_log", &[]).await?;
    for row in projects {
        let entry = rewrite_value(parse(transaction, &row.entry)?, row.at).to_string();
        let update = "UPDATE project_log SET entry = $3 WHERE project = $1 AND seq = $2";
        transaction.execute(update, values![row.project, row.seq, entry]).await?;
    }
    Ok(logs)
}

fn parse(transaction: &Transaction, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| transaction.fail(format!("a stored value is no JSON: {error}")))
}

/// Every task of version 4 was an issue on GitHub.
fn task_key(number: u64) -> Value {
    Value::String(format!("GH-{number}"))
}

/// Rewrites what version 4 stored. `at` is when it was written: the time of a command that came by comment.
fn rewrite_value(value: Value, at: i64) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| rewrite_value(item, at)).collect(),
        Value::Object(map) => rewrite_object(map, at),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// The key of an action: `lane:rest`, of which two lanes have other names now.
fn rewrite_key(key: &str) -> String {
    match key.split_once(':') {
        Some((lane, rest)) => format!("{}:{rest}", rewrite_lane(lane)),
        None => key.to_owned(),
    }
}

/// The time at which the last command by comment of a task was recorded, from its log.
fn command_time(entry: &Value) -> Option<(u64, i64)> {
    let id = entry.pointer("/happened/by/comment/id")?.as_u64()?;
    Some((id, entry.get("at")?.as_i64()?))
}

fn rewrite_lane(lane: &str) -> &str {
    match lane {
        "tell" => "message",
        "close-issue" => "close-ticket",
        other => other,
    }
}

fn rewrite_object(map: Map<String, Value>, at: i64) -> Value {
    let is_reading = map.contains_key("checks") && map.contains_key("statuses");
    let is_action = map.contains_key("do");
    let mut new = Map::new();
    for (name, value) in map {
        let (name, value) = rewrite_field(&name, value, at, is_action);
        if name == "checks" || name == "statuses" {
            let checks = new.entry("checks").or_insert_with(|| json!([]));
            if let (Value::Array(all), Value::Array(more)) = (checks, value) {
                all.extend(more);
            }
        } else if name != "number" || value.is_number() && !is_reading {
            new.insert(name, value);
        }
    }
    // The number of an issue or of a task's facts is its key now; that of a pull request or a life stays.
    if let Some(number) = new.get("number").and_then(Value::as_u64)
        && (new.contains_key("title") && new.contains_key("labels") || new.contains_key("seq"))
    {
        new.remove("number");
        new.insert("key".to_owned(), task_key(number));
    }
    Value::Object(new)
}

/// A field, by its name.
fn rewrite_field(name: &str, value: Value, at: i64, is_action: bool) -> (String, Value) {
    let renamed = |name: &str, value: Value| (name.to_owned(), value);
    match name {
        "what" => renamed(name, rename_word(value, &EVENTS)),
        "do" => renamed(name, rename_word(value, &ACTIONS)),
        "issue" if value.is_u64() => renamed("ticket", rewrite_number(&value)),
        "issue" => renamed("ticket", rewrite_value(value, at)),
        "root" | "by" if value.is_u64() => renamed(name, rewrite_number(&value)),
        "parents" | "depends_on" | "open" if value.is_array() => renamed(name, rewrite_numbers(value)),
        "dependencies" => renamed(name, rewrite_map(value, |key| format!("GH-{key}"))),
        "permission" => renamed("trust", rewrite_permission(value)),
        "happened" => renamed("event", rewrite_value(value, at)),
        "news" => renamed("message", rewrite_value(value, at)),
        "order" if value.is_string() => renamed("command", value),
        "comment" if value.get("login").is_some() => renamed(name, rewrite_comment_source(&value, at)),
        "reach" => renamed("paths", value),
        "silent" => renamed("without_comments", value),
        "issue_closed" if value.is_boolean() => renamed("ticket_closed", value),
        "told" => renamed("messages_sent", value),
        "looks" => renamed("queries", rewrite_queries(value)),
        "last_order" => renamed("last_command", rewrite_last_command(&value, at)),
        "questions" => renamed(name, rewrite_ids(value)),
        "comment" | "to" | "id" if value.is_u64() => renamed(name, rewrite_id(&value)),
        "known" => renamed(name, rewrite_status_comment(&value)),
        "marker" => renamed(name, rewrite_marker(&value)),
        "body" | "comment" if is_action && value.is_string() => renamed(name, without_marker(&value)),
        "key" | "settles" if value.is_string() => {
            renamed(name, json!(rewrite_key(value.as_str().unwrap_or_default())))
        }
        "lane" => renamed(name, json!(rewrite_lane(value.as_str().unwrap_or_default()))),
        "trouble" if value.get("lane").is_none() => {
            let value = rewrite_value(value, at);
            renamed(name, rewrite_map(value, |lane| rewrite_lane(lane).to_owned()))
        }
        "hold" | "why" => renamed(name, rewrite_reason(value, at)),
        "checks" if value.get(0).is_some_and(Value::is_object) => renamed(name, rewrite_checks(value)),
        "statuses" => renamed(name, rewrite_checks(value)),
        _ => renamed(name, rewrite_value(value, at)),
    }
}

const EVENTS: [(&str, &str); 12] = [
    ("issue_seen", "ticket_read"),
    ("issue_gone", "ticket_gone"),
    ("permission_seen", "trust_read"),
    ("dependency_seen", "dependency_read"),
    ("branch_looked_at", "branch_checked"),
    ("ordered", "command_received"),
    ("claim_seen", "claim_read"),
    ("pr_seen", "pr_read"),
    ("base_looked_at", "base_checked"),
    ("heard", "message_received"),
    ("told", "message_sent"),
    ("issue_closed", "ticket_closed"),
];

const ACTIONS: [(&str, &str); 2] = [("tell", "send_message"), ("close_issue", "close_ticket")];

/// Why a task is held, waits, or is stopped.
const REASONS: [(&str, &str); 4] = [
    ("issue_closed", "ticket_closed"),
    ("issue_cap", "ticket_cap"),
    ("stranger", "untrusted"),
    ("elsewhere", "claimed_elsewhere"),
];

fn new_name<'n>(name: &'n str, names: &[(&str, &'n str)]) -> &'n str {
    names.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

fn rename_word(value: Value, names: &[(&str, &str)]) -> Value {
    value.as_str().map(|word| json!(new_name(word, names))).unwrap_or(value)
}

/// A reason is a word, or an object with one field that is named like it.
fn rewrite_reason(value: Value, at: i64) -> Value {
    if value.is_object() {
        rewrite_map(rewrite_value(value, at), |name| new_name(name, &REASONS).to_owned())
    } else {
        rename_word(value, &REASONS)
    }
}

fn rewrite_number(value: &Value) -> Value {
    value.as_u64().map_or(Value::Null, task_key)
}

fn rewrite_numbers(value: Value) -> Value {
    let Value::Array(items) = value else { return value };
    items.into_iter().map(|item| if item.is_u64() { rewrite_number(&item) } else { item }).collect()
}

fn rewrite_map(value: Value, rename: impl Fn(&str) -> String) -> Value {
    let Value::Object(map) = value else { return value };
    map.into_iter().map(|(key, value)| (rename(&key), value)).collect()
}

/// A permission, alone or behind the login that has it.
fn rewrite_permission(value: Value) -> Value {
    let trust = |word: &str| {
        json!(if ["write", "maintain", "admin"].contains(&word) { "trusted" } else { "untrusted" })
    };
    if let Some(word) = value.as_str() {
        return trust(word);
    }
    match (value.get(0), value.get(1).and_then(Value::as_str)) {
        (Some(login), Some(word)) => json!([login, trust(word)]),
        (_, _) => value,
    }
}

/// When a comment was posted is not known: it counts as posted when its command was recorded.
fn rewrite_comment_source(value: &Value, at: i64) -> Value {
    let id = value.get("id").map_or(Value::Null, rewrite_id);
    let login = value.get("login").cloned().unwrap_or_default();
    let trust = value.get("permission").cloned().map_or(Value::Null, rewrite_permission);
    json!({"id": id, "posted_at": at, "login": login, "trust": trust})
}

fn rewrite_queries(value: Value) -> Value {
    let Value::Array(items) = value else { return value };
    let rewrite = |item: Value| {
        if item.is_object() {
            let rename = |name: &str| new_name(name, &[("permission", "trust")]).to_owned();
            rewrite_map(item, rename).as_object().map_or(Value::Null, |map| {
                map.iter().map(|(name, value)| (name.clone(), rewrite_value(value.clone(), 0))).collect()
            })
        } else {
            rename_word(item, &[("issue", "ticket")])
        }
    };
    items.into_iter().map(rewrite).collect()
}

fn rewrite_last_command(value: &Value, at: i64) -> Value {
    match value.as_u64() {
        Some(id) => json!({"posted_at": at, "ids": [id.to_string()]}),
        None => Value::Null,
    }
}

fn rewrite_id(value: &Value) -> Value {
    value.as_u64().map_or_else(|| value.clone(), |id| json!(id.to_string()))
}

fn rewrite_ids(value: Value) -> Value {
    value.as_array().map(|items| items.iter().map(rewrite_id).collect()).unwrap_or(value)
}

fn rewrite_status_comment(value: &Value) -> Value {
    match (value.as_str(), value.get("comment")) {
        (Some("silence"), _) => json!("absent"),
        (Some("nothing"), _) => json!("unknown"),
        (_, Some(id)) => json!({"written": rewrite_id(id)}),
        (_, None) => value.clone(),
    }
}

/// A marker was stored as it was hidden: in an HTML comment.
fn rewrite_marker(value: &Value) -> Value {
    let text = value.as_str().unwrap_or_default();
    json!(text.trim().trim_start_matches("<!--").trim_end_matches("-->").trim())
}

/// A text without the marker at its end, which the adapter adds.
fn without_marker(value: &Value) -> Value {
    let text = value.as_str().unwrap_or_default();
    let is_marked = text.trim_end().ends_with("-->");
    let text = text.rfind("<!-- ").filter(|_| is_marked).map_or(text, |start| &text[..start]);
    json!(text.trim_end())
}

/// Check runs and statuses, by what they mean.
fn rewrite_checks(value: Value) -> Value {
    let Value::Array(items) = value else { return value };
    let rewrite = |item: Value| {
        let name = item.get("name").or_else(|| item.get("context")).cloned().unwrap_or_default();
        let state = item.get("state").cloned().unwrap_or_default();
        let word = state.get("completed").unwrap_or(&state).as_str().unwrap_or_default();
        let meaning = match word {
            "success" => "passed",
            "failure" | "error" | "timed_out" | "startup_failure" => "failed",
            "cancelled" | "stale" | "action_required" => "undecided",
            "skipped" => "skipped",
            "neutral" => "ignored",
            _ => "pending",
        };
        json!({"name": name, "state": meaning})
    };
    items.into_iter().map(rewrite).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{rewrite_key, rewrite_value};

    #[track_caller]
    fn check(before: Value, after: &Value) {
        assert_eq!(rewrite_value(before, 7), *after);
    }

    #[test]
    fn events_and_their_sources_have_their_new_names() {
        check(
            json!({"what": "ordered", "order": "cancel", "by": {"comment": {"id": 5, "login": "ann", "permission": "write"}}}),
            &json!({"what": "command_received", "command": "cancel",
                "by": {"comment": {"id": "5", "posted_at": 7, "login": "ann", "trust": "trusted"}}}),
        );
        check(
            json!({"what": "told", "to": "GH-8", "about": "adopted"}),
            &json!({"what": "message_sent", "to": "GH-8", "about": "adopted"}),
        );
        check(json!({"what": "replied", "to": 5}), &json!({"what": "replied", "to": "5"}));
        check(
            json!({"what": "heard", "news": {"gave_up": {"issue": 8}}}),
            &json!({"what": "message_received", "message": {"gave_up": {"ticket": "GH-8"}}}),
        );
    }

    #[test]
    fn stages_and_holds_have_their_new_names() {
        check(json!({"stage": "continued", "by": 8}), &json!({"stage": "continued", "by": "GH-8"}));
        check(
            json!({"stage": "held", "hold": {"depends_on": {"open": [3]}}}),
            &json!({"stage": "held", "hold": {"depends_on": {"open": ["GH-3"]}}}),
        );
        check(
            json!({"stage": "held", "hold": "issue_closed"}),
            &json!({"stage": "held", "hold": "ticket_closed"}),
        );
        check(
            json!({"stage": "checking", "looks": ["issue", {"permission": {"login": "ann"}}, {"dependency": {"issue": 3}}]}),
            &json!({"stage": "checking", "queries": ["ticket", {"trust": {"login": "ann"}}, {"dependency": {"ticket": "GH-3"}}]}),
        );
    }

    #[test]
    fn actions_lose_their_markers_in_the_text() {
        check(
            json!({"do": "comment", "issue": 1, "known": {"comment": 7}, "body": "Working.\n\n<!-- pilot-status GH-1 -->\n",
                "marker": "<!-- pilot-status GH-1 -->"}),
            &json!({"do": "comment", "ticket": "GH-1", "known": {"written": "7"}, "body": "Working.",
                "marker": "pilot-status GH-1"}),
        );
        assert_eq!(rewrite_key("tell:GH-8/adopted"), "message:GH-8/adopted");
        assert_eq!(rewrite_key("push:pilot/GH-1@abc"), "push:pilot/GH-1@abc");
    }

    #[test]
    fn checks_and_statuses_become_one_list() {
        check(
            json!({"sha": "a", "checks": [{"name": "b", "state": {"completed": "success"}}],
                "statuses": [{"context": "s", "state": "error"}], "required": "unknown"}),
            &json!({"sha": "a", "required": "unknown",
                "checks": [{"name": "b", "state": "passed"}, {"name": "s", "state": "failed"}]}),
        );
    }
}
