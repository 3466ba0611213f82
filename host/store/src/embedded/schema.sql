-- The tables of a store, format 1. Times are microseconds since 1970, UTC.
--
-- Names stand once, in partitions, logs and queues; everything else refers to them by number.

-- The unit of atomicity: one tenant, or the platform.
CREATE TABLE partitions (
    id       INTEGER PRIMARY KEY,
    name     TEXT    NOT NULL UNIQUE,
    revision INTEGER NOT NULL, -- how many commits took effect; 0 while it is being copied
    at       INTEGER NOT NULL, -- the publish time of the newest commit
    lease    INTEGER NOT NULL  -- the newest lease of a job
) STRICT;

CREATE TABLE entries (
    partition INTEGER NOT NULL,
    key       TEXT    NOT NULL,
    revision  INTEGER NOT NULL, -- of the commit that last put it
    value     BLOB    NOT NULL,
    PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE logs (
    id        INTEGER PRIMARY KEY,
    partition INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    last      INTEGER NOT NULL, -- the newest position ever appended
    trimmed   INTEGER NOT NULL, -- the newest position that was trimmed
    UNIQUE (partition, name)
) STRICT;

CREATE TABLE messages (
    log        INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    at         INTEGER NOT NULL, -- its publish time
    attributes TEXT    NOT NULL, -- JSON: [["name", "value"], ...]
    body       BLOB    NOT NULL,
    PRIMARY KEY (log, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE queues (
    id        INTEGER PRIMARY KEY,
    partition INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    UNIQUE (partition, name)
) STRICT;

CREATE TABLE jobs (
    queue   INTEGER NOT NULL,
    id      TEXT    NOT NULL,
    due     INTEGER NOT NULL, -- when it may be claimed: when it is due, or when its lease ends
    lease   INTEGER,          -- NULL unless it is claimed
    attempt INTEGER NOT NULL, -- how often it was claimed
    body    BLOB    NOT NULL,
    PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_by_due ON jobs (queue, due, id);
CREATE INDEX jobs_by_lease ON jobs (lease) WHERE lease IS NOT NULL;

-- What recent commits did, so that a repeat of one is answered and not applied again.
CREATE TABLE commits (
    partition INTEGER NOT NULL,
    id        BLOB    NOT NULL, -- 16 bytes
    revision  INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    positions TEXT    NOT NULL, -- JSON: the positions of its messages, in order
    PRIMARY KEY (partition, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX commits_by_time ON commits (at);
