//! What `claude --output-format stream-json` prints: sessions shaped after recorded ones, a tool's answer told twice
//! as in them.

use serde_json::Value;

use crate::prose;
use crate::random::Random;

/// About `bytes` of whole lines.
pub(crate) struct Transcript {
    pub(crate) text: String,
    /// Marks in what the agent itself says.
    pub(crate) marks: usize,
}

/// What every line of a message ends with.
const TAIL: &str = r#""parent_tool_use_id":null,"session_id":"552936b8-a9f8-478c-b141-bc15522a8a85","uuid":"829c8526-7cc3-40e5-a668-6f9d03fcdabb","timestamp":"2026-11-15T19:43:15.204Z""#;
const USAGE: &str = r#"{"input_tokens":12253,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":1900,"service_tier":"standard"}"#;

impl Transcript {
    pub(crate) fn new(random: &mut Random, bytes: usize) -> Transcript {
        let mut transcript = Transcript { text: String::new(), marks: 0 };
        while transcript.text.len() < bytes {
            transcript.session(random);
        }
        transcript
    }

    fn session(&mut self, random: &mut Random) {
        self.init();
        for _ in 0..random.between(10, 30) {
            self.turn(random);
        }
        self.result();
    }

    fn turn(&mut self, random: &mut Random) {
        for tokens in 1..random.between(2, 6) {
            self.line(&format!(
                r#"{{"type":"system","subtype":"thinking_tokens","estimated_tokens":{tokens},"session_id":"552936b8-a9f8-478c-b141-bc15522a8a85"}}"#
            ));
        }
        self.assistant(
            r#"{"type":"thinking","thinking":"I should look at the file first.","signature":"c2ln"}"#,
        );
        let length = random.between(100, 3000);
        let mut said = prose::plain(random, length);
        if random.once_in(2) {
            said.push_str(&prose::mark(self.marks));
            self.marks += 1;
        }
        for piece in 0..random.between(0, 4) {
            self.line(&format!(
                r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":{piece},"delta":{{"type":"text_delta","text":"the test"}}}},{TAIL}}}"#
            ));
        }
        self.assistant(&format!(r#"{{"type":"text","text":{}}}"#, quoted(&said)));
        self.assistant(
            r#"{"type":"tool_use","id":"toolu_9d7151b51b7b44318ececa37","name":"Bash","input":{"command":"cargo test 2>&1 | tail -50","description":"run the tests"}}"#,
        );
        let length =
            if random.once_in(12) { random.between(20_000, 100_000) } else { random.between(200, 6000) };
        self.tool_result(&prose::plain(random, length));
    }

    fn init(&mut self) {
        let tools = vec![r#""Bash""#; 24].join(",");
        let commands = vec![r#""code-review""#; 60].join(",");
        self.line(&format!(
            r#"{{"type":"system","subtype":"init","cwd":"/repo","session_id":"552936b8-a9f8-478c-b141-bc15522a8a85","tools":[{tools}],"mcp_servers":[],"model":"claude-opus-5-5","permissionMode":"bypassPermissions","slash_commands":[{commands}]}}"#
        ));
    }

    fn assistant(&mut self, block: &str) {
        self.line(&format!(
            r#"{{"type":"assistant","message":{{"id":"msg_bcc79c35ba4548e2953850c5","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{USAGE},"context_management":null}},{TAIL},"request_id":"req_7d053e64c59d4c48a408"}}"#
        ));
    }

    fn tool_result(&mut self, output: &str) {
        let output = quoted(output);
        self.line(&format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_9d7151b51b7b44318ececa37","type":"tool_result","content":{output},"is_error":false}}]}},{TAIL},"tool_use_result":{{"stdout":{output},"stderr":"","interrupted":false,"isImage":false}}}}"#
        ));
    }

    fn result(&mut self) {
        self.line(&format!(
            r#"{{"duration_api_ms":94,"stop_reason":"end_turn","session_id":"552936b8-a9f8-478c-b141-bc15522a8a85","total_cost_usd":0.120432,"usage":{USAGE},"modelUsage":{{"claude-opus-5-5":{{"inputTokens":28823,"outputTokens":238,"costUSD":0.120432}}}},"permission_denials":[],"type":"result","subtype":"success","is_error":false,"duration_ms":354,"num_turns":5,"result":"Fixed and committed."}}"#
        ));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
