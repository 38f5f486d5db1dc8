-- Times are milliseconds since the Unix epoch, UTC.

CREATE TABLE delivery (
    guid           TEXT    NOT NULL PRIMARY KEY CHECK (length(guid) BETWEEN 1 AND 64),
    event          TEXT    NOT NULL CHECK (length(event) BETWEEN 1 AND 64),
    body           BLOB    NOT NULL,
    body_hash      TEXT    NOT NULL,
    hook           TEXT,
    target_kind    TEXT,
    target         TEXT,
    state          TEXT    NOT NULL CHECK (state IN ('received', 'handled', 'ignored', 'quarantined')),
    reason         TEXT,
    replay_of      TEXT,
    received_at    INTEGER NOT NULL,
    settled_at     INTEGER,
    redeliveries   INTEGER NOT NULL DEFAULT 0,
    redelivered_at INTEGER
) STRICT;

CREATE INDEX delivery_body ON delivery (body_hash, event);
CREATE INDEX delivery_received ON delivery (received_at);

CREATE TABLE job (
    id                  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind                TEXT    NOT NULL,
    unique_key          TEXT    NOT NULL,
    group_key           TEXT,
    payload             TEXT    NOT NULL,
    state               TEXT    NOT NULL CHECK (state IN
                            ('available', 'scheduled', 'running', 'retryable', 'completed', 'discarded', 'cancelled')),
    priority            INTEGER NOT NULL DEFAULT 0,
    attempt             INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    max_attempts        INTEGER NOT NULL CHECK (max_attempts >= 1),
    run_at              INTEGER NOT NULL,
    cause               TEXT,
    lease_token         TEXT,
    lease_node          TEXT,
    lease_until         INTEGER,
    cancel_requested_at INTEGER,
    last_error          TEXT,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    started_at          INTEGER,
    finished_at         INTEGER,
    -- A lease exists exactly while the job runs.
    CHECK ((state = 'running') = (lease_token IS NOT NULL)),
    CHECK ((state = 'running') = (lease_until IS NOT NULL)),
    CHECK ((state IN ('completed', 'discarded', 'cancelled')) = (finished_at IS NOT NULL))
) STRICT;

-- Uniqueness while unfinished; a job that was told to stop does not stand in for one that is asked for now.
CREATE UNIQUE INDEX job_unique ON job (unique_key)
    WHERE state IN ('available', 'scheduled', 'running', 'retryable') AND cancel_requested_at IS NULL;
-- Never two running jobs of one group.
CREATE UNIQUE INDEX job_group ON job (group_key) WHERE state = 'running' AND group_key IS NOT NULL;
CREATE UNIQUE INDEX job_lease ON job (lease_token) WHERE lease_token IS NOT NULL;
CREATE INDEX job_due ON job (priority, run_at, id) WHERE state IN ('available', 'scheduled', 'retryable');
CREATE INDEX job_state ON job (state, run_at);
CREATE INDEX job_key ON job (unique_key, id);
CREATE INDEX job_group_all ON job (group_key) WHERE group_key IS NOT NULL;
CREATE INDEX job_finished ON job (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE run (
    id          TEXT    NOT NULL PRIMARY KEY,
    kind        TEXT    NOT NULL,
    repository  INTEGER,
    repo        TEXT    NOT NULL,
    number      INTEGER,
    head        TEXT,
    job         INTEGER,
    state       TEXT    NOT NULL CHECK (state IN ('running', 'finished', 'failed', 'cancelled')),
    outcome     TEXT,
    detail      TEXT,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

CREATE INDEX run_started ON run (started_at);
CREATE INDEX run_job ON run (job) WHERE job IS NOT NULL;
CREATE INDEX run_about ON run (repository, number, started_at) WHERE repository IS NOT NULL;

CREATE TABLE step (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run         TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    name        TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('running', 'done', 'failed', 'skipped', 'cancelled')),
    artifact    TEXT    CHECK (length(CAST(artifact AS BLOB)) <= 1048576),
    detail      TEXT,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

CREATE INDEX step_run ON step (run, id);
CREATE INDEX step_key ON step (key, id) WHERE state = 'done';

CREATE TABLE progress (
    run  TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq  INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    text TEXT    NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

-- Outlives its run: what was said to the world stays said.
CREATE TABLE effect (
    key        TEXT    NOT NULL PRIMARY KEY,
    run        TEXT    REFERENCES run (id) ON DELETE SET NULL,
    kind       TEXT    NOT NULL,
    intent     TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('intended', 'sent', 'proved', 'failed')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    sent_at    INTEGER,
    proof      TEXT,
    reason     TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX effect_run ON effect (run) WHERE run IS NOT NULL;

CREATE TABLE cursor (
    name       TEXT    NOT NULL PRIMARY KEY,
    value      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
