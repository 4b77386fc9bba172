-- Runs of pipelines, and what happened in each: facts, in order, never changed.

CREATE TABLE pipeline_runs (
    id TEXT PRIMARY KEY NOT NULL,
    project_path TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    inputs TEXT NOT NULL,
    part TEXT NOT NULL CHECK (part IN ('whole', 'step')),
    base_sha TEXT,
    status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'held', 'stopped')),
    reason TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    CHECK ((status = 'running') = (ended_at IS NULL))
);

CREATE INDEX pipeline_runs_by_project ON pipeline_runs (project_path, started_at);

CREATE TABLE pipeline_facts (
    run_id TEXT NOT NULL REFERENCES pipeline_runs (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    step TEXT NOT NULL,
    fact TEXT NOT NULL,
    decision TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
);

PRAGMA user_version = 3;
