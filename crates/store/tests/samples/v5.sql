INSERT INTO executions (id, task_id, title, project_path, status, class, reason, started_at, completed_at, duration_ms, output, error, branch, base_sha, commit_sha, commits, files_changed, pr_url, route, attempts, gates, review, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd, progress, phase, final_message, backend, model, session_id, session_usage, owner_pid, owner_started) VALUES
    ('019a7a2d-ac00-7000-8000-000000000001', 'GH-1', 'Add login', '/srv/app', 'completed', NULL, 'done', 1763000000000000, 1763000060000000, 60000, 'Done.', NULL, 'pilot/GH-1', 'aaaa', 'bbbb', 1, 3, 'https://forge/pr/1', '{"complexity":"simple"}', 1, '[]', 'approved', 100, 20, 3000, 400, 0.25, 100, 'COMPLETE', 'Done.', 'claude-code', 'claude-sonnet-4-6', 'session-1', '{"input_tokens":100}', 4711, 'boot:100'),
    ('019a7a2d-ac01-7000-8000-000000000002', 'GH-2', 'Fix it', '/srv/app', 'running', NULL, NULL, 1763000000001000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'codex', NULL, NULL, NULL, 4712, 'boot:200');

INSERT INTO execution_logs (id, execution_id, at, level, source, line) VALUES
    (1, '019a7a2d-ac00-7000-8000-000000000001', 1763000000000000, 'info', 'runner', 'started'),
    (2, '019a7a2d-ac00-7000-8000-000000000001', 1763000060000000, 'info', 'backend', 'Final assistant message: Done.');

INSERT INTO execution_stream (execution_id, seq, at_ms, kind, bytes) VALUES
    ('019a7a2d-ac00-7000-8000-000000000001', 0, 10, 'stdout', X'7b7d0a'),
    ('019a7a2d-ac00-7000-8000-000000000001', 1, 20, 'note', X'78');

INSERT INTO ledger (execution_id, task_id, project_path, charged_at, usd_micros, tokens, agent_ms, basis) VALUES
    ('019a7a2d-ac00-7000-8000-000000000001', 'GH-1', '/srv/app', 1763000060000000, 250000, 520, 60000, 'reported');

INSERT INTO reservations (execution_id, task_id, project_path, reserved_at, reserved_micros, usd_micros, tokens, agent_ms, basis, owner_pid, owner_started) VALUES
    ('019a7a2d-ac01-7000-8000-000000000002', 'GH-2', '/srv/app', 1763000000001000, 750000, 1000, 40, 2000, 'priced', 4712, 'boot:200');

INSERT INTO budget_warnings (subject, day, told_at) VALUES
    ('daily near', 1762988400000000, 1763000060000000);

INSERT INTO retries (project_path, task_id, counter, attempts) VALUES
    ('/srv/app', 'GH-1', 'api_error', 2);

INSERT INTO classifications (question, answer, answered_at) VALUES
    ('abcd', '{"complexity":"simple"}', 1763000000000000);

INSERT INTO pipeline_runs (id, project_path, fingerprint, inputs, part, base_sha, status, reason, started_at, ended_at) VALUES
    ('019a7a2d-ac02-7000-8000-000000000003', '/srv/app', 'abcd', '{"goal":"login"}', 'whole', 'aaaa', 'failed', 'review: no approve', 1763000000000000, 1763000060000000);

INSERT INTO pipeline_facts (run_id, seq, at, step, fact, decision) VALUES
    ('019a7a2d-ac02-7000-8000-000000000003', 0, 1763000000000000, 'review', '{"fact":"started","worker":"codex","input":"x"}', 'attempt 1 by codex');

INSERT INTO projects (id, facts, version, wake, changed_at) VALUES
    ('github:acme/app', '{"active":{"GH-2":{"paths":{"named":["src/2"]},"root":"GH-2","running":true,"until":9223372036854775807},"GH-3":{"paths":{"named":["src/3"]},"root":"GH-3","running":true,"until":9223372036854775807}},"budget":null,"failed":null,"failures":0,"id":"github:acme/app","merges":[1763036068000000],"opened":[],"paused":"ann","seq":2,"tag":["v0.1.0","dddddddddddddddddddddddddddddddddddddddd"],"trouble":{},"unreleased":[]}', 12, NULL, 1763036905000000);

INSERT INTO task_queue (id, project_path, task_key, task_json, status, stage, version, rank, wake, created_at, started_at, completed_at, changed_at) VALUES
    ('github:acme/app/GH-1', 'github:acme/app', 'GH-1', '{"claim_shown":false,"comment":{"fingerprint":"b5a9df8651372ff2","id":"7","writes":2},"dependencies":{},"generation":1,"gone":false,"key":"GH-1","labels":{"at":1763036130000000,"labels":["pilot-done"],"writes":2},"last_command":null,"life":{"abandoned":0,"attempts":1,"branch_found":null,"branch_settled":true,"cancelled":null,"ci":{"last":1763036037000000,"reading":{"checks":[{"name":"test","state":"passed"}],"required":{"known":[]},"sha":"cccccccccccccccccccccccccccccccccccccccc"},"since":1763035975000000},"claim":null,"elsewhere":null,"ended":[{"done":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}},1763036099000000],"has_begun":true,"fix":null,"landed":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100},"not_on_base":null,"number":0,"paused":null,"pr":{"closed":null,"closed_by_us":false,"opened":1763035944000000,"pr":{"branch":"pilot/GH-1","head":"cccccccccccccccccccccccccccccccccccccccc","mergeable":"yes","number":100,"state":{"merged":{"commit":"dddddddddddddddddddddddddddddddddddddddd"}}}},"pushed":{"at":1763035882000000,"branch":"pilot/GH-1","sha":"cccccccccccccccccccccccccccccccccccccccc"},"run":{"at":1763035851000000,"ending":{"completed":{"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","cost_micro_usd":250000,"files_changed":3,"gates":[],"review":"approved","route":null,"sha":"cccccccccccccccccccccccccccccccccccccccc"}},"generation":1},"ticket_closed":true},"lineage":null,"lost":[],"messages_sent":[],"project":"github:acme/app","questions":[],"seq":21,"superseded":[],"ticket":[{"author":{"kind":"person","login":"ann"},"body":{"depends_on":[],"hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","paths":{"named":["src/1"]},"unread":[]},"created_at":1763035201000000,"key":"GH-1","labels":["pilot"],"state":"open","title":"Add login to number 1","updated_at":1763035200000000},1763035541000000],"trouble":{},"trust":["ann","trusted"]}', 'done', '{"ending":{"done":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}},"stage":"ended"}', 32, NULL, NULL, 1763035541000000, 1763035727000000, 1763036099000000, 1763036192000000),
    ('github:acme/app/GH-3', 'github:acme/app', 'GH-3', '{"claim_shown":false,"comment":null,"dependencies":{},"generation":1,"gone":false,"key":"GH-3","labels":null,"last_command":null,"life":{"abandoned":0,"attempts":0,"branch_found":null,"branch_settled":false,"cancelled":null,"ci":null,"claim":{"at":1763036874000000,"generation":1,"instance":"i0","placed":false,"started":null},"elsewhere":null,"ended":null,"fix":null,"landed":null,"not_on_base":null,"number":0,"paused":null,"pr":null,"pushed":null,"run":null,"ticket_closed":false},"lineage":null,"lost":[],"messages_sent":[],"project":"github:acme/app","questions":[],"seq":4,"superseded":[],"ticket":[{"author":{"kind":"person","login":"ann"},"body":{"depends_on":[],"hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","paths":{"named":["src/3"]},"unread":[]},"created_at":1763035203000000,"key":"GH-3","labels":["pilot"],"state":"open","title":"Add login to number 3","updated_at":1763035200000000},1763036781000000],"trouble":{},"trust":["ann","trusted"]}', 'claiming', '{"generation":1,"stage":"claiming"}', 5, NULL, NULL, 1763036781000000, 1763036874000000, NULL, 1763036874000000);

INSERT INTO outbox (project, task, key, action, not_before, holder, held_until) VALUES
    ('github:acme/app', 'GH-3', 'claim:place-g1', '{"do":"place_claim","generation":1,"task":"GH-3"}', 1763036874000000, 'i0', 1763036965000000);

INSERT INTO instances (id, home, begun_at) VALUES
    ('i0', 'home-of-i0', 1763035200000000);

INSERT INTO claims (project, task, generation, instance, taken_at, leased_until, ended_at) VALUES
    ('github:acme/app', 'GH-1', 1, 'i0', 1763035727000000, 1763035787000000, 1763035851000000),
    ('github:acme/app', 'GH-3', 1, 'i0', 1763036874000000, 1763036934000000, NULL);

INSERT INTO task_log (project, task, seq, at, entry) VALUES
    ('github:acme/app', 'GH-1', 1, 1763035541000000, '{"at":1763035541000000,"event":{"ticket":{"author":{"kind":"person","login":"ann"},"body":{"depends_on":[],"hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","paths":{"named":["src/1"]},"unread":[]},"created_at":1763035201000000,"key":"GH-1","labels":["pilot"],"state":"open","title":"Add login to number 1","updated_at":1763035200000000},"what":"ticket_read"},"seq":1,"settles":null,"stage":{"queries":[{"trust":{"login":"ann"}},{"branch":{"branch":"pilot/GH-1"}}],"stage":"checking"}}'),
    ('github:acme/app', 'GH-1', 2, 1763035603000000, '{"at":1763035603000000,"event":{"login":"ann","trust":"trusted","what":"trust_read"},"seq":2,"settles":null,"stage":{"queries":[{"branch":{"branch":"pilot/GH-1"}}],"stage":"checking"}}'),
    ('github:acme/app', 'GH-1', 3, 1763035665000000, '{"at":1763035665000000,"event":{"branch":"pilot/GH-1","found":null,"what":"branch_checked"},"seq":3,"settles":null,"stage":{"rank":1763035201000000,"stage":"queued"}}'),
    ('github:acme/app', 'GH-1', 4, 1763035727000000, '{"at":1763035727000000,"event":{"generation":1,"home":"home-of-i0","instance":"i0","what":"claimed"},"seq":4,"settles":null,"stage":{"generation":1,"stage":"claiming"}}'),
    ('github:acme/app', 'GH-1', 5, 1763035758000000, '{"at":1763035758000000,"event":{"generation":1,"what":"claim_placed"},"seq":5,"settles":"claim:place-g1","stage":{"generation":1,"stage":"starting"}}'),
    ('github:acme/app', 'GH-1', 6, 1763035820000000, '{"at":1763035820000000,"event":{"comment":"7","fingerprint":"58a297a36cf82966","what":"commented"},"seq":6,"settles":"comment:0/58a297a36cf82966","stage":null}'),
    ('github:acme/app', 'GH-1', 7, 1763035820000000, '{"at":1763035820000000,"event":{"labels":["pilot-in-progress"],"what":"labelled"},"seq":7,"settles":"label:0/pilot-in-progress","stage":null}'),
    ('github:acme/app', 'GH-1', 8, 1763035820000000, '{"at":1763035820000000,"event":{"body":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","generation":1,"what":"run_started"},"seq":8,"settles":"run:g1/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","stage":{"generation":1,"stage":"running"}}'),
    ('github:acme/app', 'GH-1', 9, 1763035851000000, '{"at":1763035851000000,"event":{"ending":{"completed":{"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","cost_micro_usd":250000,"files_changed":3,"gates":[],"review":"approved","route":null,"sha":"cccccccccccccccccccccccccccccccccccccccc"}},"generation":1,"what":"run_ended"},"seq":9,"settles":null,"stage":{"stage":"publishing","work":{"base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","cost_micro_usd":250000,"files_changed":3,"gates":[],"review":"approved","route":null,"sha":"cccccccccccccccccccccccccccccccccccccccc"}}}'),
    ('github:acme/app', 'GH-1', 10, 1763035882000000, '{"at":1763035882000000,"event":{"branch":"pilot/GH-1","sha":"cccccccccccccccccccccccccccccccccccccccc","what":"pushed"},"seq":10,"settles":"push:pilot/GH-1@cccccccccccccccccccccccccccccccccccccccc","stage":{"sha":"cccccccccccccccccccccccccccccccccccccccc","stage":"opening"}}'),
    ('github:acme/app', 'GH-1', 11, 1763035944000000, '{"at":1763035944000000,"event":{"pr":{"branch":"pilot/GH-1","head":"cccccccccccccccccccccccccccccccccccccccc","mergeable":"yes","number":100,"state":"open"},"what":"pr_opened"},"seq":11,"settles":"pr:pilot/GH-1@cccccccccccccccccccccccccccccccccccccccc","stage":{"pr":100,"sha":"cccccccccccccccccccccccccccccccccccccccc","stage":"awaiting_ci","verdict":{"unknown":"not_read"}}}'),
    ('github:acme/app', 'GH-1', 12, 1763035975000000, '{"at":1763035975000000,"event":{"reading":{"checks":[{"name":"test","state":"passed"}],"required":{"known":[]},"sha":"cccccccccccccccccccccccccccccccccccccccc"},"what":"ci_read"},"seq":12,"settles":null,"stage":{"pr":100,"sha":"cccccccccccccccccccccccccccccccccccccccc","stage":"awaiting_ci","verdict":{"unknown":"unconfirmed"}}}'),
    ('github:acme/app', 'GH-1', 13, 1763036037000000, '{"at":1763036037000000,"event":{"reading":{"checks":[{"name":"test","state":"passed"}],"required":{"known":[]},"sha":"cccccccccccccccccccccccccccccccccccccccc"},"what":"ci_read"},"seq":13,"settles":null,"stage":{"ready":{"method":"squash","passed":{"checks":["test"],"sha":"cccccccccccccccccccccccccccccccccccccccc"},"pr":100,"title":"Add login to number 1 (#100)"},"stage":"merging"}}'),
    ('github:acme/app', 'GH-1', 14, 1763036068000000, '{"at":1763036068000000,"event":{"pr":{"branch":"pilot/GH-1","head":"cccccccccccccccccccccccccccccccccccccccc","mergeable":"yes","number":100,"state":{"merged":{"commit":"dddddddddddddddddddddddddddddddddddddddd"}}},"what":"pr_read"},"seq":14,"settles":"merge:100@cccccccccccccccccccccccccccccccccccccccc","stage":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100,"stage":"landing"}}'),
    ('github:acme/app', 'GH-1', 15, 1763036099000000, '{"at":1763036099000000,"event":{"commit":"dddddddddddddddddddddddddddddddddddddddd","on_base":true,"what":"base_checked"},"seq":15,"settles":null,"stage":null}'),
    ('github:acme/app', 'GH-1', 16, 1763036099000000, '{"at":1763036099000000,"event":{"ending":{"done":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}},"what":"ended"},"seq":16,"settles":null,"stage":{"ending":{"done":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}},"stage":"ended"}}'),
    ('github:acme/app', 'GH-1', 17, 1763036130000000, '{"at":1763036130000000,"event":{"what":"ticket_closed"},"seq":17,"settles":"close-ticket:dddddddddddddddddddddddddddddddddddddddd","stage":null}'),
    ('github:acme/app', 'GH-1', 18, 1763036130000000, '{"at":1763036130000000,"event":{"comment":"7","fingerprint":"b5a9df8651372ff2","what":"commented"},"seq":18,"settles":"comment:1/b5a9df8651372ff2","stage":null}'),
    ('github:acme/app', 'GH-1', 19, 1763036130000000, '{"at":1763036130000000,"event":{"branch":"pilot/GH-1","what":"branch_deleted"},"seq":19,"settles":"delete-branch:pilot/GH-1@cccccccccccccccccccccccccccccccccccccccc","stage":null}'),
    ('github:acme/app', 'GH-1', 20, 1763036130000000, '{"at":1763036130000000,"event":{"labels":["pilot-done"],"what":"labelled"},"seq":20,"settles":"label:1/pilot-done","stage":null}'),
    ('github:acme/app', 'GH-1', 21, 1763036192000000, '{"at":1763036192000000,"event":{"what":"claim_released"},"seq":21,"settles":"claim:release-g1","stage":null}'),
    ('github:acme/app', 'GH-3', 1, 1763036781000000, '{"at":1763036781000000,"event":{"ticket":{"author":{"kind":"person","login":"ann"},"body":{"depends_on":[],"hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","paths":{"named":["src/3"]},"unread":[]},"created_at":1763035203000000,"key":"GH-3","labels":["pilot"],"state":"open","title":"Add login to number 3","updated_at":1763035200000000},"what":"ticket_read"},"seq":1,"settles":null,"stage":{"queries":[{"trust":{"login":"ann"}},{"branch":{"branch":"pilot/GH-3"}}],"stage":"checking"}}'),
    ('github:acme/app', 'GH-3', 2, 1763036812000000, '{"at":1763036812000000,"event":{"login":"ann","trust":"trusted","what":"trust_read"},"seq":2,"settles":null,"stage":{"queries":[{"branch":{"branch":"pilot/GH-3"}}],"stage":"checking"}}'),
    ('github:acme/app', 'GH-3', 3, 1763036843000000, '{"at":1763036843000000,"event":{"branch":"pilot/GH-3","found":null,"what":"branch_checked"},"seq":3,"settles":null,"stage":{"rank":1763035203000000,"stage":"queued"}}'),
    ('github:acme/app', 'GH-3', 4, 1763036874000000, '{"at":1763036874000000,"event":{"generation":1,"home":"home-of-i0","instance":"i0","what":"claimed"},"seq":4,"settles":null,"stage":{"generation":1,"stage":"claiming"}}');

INSERT INTO project_log (project, seq, at, entry) VALUES
    ('github:acme/app', 1, 1763036254000000, '{"at":1763036254000000,"event":{"commit":"dddddddddddddddddddddddddddddddddddddddd","tag":"v0.1.0","what":"tagged"},"seq":1,"settles":"tag:dddddddddddddddddddddddddddddddddddddddd"}'),
    ('github:acme/app', 2, 1763036905000000, '{"at":1763036905000000,"event":{"by":"ann","what":"paused"},"seq":2,"settles":null}');

INSERT INTO feed (seq, at, event) VALUES
    (1, 1763036254000000, '{"kind":"project","project":"github:acme/app","event":{"by":"ann","what":"paused"}}');

INSERT INTO run_progress (project, task, generation, progress) VALUES
    ('github:acme/app', 'GH-3', 1, '{"phase":"finishing","percent":60,"last_message":"Running the tests.","cost_usd":0.25}');

INSERT INTO checkouts (project, path) VALUES ('github:acme/app', '/srv/app');
