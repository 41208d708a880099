"""What was fetched from arXiv, kept as it came: so that a number can be explained later, and for work offline.

A SQLite file in the cache folder holds each answer by its SHA-256, and which papers it described. Without
this cache, nothing but explanations is lost.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pith_builder import files
from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import FileFailed, InvalidInput, NotFound
from pith_builder.sources.papers import FoundPaper

if TYPE_CHECKING:  # work offline does without the network's libraries
    from pith_builder.sources.transport import Answer

FILE_NAME = "fetched.db"
_HINT = "it may be taken away; nothing else needs it"
_TABLES = """
CREATE TABLE IF NOT EXISTS answers (sha256 TEXT PRIMARY KEY, url TEXT, fetched_at TEXT, body BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS papers (
    arxiv_id TEXT, version INTEGER, kind TEXT, fetched_at TEXT, found BLOB,
    PRIMARY KEY (arxiv_id, version, kind)
) WITHOUT ROWID;
"""
_BUSY_SECONDS = 5  # nobody waits long for what only explains


class Fetched:
    """The kept answers in a cache folder."""

    def __init__(self, cache: Path) -> None:
        self.path = cache / FILE_NAME

    def keep(self, answer: Answer, papers: Iterable[FoundPaper]) -> None:
        """Keep an answer and what it says of papers, in place of what was said before. Raises FileFailed."""
        files.make_folder(self.path.parent)
        with self._connected() as connection, connection:
            connection.executescript(_TABLES)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)",
                (answer.sha256, answer.url, answer.fetched_at, zlib.compress(answer.body)),
            )
            connection.executemany(
                "INSERT OR REPLACE INTO papers VALUES (?, ?, ?, ?, ?)",
                [
                    (
                        *(paper.metadata.arxiv_id, paper.metadata.version, _kind(paper), answer.fetched_at),
                        msgspec.json.encode(paper),
                    )
                    for paper in papers
                ],
            )

    def find(self, asked: ArxivId, kind: str) -> FoundPaper | None:
        """What a kind of source (`oai`, `atom`) last said of a paper: of its version, or of the highest."""
        query = "SELECT found FROM papers WHERE arxiv_id = ? AND kind = ? AND ? IN (version, 0) ORDER BY version DESC"
        row = self._first(query, (asked.id, kind, asked.version or 0))
        if row is None:
            return None
        try:
            found = msgspec.json.decode(row[0], type=FoundPaper)
        except (msgspec.MsgspecError, InvalidInput, TypeError, UnicodeError) as error:
            raise self._damaged(str(error)) from None
        if asked.id != found.metadata.arxiv_id or asked.version not in (None, found.metadata.version):
            raise self._damaged(f"what stands under {asked} is about {found.metadata.id}")
        return found

    def raw(self, sha256: str) -> bytes:
        """The answer with this SHA-256 (64 hex digits), as it came. Raises NotFound."""
        row = self._first("SELECT body FROM answers WHERE sha256 = ?", (sha256,))
        if row is None:
            raise NotFound(f"the answer {sha256} is not kept in {self.path}")
        try:
            body = zlib.decompress(row[0])
        except (zlib.error, TypeError) as error:
            raise self._damaged(str(error)) from None
        if hashlib.sha256(body).hexdigest() != sha256:
            raise self._damaged(f"what stands under {sha256} is another answer")
        return body

    def _damaged(self, why: str) -> FileFailed:
        return FileFailed(f"the cache of what was fetched is damaged: {why}", hint=_HINT).at(file=str(self.path))

    def _first(self, query: str, values: tuple[object, ...]) -> tuple[bytes] | None:
        if not self.path.exists():
            return None
        with self._connected() as connection:
            row: tuple[bytes] | None = connection.execute(query, values).fetchone()
            return row

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                yield connection
        except sqlite3.Error as error:
            raise FileFailed(f"the cache of what was fetched can't be used: {error}", hint=_HINT).at(
                file=str(self.path)
            ) from None


def _kind(paper: FoundPaper) -> str:
    return paper.provenance.source.partition(":")[0]
