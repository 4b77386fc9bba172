INSERT INTO executions (
    id, task_id, title, project_path, status, class, reason, started_at, completed_at, duration_ms, output, error, branch,
    base_sha, commit_sha, commits, files_changed, pr_url, route, attempts, gates, review, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, cost_usd, progress, phase, final_message, backend, model, session_id,
    session_usage, owner_pid, owner_started
) VALUES
    ('019a7a2d-ac00-7000-8000-000000000001', 'GH-1', 'Add login', '/srv/app', 'completed', NULL, 'done', 1763000000000000,
     1763000060000000, 60000, 'Done.', NULL, 'pilot/GH-1', 'aaaa', 'bbbb', 1, 3, 'https://forge/pr/1',
     '{"complexity":"simple"}', 1, '[]', 'approved', 100, 20, 3000, 400, 0.25, 100, 'COMPLETE', 'Done.', 'claude-code',
     'claude-sonnet-4-6', 'session-1', '{"input_tokens":100}', 4711, 'boot:100'),
    ('019a7a2d-ac01-7000-8000-000000000002', 'GH-2', 'Fix it', '/srv/app', 'running', NULL, NULL, 1763000000001000,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, 'codex', NULL, NULL, NULL, 4712, 'boot:200');

INSERT INTO execution_logs (execution_id, at, level, source, line) VALUES
    ('019a7a2d-ac00-7000-8000-000000000001', 1763000000000000, 'info', 'runner', 'started'),
    ('019a7a2d-ac00-7000-8000-000000000001', 1763000060000000, 'info', 'backend', 'Final assistant message: Done.');

INSERT INTO execution_stream (execution_id, seq, at_ms, kind, bytes) VALUES
    ('019a7a2d-ac00-7000-8000-000000000001', 0, 10, 'stdout', x'7b7d0a'),
    ('019a7a2d-ac00-7000-8000-000000000001', 1, 20, 'note', x'78');

INSERT INTO ledger (execution_id, task_id, project_path, charged_at, usd_micros, tokens, agent_ms, basis) VALUES
    ('019a7a2d-ac00-7000-8000-000000000001', 'GH-1', '/srv/app', 1763000060000000, 250000, 520, 60000, 'reported');

INSERT INTO reservations (
    execution_id, task_id, project_path, reserved_at, reserved_micros, usd_micros, tokens, agent_ms, basis, owner_pid,
    owner_started
) VALUES
    ('019a7a2d-ac01-7000-8000-000000000002', 'GH-2', '/srv/app', 1763000000001000, 750000, 1000, 40, 2000, 'priced', 4712,
     'boot:200');

INSERT INTO budget_warnings (subject, day, told_at) VALUES ('daily near', 1762988400000000, 1763000060000000);

INSERT INTO retries (project_path, task_id, counter, attempts) VALUES ('/srv/app', 'GH-1', 'api_error', 2);

INSERT INTO classifications (question, answer, answered_at) VALUES ('abcd', '{"complexity":"simple"}', 1763000000000000);

INSERT INTO pipeline_runs (
    id, project_path, fingerprint, inputs, part, base_sha, status, reason, started_at, ended_at
) VALUES
    ('019a7a2d-ac02-7000-8000-000000000003', '/srv/app', 'abcd', '{"goal":"login"}', 'whole', 'aaaa', 'failed', 'review: no approve',
     1763000000000000, 1763000060000000);

INSERT INTO pipeline_facts (run_id, seq, at, step, fact, decision) VALUES
    ('019a7a2d-ac02-7000-8000-000000000003', 0, 1763000000000000, 'review', '{"fact":"started","worker":"codex","input":"x"}',
     'attempt 1 by codex');

INSERT INTO projects (id, facts, version, wake, changed_at) VALUES
    ('github:acme/app', '{"id":"github:acme/app","seq":2,"paused":"ann","budget":null,"failures":0,"failed":null,"merges":[1763036068000000],"opened":[],"active":{"GH-2":{"root":2,"reach":{"named":["src/2"]},"running":true,"until":9223372036854775807},"GH-3":{"root":3,"reach":{"named":["src/3"]},"running":true,"until":9223372036854775807}},"unreleased":[],"tag":["v0.1.0","dddddddddddddddddddddddddddddddddddddddd"],"trouble":{}}', 12, NULL, 1763036905000000);

INSERT INTO task_queue (id, project_path, task_key, task_json, status, stage, version, rank, wake, created_at, started_at, completed_at, changed_at) VALUES
    ('github:acme/app/GH-1', 'github:acme/app', 'GH-1', '{"project":"github:acme/app","key":"GH-1","number":1,"seq":21,"issue":[{"number":1,"title":"Add login to number 1","author":{"login":"ann","kind":"person"},"labels":["pilot"],"state":"open","body":{"hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","depends_on":[],"unread":[],"reach":{"named":["src/1"]}},"created_at":1763035201000000,"updated_at":1763035200000000},1763035541000000],"gone":false,"permission":["ann","write"],"dependencies":{},"lineage":null,"life":{"number":0,"claim":null,"run":{"generation":1,"at":1763035851000000,"ending":{"completed":{"sha":"cccccccccccccccccccccccccccccccccccccccc","base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","gates":[],"review":"approved","route":null,"cost_micro_usd":250000,"files_changed":3}}},"attempts":1,"abandoned":0,"elsewhere":null,"branch_found":null,"pushed":{"branch":"pilot/GH-1","sha":"cccccccccccccccccccccccccccccccccccccccc","at":1763035882000000},"pr":{"pr":{"number":100,"branch":"pilot/GH-1","head":"cccccccccccccccccccccccccccccccccccccccc","state":{"merged":{"commit":"dddddddddddddddddddddddddddddddddddddddd"}},"mergeable":"yes"},"opened":1763035944000000,"closed":null,"closed_by_us":false},"ci":{"reading":{"sha":"cccccccccccccccccccccccccccccccccccccccc","checks":[{"name":"test","state":{"completed":"success"}}],"statuses":[],"required":{"known":[]}},"since":1763035975000000,"last":1763036037000000},"fix":null,"not_on_base":null,"landed":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100},"cancelled":null,"paused":null,"issue_closed":true,"branch_settled":true,"ended":[{"done":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}},1763036099000000]},"generation":1,"claim_shown":false,"labels":{"labels":["pilot-done"],"at":1763036130000000,"writes":2},"comment":{"id":7,"fingerprint":"b5a9df8651372ff2","writes":2},"last_order":null,"questions":[],"told":[],"superseded":[],"lost":[],"trouble":{}}', 'done', '{"stage":"ended","ending":{"done":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}}}', 32, NULL, NULL, 1763035541000000, 1763035727000000, 1763036099000000, 1763036192000000),
    ('github:acme/app/GH-3', 'github:acme/app', 'GH-3', '{"project":"github:acme/app","key":"GH-3","number":3,"seq":4,"issue":[{"number":3,"title":"Add login to number 3","author":{"login":"ann","kind":"person"},"labels":["pilot"],"state":"open","body":{"hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","depends_on":[],"unread":[],"reach":{"named":["src/3"]}},"created_at":1763035203000000,"updated_at":1763035200000000},1763036781000000],"gone":false,"permission":["ann","write"],"dependencies":{},"lineage":null,"life":{"number":0,"claim":{"generation":1,"instance":"i0","at":1763036874000000,"placed":false,"started":null},"run":null,"attempts":0,"abandoned":0,"elsewhere":null,"branch_found":null,"pushed":null,"pr":null,"ci":null,"fix":null,"not_on_base":null,"landed":null,"cancelled":null,"paused":null,"issue_closed":false,"branch_settled":false,"ended":null},"generation":1,"claim_shown":false,"labels":null,"comment":null,"last_order":null,"questions":[],"told":[],"superseded":[],"lost":[],"trouble":{}}', 'claiming', '{"stage":"claiming","generation":1}', 5, NULL, NULL, 1763036781000000, 1763036874000000, NULL, 1763036874000000);

INSERT INTO outbox (project, task, key, action, not_before, holder, held_until) VALUES
    ('github:acme/app', 'GH-3', 'claim:place-g1', '{"do":"place_claim","generation":1,"task":"GH-3"}', 1763036874000000, 'i0', 1763036965000000);

INSERT INTO instances (id, home, begun_at) VALUES
    ('i0', 'home-of-i0', 1763035200000000);

INSERT INTO claims (project, task, generation, instance, taken_at, leased_until, ended_at) VALUES
    ('github:acme/app', 'GH-1', 1, 'i0', 1763035727000000, 1763035787000000, 1763035851000000),
    ('github:acme/app', 'GH-3', 1, 'i0', 1763036874000000, 1763036934000000, NULL);

INSERT INTO task_log (project, task, seq, at, entry) VALUES
    ('github:acme/app', 'GH-1', 1, 1763035541000000, '{"seq":1,"at":1763035541000000,"happened":{"what":"issue_seen","issue":{"number":1,"title":"Add login to number 1","author":{"login":"ann","kind":"person"},"labels":["pilot"],"state":"open","body":{"hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","depends_on":[],"unread":[],"reach":{"named":["src/1"]}},"created_at":1763035201000000,"updated_at":1763035200000000}},"settles":null,"stage":{"stage":"checking","looks":[{"permission":{"login":"ann"}},{"branch":{"branch":"pilot/GH-1"}}]}}'),
    ('github:acme/app', 'GH-1', 2, 1763035603000000, '{"seq":2,"at":1763035603000000,"happened":{"what":"permission_seen","login":"ann","permission":"write"},"settles":null,"stage":{"stage":"checking","looks":[{"branch":{"branch":"pilot/GH-1"}}]}}'),
    ('github:acme/app', 'GH-1', 3, 1763035665000000, '{"seq":3,"at":1763035665000000,"happened":{"what":"branch_looked_at","branch":"pilot/GH-1","found":null},"settles":null,"stage":{"stage":"queued","rank":1763035201000000}}'),
    ('github:acme/app', 'GH-1', 4, 1763035727000000, '{"seq":4,"at":1763035727000000,"happened":{"what":"claimed","generation":1,"home":"home-of-i0","instance":"i0"},"settles":null,"stage":{"stage":"claiming","generation":1}}'),
    ('github:acme/app', 'GH-1', 5, 1763035758000000, '{"seq":5,"at":1763035758000000,"happened":{"what":"claim_placed","generation":1},"settles":"claim:place-g1","stage":{"stage":"starting","generation":1}}'),
    ('github:acme/app', 'GH-1', 6, 1763035820000000, '{"seq":6,"at":1763035820000000,"happened":{"what":"commented","comment":7,"fingerprint":"58a297a36cf82966"},"settles":"comment:0/58a297a36cf82966","stage":null}'),
    ('github:acme/app', 'GH-1', 7, 1763035820000000, '{"seq":7,"at":1763035820000000,"happened":{"what":"labelled","labels":["pilot-in-progress"]},"settles":"label:0/pilot-in-progress","stage":null}'),
    ('github:acme/app', 'GH-1', 8, 1763035820000000, '{"seq":8,"at":1763035820000000,"happened":{"what":"run_started","generation":1,"body":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"settles":"run:g1/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","stage":{"stage":"running","generation":1}}'),
    ('github:acme/app', 'GH-1', 9, 1763035851000000, '{"seq":9,"at":1763035851000000,"happened":{"what":"run_ended","generation":1,"ending":{"completed":{"sha":"cccccccccccccccccccccccccccccccccccccccc","base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","gates":[],"review":"approved","route":null,"cost_micro_usd":250000,"files_changed":3}}},"settles":null,"stage":{"stage":"publishing","work":{"sha":"cccccccccccccccccccccccccccccccccccccccc","base":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","gates":[],"review":"approved","route":null,"cost_micro_usd":250000,"files_changed":3}}}'),
    ('github:acme/app', 'GH-1', 10, 1763035882000000, '{"seq":10,"at":1763035882000000,"happened":{"what":"pushed","branch":"pilot/GH-1","sha":"cccccccccccccccccccccccccccccccccccccccc"},"settles":"push:pilot/GH-1@cccccccccccccccccccccccccccccccccccccccc","stage":{"stage":"opening","sha":"cccccccccccccccccccccccccccccccccccccccc"}}'),
    ('github:acme/app', 'GH-1', 11, 1763035944000000, '{"seq":11,"at":1763035944000000,"happened":{"what":"pr_opened","pr":{"number":100,"branch":"pilot/GH-1","head":"cccccccccccccccccccccccccccccccccccccccc","state":"open","mergeable":"yes"}},"settles":"pr:pilot/GH-1@cccccccccccccccccccccccccccccccccccccccc","stage":{"stage":"awaiting_ci","pr":100,"sha":"cccccccccccccccccccccccccccccccccccccccc","verdict":{"unknown":"not_read"}}}'),
    ('github:acme/app', 'GH-1', 12, 1763035975000000, '{"seq":12,"at":1763035975000000,"happened":{"what":"ci_read","reading":{"sha":"cccccccccccccccccccccccccccccccccccccccc","checks":[{"name":"test","state":{"completed":"success"}}],"statuses":[],"required":{"known":[]}}},"settles":null,"stage":{"stage":"awaiting_ci","pr":100,"sha":"cccccccccccccccccccccccccccccccccccccccc","verdict":{"unknown":"unconfirmed"}}}'),
    ('github:acme/app', 'GH-1', 13, 1763036037000000, '{"seq":13,"at":1763036037000000,"happened":{"what":"ci_read","reading":{"sha":"cccccccccccccccccccccccccccccccccccccccc","checks":[{"name":"test","state":{"completed":"success"}}],"statuses":[],"required":{"known":[]}}},"settles":null,"stage":{"stage":"merging","ready":{"pr":100,"passed":{"sha":"cccccccccccccccccccccccccccccccccccccccc","checks":["test"]},"method":"squash","title":"Add login to number 1 (#100)"}}}'),
    ('github:acme/app', 'GH-1', 14, 1763036068000000, '{"seq":14,"at":1763036068000000,"happened":{"what":"pr_seen","pr":{"number":100,"branch":"pilot/GH-1","head":"cccccccccccccccccccccccccccccccccccccccc","state":{"merged":{"commit":"dddddddddddddddddddddddddddddddddddddddd"}},"mergeable":"yes"}},"settles":"merge:100@cccccccccccccccccccccccccccccccccccccccc","stage":{"stage":"landing","commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}}'),
    ('github:acme/app', 'GH-1', 15, 1763036099000000, '{"seq":15,"at":1763036099000000,"happened":{"what":"base_looked_at","commit":"dddddddddddddddddddddddddddddddddddddddd","on_base":true},"settles":null,"stage":null}'),
    ('github:acme/app', 'GH-1', 16, 1763036099000000, '{"seq":16,"at":1763036099000000,"happened":{"what":"ended","ending":{"done":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}}},"settles":null,"stage":{"stage":"ended","ending":{"done":{"commit":"dddddddddddddddddddddddddddddddddddddddd","pr":100}}}}'),
    ('github:acme/app', 'GH-1', 17, 1763036130000000, '{"seq":17,"at":1763036130000000,"happened":{"what":"issue_closed"},"settles":"close-issue:dddddddddddddddddddddddddddddddddddddddd","stage":null}'),
    ('github:acme/app', 'GH-1', 18, 1763036130000000, '{"seq":18,"at":1763036130000000,"happened":{"what":"commented","comment":7,"fingerprint":"b5a9df8651372ff2"},"settles":"comment:1/b5a9df8651372ff2","stage":null}'),
    ('github:acme/app', 'GH-1', 19, 1763036130000000, '{"seq":19,"at":1763036130000000,"happened":{"what":"branch_deleted","branch":"pilot/GH-1"},"settles":"delete-branch:pilot/GH-1@cccccccccccccccccccccccccccccccccccccccc","stage":null}'),
    ('github:acme/app', 'GH-1', 20, 1763036130000000, '{"seq":20,"at":1763036130000000,"happened":{"what":"labelled","labels":["pilot-done"]},"settles":"label:1/pilot-done","stage":null}'),
    ('github:acme/app', 'GH-1', 21, 1763036192000000, '{"seq":21,"at":1763036192000000,"happened":{"what":"claim_released"},"settles":"claim:release-g1","stage":null}'),
    ('github:acme/app', 'GH-3', 1, 1763036781000000, '{"seq":1,"at":1763036781000000,"happened":{"what":"issue_seen","issue":{"number":3,"title":"Add login to number 3","author":{"login":"ann","kind":"person"},"labels":["pilot"],"state":"open","body":{"hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","depends_on":[],"unread":[],"reach":{"named":["src/3"]}},"created_at":1763035203000000,"updated_at":1763035200000000}},"settles":null,"stage":{"stage":"checking","looks":[{"permission":{"login":"ann"}},{"branch":{"branch":"pilot/GH-3"}}]}}'),
    ('github:acme/app', 'GH-3', 2, 1763036812000000, '{"seq":2,"at":1763036812000000,"happened":{"what":"permission_seen","login":"ann","permission":"write"},"settles":null,"stage":{"stage":"checking","looks":[{"branch":{"branch":"pilot/GH-3"}}]}}'),
    ('github:acme/app', 'GH-3', 3, 1763036843000000, '{"seq":3,"at":1763036843000000,"happened":{"what":"branch_looked_at","branch":"pilot/GH-3","found":null},"settles":null,"stage":{"stage":"queued","rank":1763035203000000}}'),
    ('github:acme/app', 'GH-3', 4, 1763036874000000, '{"seq":4,"at":1763036874000000,"happened":{"what":"claimed","generation":1,"home":"home-of-i0","instance":"i0"},"settles":null,"stage":{"stage":"claiming","generation":1}}');

INSERT INTO project_log (project, seq, at, entry) VALUES
    ('github:acme/app', 1, 1763036254000000, '{"seq":1,"at":1763036254000000,"happened":{"what":"tagged","tag":"v0.1.0","commit":"dddddddddddddddddddddddddddddddddddddddd"},"settles":"tag:dddddddddddddddddddddddddddddddddddddddd"}'),
    ('github:acme/app', 2, 1763036905000000, '{"seq":2,"at":1763036905000000,"happened":{"what":"paused","by":"ann"},"settles":null}');
