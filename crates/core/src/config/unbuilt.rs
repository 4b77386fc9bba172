//! Keys whose effect is not built yet: known by name, so that a configuration written for all of Pilot loads.
//!
//! They are accepted with a notice. What would turn something on is an error: who asks for a gate or a budget
//! must not go without one unawares.

use std::sync::LazyLock;

/// The names, in shorthand: `{a,b}` is either, `[]` an item of a list, `*` any name, `**` anything below. `!` in front:
/// a value there turns the thing on.
const NAMES: &[&str] = &[
    "version",
    "default_project",
    "team_id",
    "team.{enabled,team_id,member_email}",
    "auth.{type,!token}",
    "dashboard.{refresh_interval,show_logs}",
    "gateway.{enabled,host,port}",
    "logging.rotation.max_age",
    "approval.**",
    "tunnel.{enabled,provider,domain,port}",
    "webhooks.{enabled,defaults.**}",
    "!webhooks.endpoints.**",
    "adapters.{gitlab,azure_devops,linear,jira,asana,plane,telegram,slack,discord}.{enabled,project_path,webhook_secret,pilot_label,pilot_tag}",
    "adapters.{gitlab,azure_devops,linear,jira,asana,plane,telegram,slack,discord}.polling.{enabled,interval,label}",
    "adapters.github.{project_path,webhook_secret,pilot_tag,project_board.**,polling.enabled}",
    "adapters.{github,gitlab,azure_devops}.stale_label_cleanup.{enabled,interval,threshold,failed_threshold}",
    "adapters.gitlab.{token,base_url,api_url,project}",
    "adapters.azure_devops.{pat,organization,project,repository,base_url,api_url,work_item_types}",
    "adapters.linear.{api_key,team_id,project_ids,auto_assign,workspaces.**,api_url}",
    "adapters.jira.{platform,base_url,api_url,username,api_token,project_key,transitions.{in_progress,done}}",
    "adapters.asana.{access_token,workspace_id,api_url}",
    "adapters.plane.{api_url,base_url,api_token,api_key,project_board,workspace_slug,project_ids}",
    "adapters.telegram.{bot_token,chat_id,allowed_ids,plain_text_mode,api_url}",
    "adapters.telegram.{transcription,rate_limit,llm_classifier}.**",
    "adapters.slack.{bot_token,app_token,channel,signing_secret,socket_mode,allowed_users,allowed_channels,api_url,approval.**}",
    "adapters.discord.{bot_token,bot_id,guild_id,channel_ids,allowed_guilds,allowed_channels,command_prefix,api_url}",
    "adapters.discord.{rate_limit,llm_classifier}.**",
    "orchestrator.{model,execution.wait_for_merge}",
    "orchestrator.daily_brief.{enabled,time,schedule,timezone,channels,content.**,filters.**}",
    "orchestrator.autopilot.{default_environment,environments.**,name,approval_source,approval_timeout}",
    "orchestrator.autopilot.{github_review.poll_interval,auto_review,dev_ci_timeout,ci_checks.mode,ci_fix}",
    "orchestrator.autopilot.{auto_create_issues,issue_labels,notify_on_failure,review_feedback.{enabled,max_iterations}}",
    "orchestrator.autopilot.{max_rebase_attempts,merged_pr_scan_window}",
    "orchestrator.autopilot.release.{trigger,version_strategy,generate_changelog,notify_on_release,require_ci}",
    "executor.decompose.{enabled,min_complexity,max_subtasks,min_description_words}",
    "executor.intent_judge.{enabled,model,max_diff_chars}",
    "executor.navigator.{auto_init,templates_path}",
    "executor.hooks.{enabled,run_tests_on_stop,block_destructive,lint_on_save}",
    "executor.retry.decompose_on_kill",
    "executor.simplification.{enabled,trigger,scope,skip_patterns,max_file_size,preserve_comments}",
    "executor.planning.model",
    "executor.claude_code.{command,use_structured_output,use_session_resume,use_from_pr,disable_1m_context,max_output_tokens}",
    "executor.claude_code.{mcp_config_path,gh_guard,disable_navigator_for_epic}",
    "executor.qwen_code.{command,use_session_resume}",
    "executor.opencode.{server_url,model,provider,auto_start_server,server_command,request_timeout}",
    "executor.subprocess_limits.{enabled,max_rss_mb,sample_interval_sec}",
    "executor.{auto_create_pr,direct_commit,detect_ephemeral,use_worktree,worktree_pool_size}",
    "executor.{sync_main_after_task,pre_push_lint,planning_timeout,api_base_url,api_auth_token,stall_timeout_ms}",
    "executor.stagnation.{state_history_size,identical_states_threshold,grace_period,commit_partial_work}",
    "memory.cross_project",
    "memory.learning.{enabled,min_confidence,max_patterns,include_anti}",
    "quality.on_failure.notify_on",
    "!prompts.**",
    "alerts.{enabled,defaults.{cooldown,default_severity,suppress_duplicates}}",
    "!alerts.{channels,rules}.**",
    "projects.[].{navigator,reviewers,team_reviewers,linear.project_id}",
];

/// Flags for what Pilot does anyway: to turn them on is no mistake.
pub(super) const ALWAYS_ON: [&str; 1] = ["adapters.github.polling.enabled"];

/// Sections that a project may have in its own file once they are built.
pub(super) const FOR_PROJECTS: [&str; 2] = ["quality", "prompts"];

struct Name {
    parts: Vec<String>,
    turns_on: bool,
}

static EXPANDED: LazyLock<Vec<Name>> = LazyLock::new(|| NAMES.iter().flat_map(|name| expand(name)).collect());

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Whether a value there turns the thing on.
    pub(super) turns_on: bool,
}

/// What is known of a path: it is one of the names, or a section with some of them below.
pub(super) fn look_up(path: &str) -> Option<Known> {
    let parts: Vec<&str> = path.split('.').collect();
    let mut known: Option<Known> = None;
    for name in EXPANDED.iter() {
        match fits(&name.parts, &parts) {
            Fit::No => {}
            Fit::Section => known = known.or(Some(Known { turns_on: false })),
            Fit::Whole => return Some(Known { turns_on: name.turns_on }),
        }
    }
    known
}

#[cfg(test)]
pub(super) fn knows(path: &str) -> bool {
    look_up(path).is_some()
}

pub(super) fn below(section: &str) -> Vec<&'static str> {
    let parts: Vec<&str> = section.split('.').filter(|part| !part.is_empty()).collect();
    let mut names: Vec<&'static str> = EXPANDED
        .iter()
        .filter(|name| name.parts.len() > parts.len() && fits(&name.parts, &parts) != Fit::No)
        .map(|name| name.parts[parts.len()].as_str())
        .filter(|name| !["**", "*", "[]"].contains(name))
        .collect();
    names.dedup();
    names
}

pub(super) fn all() -> impl Iterator<Item = String> {
    EXPANDED.iter().map(|name| name.parts.join("."))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    No,
    /// The path is a section above the name.
    Section,
    Whole,
}

fn fits(name: &[String], path: &[&str]) -> Fit {
    for (index, part) in path.iter().enumerate() {
        match name.get(index).map(String::as_str) {
            Some("**") => return Fit::Whole,
            Some(known) if known == "*" || known == *part => {}
            Some(_) | None => return Fit::No,
        }
    }
    // `a.**` is also `a` itself.
    let rest = &name[path.len()..];
    if rest.is_empty() || rest == ["**"] { Fit::Whole } else { Fit::Section }
}

fn expand(name: &str) -> Vec<Name> {
    let all = alternatives(name).into_iter();
    all.map(|text| Name {
        turns_on: text.contains('!'),
        parts: text.replace('!', "").split('.').map(str::to_owned).collect(),
    })
    .collect()
}

/// `a.{b,c.{d,e}}` gives `a.b`, `a.c.d`, `a.c.e`.
fn alternatives(text: &str) -> Vec<String> {
    let Some(open) = text.find('{') else { return vec![text.to_owned()] };
    let close = closing(text, open);
    let ends = alternatives(&text[close + 1..]);
    let mut whole = Vec::new();
    for middle in split_top(&text[open + 1..close]).into_iter().flat_map(alternatives) {
        whole.extend(ends.iter().map(|end| format!("{}{middle}{end}", &text[..open])));
    }
    whole
}

fn closing(text: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (index, c) in text.char_indices().skip(open) {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return index,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len() - 1
}

fn split_top(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    text.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{Known, below, expand, look_up};

    #[test]
    fn shorthand_is_written_out() {
        let names: Vec<String> = expand("a.{b,!c.{d,e}}.f")
            .iter()
            .map(|name| format!("{}{}", name.turns_on, name.parts.join(".")))
            .collect();
        assert_eq!(names, ["falsea.b.f", "truea.c.d.f", "truea.c.e.f"]);
    }

    #[test]
    fn names_sections_and_strangers() {
        let plain = Some(Known { turns_on: false });
        for (path, known) in [
            ("gateway", plain),
            ("adapters.gitlab.polling.interval", plain),
            ("adapters.gitlab", plain),
            ("adapters.discord.channel_ids", plain),
            ("projects", plain),
            ("projects.[].linear.project_id", plain),
            ("quality", plain),
            ("alerts.rules", Some(Known { turns_on: true })),
            ("alerts.rules.[].name", Some(Known { turns_on: true })),
            ("adapters.gitlab.tokn", None),
            ("gatway", None),
            ("executor.backend", None),
            ("", None),
        ] {
            assert_eq!(look_up(path), known, "{path:?}");
        }
        assert!(below("").contains(&"gateway"));
        assert_eq!(below("executor.intent_judge"), ["enabled", "model", "max_diff_chars"]);
    }
}
