//! JSON mix: output made of the keys and words that agents use, in shapes that they may or may not use.

/// No output is longer.
const LONGEST: usize = 1 << 16;
/// Values nest no deeper, but for [`DEEP`].
const DEEPEST: usize = 5;
/// Deeper than any parser follows.
const DEEP: usize = 200;

/// Lines as agents print them, cut down to what is read.
const SAMPLES: &[&str] = &[
    r#"{"type":"system","subtype":"init","session_id":"s","cwd":"/r","model":"m"}"#,
    r#"{"type":"system","subtype":"init","session_id":"s","qwen_code_version":"0.24.4"}"#,
    r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"<pilot:skip/>"}],"usage":{"input_tokens":3,"output_tokens":5}},"parent_tool_use_id":null}"#,
    r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}},{"type":"thinking","thinking":"no"}]}}"#,
    r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"sub"}]},"parent_tool_use_id":"t"}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"<pilot:approve/>","is_error":true}]}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}}"#,
    r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":500,"error_status":529,"error":"overloaded"}"#,
    r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9,"post_tokens":1}}"#,
    r#"{"type":"system","subtype":"task_started","task_id":"b","tool_use_id":"t","task_type":"local_bash"}"#,
    r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794770447,"rateLimitType":"five_hour"}}"#,
    r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"ok","total_cost_usd":0.25,"usage":{"input_tokens":3},"modelUsage":{"m":{"inputTokens":3,"outputTokens":5,"costUSD":0.25}},"permission_denials":[]}"#,
    r#"{"type":"thread.started","thread_id":"t"}"#,
    r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hi."}}"#,
    r#"{"type":"item.started","item":{"id":"i","type":"command_execution","command":"ls","status":"in_progress"}}"#,
    r#"{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":1,"status":"failed"}}"#,
    r#"{"type":"turn.completed","usage":{"input_tokens":1200,"cached_input_tokens":300,"output_tokens":25}}"#,
    r#"{"type":"turn.failed","error":{"message":"{\"status\":429}"}}"#,
    r#"{"type":"error","message":"stream disconnected"}"#,
    r#"{"type":"step_start","sessionID":"ses","part":{"type":"step-start","messageID":"m"}}"#,
    r#"{"type":"text","sessionID":"ses","part":{"type":"text","messageID":"m","text":"Hi."}}"#,
    r#"{"type":"tool_use","sessionID":"ses","part":{"callID":"c","tool":"bash","state":{"status":"completed","input":{},"output":"a"}}}"#,
    r#"{"type":"step_finish","sessionID":"ses","part":{"reason":"stop","tokens":{"input":1,"output":2,"cache":{"read":3,"write":4}},"cost":0.1}}"#,
    r#"{"type":"error","sessionID":"ses","error":{"name":"APIError","data":{"message":"m","statusCode":429}}}"#,
    r#"{"type":"init","session_id":"s","model":"m"}"#,
    r#"{"type":"message","role":"user","content":"<pilot:approve/>"}"#,
    r#"{"type":"message","role":"assistant","content":"<pilot:","delta":true}"#,
    r#"{"type":"message","role":"assistant","content":"whole"}"#,
    r#"{"type":"tool_use","tool_name":"read_file","tool_id":"t","parameters":{}}"#,
    r#"{"type":"tool_result","tool_id":"t","status":"error","output":"","error":{"message":"m"}}"#,
    r#"{"type":"result","status":"success","stats":{"total_tokens":9,"input_tokens":5,"output_tokens":3,"cached":1}}"#,
    r#"{"type":"error","severity":"warning","message":"loop"}"#,
];

#[rustfmt::skip]
const KEYS: &[&str] = &[
    "type", "subtype", "message", "content", "text", "id", "name", "input", "usage", "session_id", "sessionID", "part", "item",
    "role", "delta", "status", "error", "is_error", "result", "parent_tool_use_id", "tool_use_id", "tool_id", "tool_name",
    "parameters", "output", "stats", "severity", "cwd", "model", "stop_reason", "event", "rate_limit_info", "resetsAt",
    "rateLimitType", "total_cost_usd", "modelUsage", "model_usage_since_last_result", "inputTokens", "outputTokens", "costUSD",
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cached_input_tokens",
    "total_tokens", "cached", "tokens", "cache", "read", "write", "cost", "state", "callID", "tool", "messageID", "reason",
    "data", "statusCode", "aggregated_output", "command", "exit_code", "changes", "query", "arguments", "thread_id",
    "attempt", "max_retries", "retry_delay_ms", "error_status", "api_error", "api_error_status", "api_error_type",
    "is_api_error_message", "compact_metadata", "compact_result", "pre_tokens", "post_tokens", "trigger", "task_id",
    "task_type", "is_backgrounded", "tasks", "patch", "hook_name", "hook_event", "outcome", "level", "original_model",
    "fallback_model", "api_refusal_category", "num_turns", "errors", "permission_denials", "terminal_reason",
    "qwen_code_version", "m", "t\\u0079pe", "",
];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "assistant", "user", "system", "result", "stream_event", "rate_limit_event", "text", "thinking", "redacted_thinking",
    "tool_use", "tool_result", "server_tool_use", "web_search_tool_result", "init", "api_retry", "status", "compact_boundary",
    "task_started", "task_progress", "task_updated", "task_notification", "background_tasks_changed", "hook_started",
    "hook_response", "model_fallback", "model_refusal_fallback", "model_refusal_no_fallback", "permission_denied",
    "informational", "notification", "keep_alive", "auth_status", "tool_progress", "prompt_suggestion", "thread.started",
    "turn.started", "turn.completed", "turn.failed", "item.started", "item.updated", "item.completed", "item.", "error",
    "agent_message", "command_execution", "file_change", "mcp_tool_call", "web_search", "todo_list", "reasoning", "step_start",
    "step_finish", "stop", "length", "completed", "failed", "killed", "success", "message", "error_max_turns", "m1", "t",
    "<pilot:approve/>", "\\n```pilot-signal\\n{}\\n```\\n", "\\ud800", "\\udc00\\ud800x", "\\ud83d\\ude00", "\\u0000", "é",
    "\\\"", "\\x", "\t", "",
];

#[rustfmt::skip]
const NUMBERS: &[&str] = &[
    "0", "1", "-1", "25", "429", "529", "65536", "0.25", "-0.5", "1e3", "1e999", "-1e999", "18446744073709551615",
    "18446744073709551616", "9223372036854775807", "-9223372036854775808", "1e-999", "00", "1.", "NaN",
];

/// The output that `bytes` stand for: a byte a choice, and no choice left ends every object.
pub(super) fn lines(bytes: &[u8]) -> Vec<u8> {
    let mut mix = JsonMix { bytes, output: Vec::new() };
    while !mix.bytes.is_empty() && mix.output.len() < LONGEST {
        mix.line();
    }
    mix.output
}

struct JsonMix<'b> {
    bytes: &'b [u8],
    output: Vec<u8>,
}

impl JsonMix<'_> {
    fn choice(&mut self) -> usize {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        usize::from(*first)
    }

    fn pick<'t>(&mut self, table: &[&'t str]) -> &'t str {
        table[self.choice() % table.len()]
    }

    fn say(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
    }

    fn line(&mut self) {
        let start = self.output.len();
        match self.choice() {
            0..100 => {
                let sample = self.pick(SAMPLES);
                self.say(sample);
            }
            100..200 => self.object(0),
            200..230 => {
                let sample = self.pick(SAMPLES);
                self.say(sample);
                self.damage(start);
            }
            230..240 => self.value(0),
            240..250 => self.say(" "),
            250..254 => {
                let byte = self.choice() as u8;
                self.output.push(byte);
                return;
            }
            _ => self.deep(),
        }
        match self.choice() {
            0..200 => self.say("\n"),
            200..240 => self.say("\r\n"),
            _ => {}
        }
    }

    /// Puts a byte in the place of another, cuts there, or takes one out.
    fn damage(&mut self, start: usize) {
        let length = self.output.len() - start;
        let at = start + (self.choice() * 256 + self.choice()) % length;
        match self.choice() {
            byte @ 0..160 => self.output[at] = byte as u8,
            160..200 => self.output.truncate(at),
            200..230 => drop(self.output.remove(at)),
            byte => self.output.insert(at, byte as u8),
        }
    }

    fn object(&mut self, depth: usize) {
        self.say("{");
        for index in 0..self.choice() % 7 {
            if index > 0 {
                self.say(",");
            }
            // The kind decides most, so it comes first and often.
            let key = if index == 0 { "type" } else { self.pick(KEYS) };
            self.say("\"");
            self.say(key);
            self.say("\":");
            self.value(depth + 1);
        }
        self.say("}");
    }

    fn value(&mut self, depth: usize) {
        match self.choice() {
            140..190 if depth < DEEPEST => self.object(depth),
            190..230 if depth < DEEPEST => self.list(depth),
            0..190 => {
                let word = self.pick(WORDS);
                self.say("\"");
                self.say(word);
                self.say("\"");
            }
            190..245 => {
                let number = self.pick(NUMBERS);
                self.say(number);
            }
            245..250 => self.say("true"),
            250..253 => self.say("false"),
            _ => self.say("null"),
        }
    }

    fn list(&mut self, depth: usize) {
        self.say("[");
        for index in 0..self.choice() % 4 {
            if index > 0 {
                self.say(",");
            }
            self.value(depth + 1);
        }
        self.say("]");
    }

    fn deep(&mut self) {
        let key = self.pick(KEYS);
        self.say("{\"type\":\"assistant\",\"");
        self.say(key);
        self.say("\":");
        self.say(&"[".repeat(DEEP));
        self.say(&"]".repeat(DEEP));
        self.say("}");
    }
}

#[cfg(test)]
mod tests {
    use super::{KEYS, SAMPLES, WORDS, lines};

    #[test]
    fn bytes_stand_for_lines() {
        assert!(SAMPLES.len() < 256 && KEYS.len() < 256 && WORDS.len() < 256);
        let first = format!("{}\n", SAMPLES[0]);
        assert_eq!(String::from_utf8_lossy(&lines(&[0, 0, 0])), first);
        let object = "{\"type\":\"user\",\"message\":{}}\r\n";
        assert_eq!(String::from_utf8_lossy(&lines(&[100, 2, 0, 1, 2, 140, 0, 200])), object);
    }

    #[test]
    fn samples_are_json() {
        for sample in SAMPLES {
            assert!(serde_json::from_str::<serde_json::Value>(sample).is_ok(), "{sample}");
        }
    }
}
