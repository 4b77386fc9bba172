-- Projects, tasks, their outbox and claims, and what happened. Facts, stages, actions and log entries are JSON as the core
-- writes it; what a query needs of them has a column of its own.

CREATE TABLE projects (
    id TEXT PRIMARY KEY NOT NULL,
    facts TEXT NOT NULL,
    version BIGINT NOT NULL,
    wake BIGINT,
    changed_at BIGINT NOT NULL
);

-- project_path is the project as the forge knows it, forge:owner/repository; rank is set while the task is queued;
-- started_at is when it was claimed last, completed_at when it was over.
CREATE TABLE task_queue (
    id TEXT PRIMARY KEY NOT NULL,
    project_path TEXT NOT NULL REFERENCES projects (id),
    task_key TEXT NOT NULL,
    task_json TEXT NOT NULL,
    status TEXT NOT NULL,
    stage TEXT NOT NULL,
    version BIGINT NOT NULL,
    rank BIGINT,
    wake BIGINT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    completed_at BIGINT,
    changed_at BIGINT NOT NULL,
    UNIQUE (project_path, task_key),
    CHECK ((status = 'queued') = (rank IS NOT NULL))
);

-- However many wait, the first of them are found at once.
CREATE INDEX task_queue_by_rank ON task_queue (project_path, rank, task_key) WHERE rank IS NOT NULL;
CREATE INDEX task_queue_under_way ON task_queue (project_path, task_key) WHERE completed_at IS NULL;
CREATE INDEX task_queue_over ON task_queue (project_path, completed_at, task_key) WHERE completed_at IS NOT NULL;

-- Actions that are not done yet; a done one is deleted, and the log has it. An empty task means the project's own.
CREATE TABLE outbox (
    project TEXT NOT NULL REFERENCES projects (id),
    task TEXT NOT NULL,
    key TEXT NOT NULL,
    action TEXT NOT NULL,
    not_before BIGINT NOT NULL,
    holder TEXT,
    held_until BIGINT,
    PRIMARY KEY (project, task, key),
    CHECK ((holder IS NULL) = (held_until IS NULL))
);

CREATE INDEX outbox_due ON outbox (not_before, project, task, key) WHERE holder IS NULL;
CREATE INDEX outbox_held ON outbox (holder, held_until) WHERE holder IS NOT NULL;

-- One start of one Pilot, and the state directory it works for.
CREATE TABLE instances (
    id TEXT PRIMARY KEY NOT NULL,
    home TEXT NOT NULL,
    begun_at BIGINT NOT NULL
);

CREATE INDEX instances_by_home ON instances (home);

-- A claim that has ended stays: its number is never given again.
CREATE TABLE claims (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    generation BIGINT NOT NULL,
    instance TEXT NOT NULL,
    taken_at BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (project, task, generation),
    FOREIGN KEY (project, task) REFERENCES task_queue (project_path, task_key)
);

CREATE INDEX claims_in_force ON claims (instance, leased_until) WHERE ended_at IS NULL;

CREATE TABLE task_log (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (project, task, seq),
    FOREIGN KEY (project, task) REFERENCES task_queue (project_path, task_key)
);

CREATE TABLE project_log (
    project TEXT NOT NULL REFERENCES projects (id),
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (project, seq)
);

-- One row: how many turns were written, by whatever process.
CREATE TABLE turn_counter (
    id BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    turns BIGINT NOT NULL
);

INSERT INTO turn_counter (id, turns) VALUES (1, 0);

PRAGMA user_version = 4;
