-- The forge's memory. Git is the truth about refs; `refs` says which of their values have been told to everybody.
PRAGMA user_version = 1;

CREATE TABLE users (
  id INTEGER PRIMARY KEY,
  login TEXT NOT NULL UNIQUE COLLATE NOCASE,
  kind TEXT NOT NULL,
  admin INTEGER NOT NULL,
  created INTEGER NOT NULL
);

CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  owner INTEGER NOT NULL REFERENCES users
) WITHOUT ROWID;

CREATE TABLE repos (
  id INTEGER PRIMARY KEY,
  owner INTEGER NOT NULL REFERENCES users,
  name TEXT NOT NULL COLLATE NOCASE,
  description TEXT,
  private INTEGER NOT NULL,
  archived INTEGER NOT NULL DEFAULT 0,
  default_branch TEXT NOT NULL,
  allow_squash INTEGER NOT NULL,
  allow_merge INTEGER NOT NULL,
  allow_rebase INTEGER NOT NULL,
  delete_branch INTEGER NOT NULL,
  numbers INTEGER NOT NULL DEFAULT 0,
  runs INTEGER NOT NULL DEFAULT 0,
  open_issues INTEGER NOT NULL DEFAULT 0,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  pushed INTEGER NOT NULL,
  UNIQUE (owner, name)
);

-- Where a repository was before it was renamed.
CREATE TABLE former_names (
  owner INTEGER NOT NULL REFERENCES users,
  name TEXT NOT NULL COLLATE NOCASE,
  repo INTEGER NOT NULL REFERENCES repos,
  PRIMARY KEY (owner, name)
) WITHOUT ROWID;

CREATE TABLE collaborators (
  repo INTEGER NOT NULL REFERENCES repos,
  user INTEGER NOT NULL REFERENCES users,
  permission TEXT NOT NULL,
  PRIMARY KEY (repo, user)
) WITHOUT ROWID;

CREATE TABLE milestones (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  number INTEGER NOT NULL,
  title TEXT NOT NULL,
  description TEXT,
  state TEXT NOT NULL,
  creator INTEGER NOT NULL REFERENCES users,
  due INTEGER,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  closed INTEGER,
  UNIQUE (repo, number),
  UNIQUE (repo, title)
);

-- Issues, and what pull requests have in common with them. Numbers are given in order of creation.
CREATE TABLE issues (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  number INTEGER NOT NULL,
  pull INTEGER NOT NULL,
  author INTEGER NOT NULL REFERENCES users,
  title TEXT NOT NULL,
  body TEXT,
  state TEXT NOT NULL,
  reason TEXT,
  locked INTEGER NOT NULL DEFAULT 0,
  milestone INTEGER REFERENCES milestones,
  comments INTEGER NOT NULL DEFAULT 0,
  closed_by INTEGER REFERENCES users,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  closed INTEGER,
  UNIQUE (repo, number)
);
CREATE INDEX issues_by_state ON issues (repo, state, number);
CREATE INDEX issues_by_kind ON issues (repo, pull, state, number);
CREATE INDEX issues_by_update ON issues (repo, state, updated);
CREATE INDEX issues_by_any_update ON issues (repo, updated);
CREATE INDEX issues_by_milestone ON issues (milestone) WHERE milestone IS NOT NULL;

-- How many there are, because counting a hundred thousand of them for every page is slow.
CREATE TABLE tallies (
  repo INTEGER NOT NULL REFERENCES repos,
  pull INTEGER NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (repo, pull, state)
) WITHOUT ROWID;

CREATE TRIGGER issues_tallied AFTER INSERT ON issues BEGIN
  INSERT INTO tallies VALUES (new.repo, new.pull, new.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
  UPDATE repos SET open_issues = open_issues + (new.state = 'open') WHERE id = new.repo;
END;

CREATE TABLE labels (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  name TEXT NOT NULL COLLATE NOCASE,
  color TEXT NOT NULL,
  description TEXT,
  UNIQUE (repo, name)
);

CREATE TABLE issue_labels (
  label INTEGER NOT NULL REFERENCES labels ON DELETE CASCADE,
  open INTEGER NOT NULL,
  issue INTEGER NOT NULL REFERENCES issues,
  PRIMARY KEY (label, open, issue)
) WITHOUT ROWID;
CREATE UNIQUE INDEX issue_labels_by_issue ON issue_labels (issue, label);

CREATE TRIGGER issues_change_state AFTER UPDATE OF state ON issues WHEN old.state != new.state BEGIN
  UPDATE tallies SET count = count - 1 WHERE repo = old.repo AND pull = old.pull AND state = old.state;
  INSERT INTO tallies VALUES (new.repo, new.pull, new.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
  UPDATE repos SET open_issues = open_issues + (new.state = 'open') - (old.state = 'open') WHERE id = new.repo;
  UPDATE issue_labels SET open = (new.state = 'open') WHERE issue = new.id;
END;

CREATE TABLE assignees (
  issue INTEGER NOT NULL REFERENCES issues,
  user INTEGER NOT NULL REFERENCES users,
  PRIMARY KEY (issue, user)
) WITHOUT ROWID;
CREATE INDEX assignees_by_user ON assignees (user, issue);

CREATE TABLE comments (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  issue INTEGER NOT NULL REFERENCES issues,
  author INTEGER NOT NULL REFERENCES users,
  body TEXT NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL
);
CREATE INDEX comments_by_issue ON comments (issue, id);
CREATE INDEX comments_by_repo ON comments (repo, id);
CREATE TRIGGER comments_counted AFTER INSERT ON comments BEGIN
  UPDATE issues SET comments = comments + 1, updated = max(updated, new.created) WHERE id = new.issue;
END;
CREATE TRIGGER comments_uncounted AFTER DELETE ON comments BEGIN
  UPDATE issues SET comments = comments - 1 WHERE id = old.issue;
END;

-- Who did what to an issue; `detail` is what GitHub adds for that kind of event.
CREATE TABLE issue_events (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  issue INTEGER NOT NULL REFERENCES issues,
  actor INTEGER NOT NULL REFERENCES users,
  event TEXT NOT NULL,
  commit_id TEXT,
  detail TEXT NOT NULL,
  created INTEGER NOT NULL
);
CREATE INDEX issue_events_by_issue ON issue_events (issue, id);
CREATE INDEX issue_events_by_repo ON issue_events (repo, id);

CREATE TABLE pulls (
  issue INTEGER PRIMARY KEY REFERENCES issues,
  repo INTEGER NOT NULL REFERENCES repos,
  head_ref TEXT NOT NULL,
  head_sha TEXT NOT NULL,
  base_ref TEXT NOT NULL,
  base_sha TEXT NOT NULL,
  draft INTEGER NOT NULL,
  merged INTEGER,
  merged_by INTEGER REFERENCES users,
  merge_commit TEXT,
  changed INTEGER NOT NULL
);
CREATE INDEX pulls_by_head ON pulls (repo, head_ref);
CREATE INDEX pulls_by_base ON pulls (repo, base_ref);

-- A merge that was begun. Git has it or has it not; when the forge starts again, git is asked.
CREATE TABLE merges (
  issue INTEGER PRIMARY KEY REFERENCES issues,
  actor INTEGER NOT NULL REFERENCES users,
  base_ref TEXT NOT NULL,
  before_sha TEXT NOT NULL,
  after_sha TEXT NOT NULL,
  begun INTEGER NOT NULL
);

-- The refs as they were when their last change was told to everybody.
CREATE TABLE refs (
  repo INTEGER NOT NULL REFERENCES repos,
  name TEXT NOT NULL,
  sha TEXT NOT NULL,
  changed INTEGER NOT NULL,
  PRIMARY KEY (repo, name)
) WITHOUT ROWID;

CREATE TABLE pushes (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  name TEXT NOT NULL,
  before_sha TEXT NOT NULL,
  after_sha TEXT NOT NULL,
  pusher INTEGER NOT NULL REFERENCES users,
  created INTEGER NOT NULL
);
CREATE INDEX pushes_by_repo ON pushes (repo, id);
