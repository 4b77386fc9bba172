-- What runs cost, what running ones have reserved, which warnings were told, how often tasks were tried again.
-- Money is millionths of a dollar; times are microseconds since 1970, UTC.

-- One row for each run that ended; money outlives the history of runs.
CREATE TABLE ledger (
    execution_id TEXT PRIMARY KEY NOT NULL,
    task_id TEXT NOT NULL,
    project_path TEXT NOT NULL,
    charged_at BIGINT NOT NULL,
    usd_micros BIGINT NOT NULL CHECK (usd_micros >= 0),
    tokens BIGINT NOT NULL CHECK (tokens >= 0),
    agent_ms BIGINT NOT NULL CHECK (agent_ms >= 0),
    basis TEXT NOT NULL CHECK (basis IN ('reported', 'priced', 'assumed'))
);

CREATE INDEX ledger_by_time ON ledger (charged_at);
CREATE INDEX ledger_by_task ON ledger (project_path, task_id);

-- One row for each run that was let in and has not ended; there before its row in executions.
CREATE TABLE reservations (
    execution_id TEXT PRIMARY KEY NOT NULL,
    task_id TEXT NOT NULL,
    project_path TEXT NOT NULL,
    reserved_at BIGINT NOT NULL,
    reserved_micros BIGINT NOT NULL CHECK (reserved_micros >= 0),
    -- What is known of its cost so far.
    usd_micros BIGINT NOT NULL CHECK (usd_micros >= 0),
    tokens BIGINT NOT NULL CHECK (tokens >= 0),
    agent_ms BIGINT NOT NULL CHECK (agent_ms >= 0),
    basis TEXT NOT NULL CHECK (basis IN ('reported', 'priced', 'assumed')),
    owner_pid BIGINT NOT NULL,
    owner_started TEXT NOT NULL
);

-- Each warning once a day; the day is the moment it began.
CREATE TABLE budget_warnings (
    subject TEXT NOT NULL,
    day BIGINT NOT NULL,
    told_at BIGINT NOT NULL,
    PRIMARY KEY (subject, day)
);

-- Attempts of a task after its first, by what they count as.
CREATE TABLE retries (
    project_path TEXT NOT NULL,
    task_id TEXT NOT NULL,
    counter TEXT NOT NULL,
    attempts BIGINT NOT NULL CHECK (attempts > 0),
    PRIMARY KEY (project_path, task_id, counter)
);

-- What a small model said about how much work a task is, so that it is asked once.
CREATE TABLE classifications (
    question TEXT PRIMARY KEY,
    answer TEXT NOT NULL,
    answered_at BIGINT NOT NULL
);

PRAGMA user_version = 2;
