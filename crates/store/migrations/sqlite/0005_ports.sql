-- Tickets by key, comments by text, the words of the ports: the stored JSON is rewritten in code (durable/rewrite_v5.rs).

-- The feed: the last events, for readers that continue where they were.
CREATE TABLE feed (
    seq   INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    event TEXT NOT NULL
);

-- How far the agent of each running task is.
CREATE TABLE run_progress (
    project    TEXT NOT NULL,
    task       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    progress   TEXT NOT NULL,
    PRIMARY KEY (project, task)
);

-- Where the repository of each project is: the ledger names runs by this path.
CREATE TABLE checkouts (
    project TEXT NOT NULL,
    path    TEXT NOT NULL,
    PRIMARY KEY (project, path)
);

PRAGMA user_version = 5;
