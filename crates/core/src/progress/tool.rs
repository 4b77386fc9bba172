//! What a tool use says about the work, for the agents we know.

use serde::{Deserialize, Serialize};

use super::command::guess_activity;
use crate::text::word_enum;

#[derive(Clone, Copy, Debug)]
pub struct ToolUse<'a> {
    /// The tool, as the agent's program names it.
    pub name: &'a str,
    /// The command line, when the tool runs one.
    pub command: Option<&'a str>,
    /// The file, when the tool works on one.
    pub path: Option<&'a str>,
}

word_enum! {
    /// What the agent seems to be doing. A command that does several things does the last of this list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Activity {
        Exploring = "exploring",
        Delegating = "delegating",
        Installing = "installing",
        Implementing = "implementing",
        Testing = "testing",
        Committing = "committing",
    }
}

impl Activity {
    /// How far a task usually is then; a sub-agent may be asked for anything.
    pub fn percent(self) -> Option<u8> {
        match self {
            Activity::Exploring => Some(15),
            Activity::Delegating => None,
            Activity::Installing => Some(30),
            Activity::Implementing => Some(40),
            Activity::Testing => Some(70),
            Activity::Committing => Some(90),
        }
    }
}

pub(super) fn activity(tool: &ToolUse<'_>) -> Option<Activity> {
    match family(tool.name)? {
        Family::Looks => Some(Activity::Exploring),
        Family::Delegates => Some(Activity::Delegating),
        Family::Changes if tool.path.is_some_and(is_notebook) => None,
        Family::Changes => Some(Activity::Implementing),
        Family::Runs => guess_activity(tool.command?),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Looks,
    Changes,
    Runs,
    Delegates,
}

/// The tools of claude, codex, opencode, gemini and qwen. Letter case and underscores differ between them and
/// do not matter.
fn family(name: &str) -> Option<Family> {
    let plain: String =
        name.chars().filter(|c| *c != '_' && *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    let families = [
        (Family::Looks, LOOKS),
        (Family::Changes, CHANGES),
        (Family::Runs, RUNS),
        (Family::Delegates, DELEGATES),
    ];
    families
        .into_iter()
        .find(|(_, names)| names.split(' ').any(|name| name == plain))
        .map(|(family, _)| family)
}

const LOOKS: &str = "read readfile readmanyfiles notebookread viewimage view grep grepfiles grepsearch ripgrep \
    searchfilecontent glob ls list listdir listdirectory lsp search codesearch toolsearch webfetch websearch \
    googlewebsearch codebaseinvestigator";
const CHANGES: &str = "edit multiedit write writefile notebookedit replace patch applypatch filechange";
const RUNS: &str =
    "bash shell execcommand commandexecution localshell localshellcall containerexec runshellcommand";
const DELEGATES: &str = "task agent delegatetoagent spawnagent";

/// Below `.agent/` Navigator keeps notes on the task; writing there is not working on it.
fn is_notebook(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part == ".agent")
}

#[cfg(test)]
mod tests {
    use super::{Activity, ToolUse, activity};

    #[test]
    fn the_tools_of_every_agent_are_known() {
        for (names, expected) in [
            (
                "Read Grep Glob LS NotebookRead WebFetch WebSearch ToolSearch view_image read_file list_dir grep_files \
                 web_search read grep glob list webfetch codesearch lsp list_directory read_many_files \
                 search_file_content grep_search google_web_search web_fetch codebase_investigator",
                Some(Activity::Exploring),
            ),
            (
                "Edit Write MultiEdit NotebookEdit apply_patch file_change edit write multiedit patch write_file replace",
                Some(Activity::Implementing),
            ),
            ("Task Agent task delegate_to_agent spawn_agent", Some(Activity::Delegating)),
            (
                "Bash bash shell exec_command command_execution local_shell_call run_shell_command",
                Some(Activity::Testing),
            ),
            (
                "TodoWrite todowrite todo_list write_todos update_plan Skill ExitPlanMode BashOutput KillShell \
                 save_memory mcp__pilot__signal mcp_tool_call reader",
                None,
            ),
        ] {
            for name in names.split_whitespace() {
                let tool = ToolUse { name, command: Some("cargo test"), path: None };
                assert_eq!(activity(&tool), expected, "{name}");
            }
        }
    }

    #[test]
    fn a_shell_without_a_command_says_nothing() {
        assert_eq!(activity(&ToolUse { name: "Bash", command: None, path: None }), None);
    }

    #[test]
    fn notes_are_not_work() {
        for (path, expected) in [
            (".agent/tasks/TASK-1.md", None),
            ("/repo/.agent/.context-markers/x.md", None),
            ("src/.agent.rs", Some(Activity::Implementing)),
            ("src/main.rs", Some(Activity::Implementing)),
        ] {
            assert_eq!(
                activity(&ToolUse { name: "Write", command: None, path: Some(path) }),
                expected,
                "{path}"
            );
        }
    }
}
