-- Runs, what they logged, what their agents printed.
-- Times are microseconds since 1970, UTC; ids and JSON are text.

CREATE TABLE executions (
    id TEXT PRIMARY KEY NOT NULL,
    task_id TEXT NOT NULL,
    title TEXT NOT NULL,
    project_path TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN (
        'running', 'completed', 'failed', 'blocked', 'declined', 'no_changes', 'cancelled', 'abandoned'
    )),
    class TEXT,
    reason TEXT,
    started_at BIGINT NOT NULL,
    completed_at BIGINT,
    duration_ms BIGINT,
    output TEXT,
    error TEXT,
    branch TEXT,
    base_sha TEXT,
    commit_sha TEXT,
    commits BIGINT,
    files_changed BIGINT,
    pr_url TEXT,
    route TEXT,
    attempts BIGINT NOT NULL,
    gates TEXT,
    review TEXT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cache_read_tokens BIGINT,
    cache_write_tokens BIGINT,
    cost_usd DOUBLE PRECISION,
    progress BIGINT,
    phase TEXT,
    final_message TEXT,
    backend TEXT NOT NULL,
    model TEXT,
    session_id TEXT,
    session_usage TEXT,
    owner_pid BIGINT NOT NULL,
    owner_started TEXT NOT NULL,
    CHECK ((status = 'running') = (completed_at IS NULL)),
    CHECK ((completed_at IS NULL) = (duration_ms IS NULL))
);

CREATE INDEX executions_by_task ON executions (task_id, started_at);
CREATE INDEX executions_by_start ON executions (started_at);
CREATE INDEX executions_running ON executions (status) WHERE status = 'running';

CREATE TABLE execution_logs (
    id INTEGER PRIMARY KEY,
    execution_id TEXT NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    at BIGINT NOT NULL,
    level TEXT NOT NULL,
    source TEXT NOT NULL,
    line TEXT NOT NULL
);

CREATE INDEX execution_logs_by_execution ON execution_logs (execution_id, id);

CREATE TABLE execution_stream (
    execution_id TEXT NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('stdout', 'stderr', 'note')),
    bytes BLOB NOT NULL,
    PRIMARY KEY (execution_id, seq)
);

PRAGMA application_id = 1346980948;
PRAGMA user_version = 1;
