-- The forge's database. Git is the source of truth about refs; `refs` holds their values as last reconciled.
PRAGMA user_version = 2;

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

-- Former names of renamed repositories.
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

-- Issues, and the common part of pull requests, numbered in order of creation.
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

-- Counters, because counting a hundred thousand issues for every page is slow.
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

-- Issue events; `detail` has the fields that GitHub adds for the kind of event.
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
  -- The base commit that the API reports: the tip when the base was set, as with GitHub.
  base_told TEXT NOT NULL,
  draft INTEGER NOT NULL,
  merged INTEGER,
  merged_by INTEGER REFERENCES users,
  merge_commit TEXT,
  changed INTEGER NOT NULL
);
CREATE INDEX pulls_by_head ON pulls (repo, head_ref);
CREATE INDEX pulls_by_base ON pulls (repo, base_ref);
CREATE INDEX pulls_by_head_sha ON pulls (repo, head_sha);
CREATE INDEX pulls_by_merge ON pulls (repo, merge_commit) WHERE merge_commit IS NOT NULL;

-- A merge in progress. After a crash git is asked whether it has the merge commit.
CREATE TABLE merges (
  issue INTEGER PRIMARY KEY REFERENCES issues,
  actor INTEGER NOT NULL REFERENCES users,
  base_ref TEXT NOT NULL,
  before_sha TEXT NOT NULL,
  after_sha TEXT NOT NULL,
  begun INTEGER NOT NULL
);

-- The refs as last reconciled.
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

-- `rules` is JSON: the rules of the branch.
CREATE TABLE protections (
  repo INTEGER NOT NULL REFERENCES repos,
  branch TEXT NOT NULL,
  rules TEXT NOT NULL,
  PRIMARY KEY (repo, branch)
) WITHOUT ROWID;

CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  issue INTEGER NOT NULL REFERENCES issues,
  author INTEGER NOT NULL REFERENCES users,
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  submitted INTEGER
);
CREATE INDEX reviews_by_issue ON reviews (issue, id);

CREATE TABLE review_comments (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  issue INTEGER NOT NULL REFERENCES issues,
  review INTEGER NOT NULL REFERENCES reviews,
  author INTEGER NOT NULL REFERENCES users,
  body TEXT NOT NULL,
  path TEXT NOT NULL,
  side TEXT NOT NULL,
  line INTEGER,
  start_line INTEGER,
  commit_id TEXT NOT NULL,
  hunk TEXT NOT NULL,
  reply_to INTEGER REFERENCES review_comments,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL
);
CREATE INDEX review_comments_by_issue ON review_comments (issue, id);

CREATE TABLE review_requests (
  issue INTEGER NOT NULL REFERENCES issues,
  user INTEGER NOT NULL REFERENCES users,
  PRIMARY KEY (issue, user)
) WITHOUT ROWID;

-- All check runs of one app on one commit.
CREATE TABLE suites (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  head_sha TEXT NOT NULL,
  head_branch TEXT,
  app TEXT NOT NULL,
  visible INTEGER NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  UNIQUE (repo, head_sha, app)
);

CREATE TABLE checks (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  suite INTEGER NOT NULL REFERENCES suites,
  head_sha TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  conclusion TEXT,
  external_id TEXT,
  details_url TEXT,
  title TEXT,
  summary TEXT,
  body TEXT,
  visible INTEGER NOT NULL,
  started INTEGER,
  completed INTEGER
);
CREATE INDEX checks_by_sha ON checks (repo, head_sha, id);
CREATE INDEX checks_by_suite ON checks (suite, id);

CREATE TABLE statuses (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  sha TEXT NOT NULL,
  state TEXT NOT NULL,
  context TEXT NOT NULL,
  description TEXT,
  target_url TEXT,
  creator INTEGER NOT NULL REFERENCES users,
  created INTEGER NOT NULL
);
CREATE INDEX statuses_by_sha ON statuses (repo, sha, id);

-- CI runs. Each attempt of a run has a check run of its own.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  suite INTEGER NOT NULL REFERENCES suites,
  check_id INTEGER NOT NULL REFERENCES checks,
  number INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  event TEXT NOT NULL,
  head_branch TEXT NOT NULL,
  head_sha TEXT NOT NULL,
  title TEXT NOT NULL,
  actor INTEGER NOT NULL REFERENCES users,
  status TEXT NOT NULL,
  conclusion TEXT,
  cancel INTEGER NOT NULL DEFAULT 0,
  visible INTEGER NOT NULL,
  created INTEGER NOT NULL,
  started INTEGER,
  updated INTEGER NOT NULL
);
CREATE INDEX runs_by_repo ON runs (repo, id);
CREATE INDEX runs_by_sha ON runs (repo, head_sha, id);
CREATE INDEX runs_to_do ON runs (status, visible) WHERE status != 'completed';

CREATE TABLE releases (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  tag TEXT NOT NULL,
  target TEXT NOT NULL,
  name TEXT,
  body TEXT,
  draft INTEGER NOT NULL,
  prerelease INTEGER NOT NULL,
  author INTEGER NOT NULL REFERENCES users,
  created INTEGER NOT NULL,
  published INTEGER
);
CREATE INDEX releases_by_repo ON releases (repo, id);
CREATE UNIQUE INDEX releases_by_tag ON releases (repo, tag) WHERE draft = 0;

CREATE TABLE hooks (
  id INTEGER PRIMARY KEY,
  repo INTEGER NOT NULL REFERENCES repos,
  url TEXT NOT NULL,
  content_type TEXT NOT NULL,
  secret TEXT,
  events TEXT NOT NULL,
  active INTEGER NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL
);
CREATE INDEX hooks_by_repo ON hooks (repo, id);

-- The queue and history of webhook deliveries.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY,
  hook INTEGER NOT NULL REFERENCES hooks ON DELETE CASCADE,
  repo INTEGER NOT NULL,
  guid TEXT NOT NULL,
  event TEXT NOT NULL,
  action TEXT,
  payload TEXT NOT NULL,
  redelivery INTEGER NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  due INTEGER NOT NULL,
  created INTEGER NOT NULL,
  delivered INTEGER,
  millis INTEGER NOT NULL DEFAULT 0,
  code INTEGER NOT NULL DEFAULT 0,
  request_headers TEXT,
  response_headers TEXT,
  response_body TEXT
);
CREATE INDEX deliveries_by_hook ON deliveries (hook, id);
CREATE INDEX deliveries_to_do ON deliveries (state, due) WHERE state = 'waiting';
