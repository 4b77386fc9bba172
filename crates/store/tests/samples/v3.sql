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
