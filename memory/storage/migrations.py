"""Schema of the store and its migrations.

Migrations are only added: a file of any past version opens, and `tests/data/memory-<version>.db` holds one of each. The
version is the number of applied migrations (`PRAGMA user_version`).
"""

from __future__ import annotations

import sqlite3

APPLICATION_ID = 0x57656674  # `Weft`: distinguishes a store from other SQLite files

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE conversations (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            folder TEXT NOT NULL,
            created_at REAL NOT NULL,
            changed_at REAL NOT NULL
        )""",
        """CREATE TABLE turns (
            conversation TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
            number INTEGER NOT NULL,
            question TEXT NOT NULL,
            asked_at REAL NOT NULL,
            answer TEXT,
            answered_at REAL,
            model TEXT NOT NULL DEFAULT '',
            citations TEXT NOT NULL DEFAULT '[]',
            evidence TEXT NOT NULL DEFAULT '[]',
            PRIMARY KEY (conversation, number)
        )""",
        "CREATE INDEX turns_by_time ON turns (asked_at)",
        """CREATE TABLE documents (
            source TEXT PRIMARY KEY,
            hash TEXT NOT NULL,
            kind TEXT NOT NULL,
            read_at REAL NOT NULL
        )""",
        "CREATE TABLE segments (key TEXT PRIMARY KEY, text TEXT NOT NULL)",
        """CREATE TABLE places (
            document TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
            position INTEGER NOT NULL,
            source TEXT NOT NULL,
            number INTEGER NOT NULL,
            title TEXT NOT NULL,
            segment TEXT NOT NULL REFERENCES segments,
            start INTEGER NOT NULL,
            first_line INTEGER NOT NULL,
            PRIMARY KEY (document, position)
        )""",
        "CREATE INDEX places_by_segment ON places (segment)",
        """CREATE TABLE kept (
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            value BLOB NOT NULL,
            used_at REAL NOT NULL,
            PRIMARY KEY (kind, key)
        )""",
        "CREATE INDEX kept_by_use ON kept (used_at)",
    ),
    ("ALTER TABLE turns ADD COLUMN asked_as TEXT NOT NULL DEFAULT ''",),
)
"""History: 1, the first. 2, the question that a turn was asked as."""

VERSION = len(MIGRATIONS)
"""The newest version that this Weft reads."""


def version_of(connection: sqlite3.Connection) -> int:
    """The number of applied migrations; 0 for an empty file."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate(connection: sqlite3.Connection, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> None:
    """Apply missing migrations in one transaction. If two processes do so, the second one finds nothing to apply."""
    if version_of(connection) >= len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in migrations[version_of(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
