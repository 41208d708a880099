"""The catalogue: files of metadata, indexed by id, so that one paper of millions is found at once.

The index is a SQLite file in the cache folder, made anew when the file's size or time changes. Where there is no
place to keep it, it is made in memory.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from pith_builder import files
from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import FileFailed, PithError
from pith_builder.sources.papers import Entry, FoundPaper, choose, read_piece
from pith_builder.sources.pieces import Piece, pieces
from pith_builder.times import Clock

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_FORMAT = "2"


class Catalog:
    """Files of metadata, or folders of such files, and the cache folder for their indexes."""

    def __init__(self, paths: Iterable[Path], cache: Path | None, clock: Clock) -> None:
        self.paths = list(paths)
        self._cache = cache
        self._clock = clock
        #: What of the files that were looked at can't be read, and why.
        self.unreadable: list[str] = []

    def __str__(self) -> str:
        return ", ".join(map(str, self.paths))

    def select(self, wanted: Iterable[ArxivId]) -> dict[ArxivId, FoundPaper | PithError]:
        """The papers asked for that are there; without a version, the highest. Raises FileFailed."""
        wanted = list(wanted)
        entries = [entry for path in self._files() for entry in self._in_file(path, wanted)]
        return choose(wanted, entries, f"the catalogue {self}")

    def _files(self) -> list[Path]:
        found: list[Path] = []
        for path in self.paths:
            with files.failing("read the catalogue", path):
                if path.is_dir():
                    found += sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES and p.is_file())
                elif path.exists() and not path.is_file():
                    raise FileFailed("a catalogue is made of files and folders").at(file=str(path))
                else:
                    found.append(path)
        return found

    def _in_file(self, path: Path, wanted: list[ArxivId]) -> list[Entry]:
        try:
            return self._look_up(path, wanted)
        except sqlite3.DatabaseError:  # a damaged index, which can always be made anew
            self._kept(path).unlink(missing_ok=True)
            return self._look_up(path, wanted)

    def _look_up(self, path: Path, wanted: list[ArxivId]) -> list[Entry]:
        found = []
        with (
            files.failing("read the catalogue", path),
            open(path, "rb") as stream,
            closing(self._index(path)) as index,
        ):
            self.unreadable += [reason for (reason,) in index.execute("SELECT reason FROM unreadable ORDER BY rowid")]
            for asked in {arxiv_id.id for arxiv_id in wanted}:
                for line, offset, length in index.execute(
                    "SELECT line, offset, length FROM papers WHERE arxiv_id = ? ORDER BY offset", (asked,)
                ):
                    stream.seek(offset)
                    found.append(read_piece(Piece(line, offset, stream.read(length)), str(path), self._clock))
        return found

    def _index(self, path: Path) -> sqlite3.Connection:
        status = path.stat()
        state = f"{_FORMAT} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        if self._cache is not None:
            kept = self._kept(path)
            with suppress(sqlite3.Error, OSError, FileFailed):
                if not _is_current(kept, state):
                    self._keep(kept, path, state)
                return _connect_to_read(kept)
        return self._fill(sqlite3.connect(":memory:"), path, state)

    def _kept(self, path: Path) -> Path:
        name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
        return (self._cache or Path(tempfile.gettempdir())) / f"catalog-{name}.db"

    def _keep(self, kept: Path, path: Path, state: str) -> None:
        files.make_folder(kept.parent)
        temporary = kept.with_name(f".{kept.name}.{secrets.token_hex(4)}.partial")
        try:
            self._fill(sqlite3.connect(temporary), path, state).close()
            os.replace(temporary, kept)
        finally:
            temporary.unlink(missing_ok=True)

    def _fill(self, index: sqlite3.Connection, path: Path, state: str) -> sqlite3.Connection:
        with index, open(path, "rb") as stream:
            index.execute("CREATE TABLE state (state TEXT)")
            index.execute("CREATE TABLE papers (arxiv_id TEXT, line INTEGER, offset INTEGER, length INTEGER)")
            index.execute("CREATE TABLE unreadable (reason TEXT)")
            for piece in pieces(stream):
                entry = read_piece(piece, str(path), self._clock)
                if entry.arxiv_id:
                    row = (entry.arxiv_id, piece.line, piece.offset, len(piece.data))
                    index.execute("INSERT INTO papers VALUES (?, ?, ?, ?)", row)
                if isinstance(entry.found, PithError):
                    index.execute("INSERT INTO unreadable VALUES (?)", (str(entry.found),))
            index.execute("CREATE INDEX by_id ON papers (arxiv_id)")
            index.execute("INSERT INTO state VALUES (?)", (state,))
        return index


def _connect_to_read(kept: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{kept.absolute().as_uri()}?mode=ro", uri=True)


def _is_current(kept: Path, state: str) -> bool:
    if not kept.exists():
        return False
    with closing(_connect_to_read(kept)) as index, suppress(sqlite3.Error):
        return bool(index.execute("SELECT state FROM state").fetchone() == (state,))
    return False
