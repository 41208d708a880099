"""Papers in files of metadata: all of them in order, or those that are asked for."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import msgspec

from pith_builder import files, text, times
from pith_builder.arxiv_id import ArxivId
from pith_builder.documents import loads
from pith_builder.errors import ConflictingMetadata, InvalidInput, InvalidMetadata, PithError, VersionMismatch, cleaned
from pith_builder.metadata import PaperMetadata, Provenance
from pith_builder.sources.pieces import Piece, pieces
from pith_builder.sources.rows import Described, claimed_id, described, is_withdrawn, read_usual_row, source_time
from pith_builder.times import Clock


class FoundPaper(msgspec.Struct, frozen=True):
    """Metadata of one paper and where they came from."""

    metadata: PaperMetadata
    provenance: Provenance


class Entry(msgspec.Struct, frozen=True):
    """What stands at one place of a file: a paper, or why there is none.

    `line` is from 1, 0 of the whole file; `arxiv_id` the paper that it is about, None where that can't be told.
    """

    line: int
    arxiv_id: str | None
    found: FoundPaper | PithError


def read_piece(piece: Piece, name: str, clock: Clock) -> Entry:
    """The paper in one document of the file `name`."""
    try:
        paper = read_paper(piece.data)
    except InvalidInput as error:
        return Entry(piece.line, claimed_in(piece.data), error.at(file=name, line=piece.line))
    found = provenance(paper, piece.data, name, times.seconds(clock()))
    return Entry(piece.line, paper.metadata.arxiv_id, FoundPaper(paper.metadata, found))


def read_paper(data: bytes) -> Described:
    """The paper that one JSON document describes. Raises InvalidJson or InvalidMetadata."""
    return read_usual_row(data) or described(loads(data))


def claimed_in(data: bytes) -> str | None:
    """The id of the paper that a document is about, even where it holds no metadata; None where it names none."""
    try:
        return claimed_id(loads(data))
    except InvalidInput:
        return None


def provenance(paper: Described, data: bytes, name: str, fetched_at: str) -> Provenance:
    """Where a paper came from: read at `fetched_at` in the file `name`, where it stands as `data`."""
    return Provenance(
        source=f"{'json' if paper.is_own else 'snapshot'}:{_shown_name(name)}",
        source_time=source_time(paper.update_date),
        fetched_at=fetched_at,
        raw_sha256=hashlib.sha256(data).hexdigest(),
        withdrawn=is_withdrawn(paper.comments),
    )


@lru_cache(maxsize=16)
def _shown_name(name: str) -> str:
    """The name of a file without folders: where records tell of their source."""
    return cleaned(Path(name).name)


class PaperFile:
    """A file of metadata, or standard input as `-`, read as often as is needed."""

    def __init__(self, path: str, clock: Clock) -> None:
        self.name = path
        self._clock = clock
        self._spooled: BinaryIO | None = None

    def __str__(self) -> str:
        return self.name

    def __iter__(self) -> Iterator[Entry]:
        """All papers in order. Two different descriptions of one id and version are refused, both."""
        conflicts = self._conflicts()
        for entry in self._entries():
            if isinstance(entry.found, FoundPaper) and (arxiv_id := entry.found.metadata.id) in conflicts:
                yield Entry(entry.line, arxiv_id.id, conflicting(arxiv_id, self.name))
            else:
                yield entry

    def select(self, wanted: Iterable[ArxivId]) -> dict[ArxivId, FoundPaper | PithError]:
        """The papers asked for that are there; without a version, the highest.

        Raises the first error of a file in which nothing can be read.
        """
        wanted = list(wanted)
        ids = {arxiv_id.id for arxiv_id in wanted}
        of_wanted, nothing_read = [], None
        for n, entry in enumerate(self._entries()):
            if entry.arxiv_id in ids:
                of_wanted.append(entry)
            if n == 0 and isinstance(entry.found, PithError):
                nothing_read = entry.found
            elif not isinstance(entry.found, PithError):
                nothing_read = None
        if nothing_read is not None:
            raise nothing_read
        return choose(wanted, of_wanted, self.name)

    def _entries(self) -> Iterator[Entry]:
        empty = True
        with self._opened() as stream:
            for piece in pieces(stream):
                empty = False
                yield read_piece(piece, self.name, self._clock)
        if empty:
            yield Entry(0, None, InvalidMetadata([("", "there is no paper in it")]).at(file=self.name))

    def _conflicts(self) -> set[ArxivId]:
        seen: dict[ArxivId, bytes] = {}
        conflicts = set()
        for entry in self._entries():
            if isinstance(entry.found, FoundPaper):
                described = description(entry.found.metadata)
                if seen.setdefault(entry.found.metadata.id, described) != described:
                    conflicts.add(entry.found.metadata.id)
        return conflicts

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.name != "-" and Path(self.name).is_file():
            with files.failing("read the file", self.name), open(self.name, "rb") as stream:
                yield stream
            return
        if self._spooled is None:  # standard input, or a pipe that can be read once
            self._spooled = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as this object
            weakref.finalize(self, self._spooled.close)
            with files.failing("read the file", self.name):
                if self.name == "-":
                    shutil.copyfileobj(sys.stdin.buffer, self._spooled)
                else:
                    with open(self.name, "rb") as stream:
                        shutil.copyfileobj(stream, self._spooled)
        self._spooled.seek(0)
        yield self._spooled


def choose(wanted: Iterable[ArxivId], entries: Iterable[Entry], place: str) -> dict[ArxivId, FoundPaper | PithError]:
    """Of several descriptions the one that each id asks for: its version, or the highest; else why there is none."""
    by_id: dict[str | None, list[Entry]] = {}
    for entry in entries:
        by_id.setdefault(entry.arxiv_id, []).append(entry)
    return {asked: _choose_one(asked, by_id[asked.id], place) for asked in wanted if asked.id in by_id}


def _choose_one(asked: ArxivId, entries: list[Entry], place: str) -> FoundPaper | PithError:
    found = [entry.found for entry in entries if isinstance(entry.found, FoundPaper)]
    unread = [entry.found for entry in entries if isinstance(entry.found, PithError)]
    if unread and (asked.version is None or not found):
        return unread[0]  # it may be the newest version that can't be read
    version = asked.version or max(f.metadata.version for f in found)
    of_version = [f for f in found if f.metadata.version == version]
    if not of_version:
        described = ", ".join(f"v{v}" for v in sorted({f.metadata.version for f in found}))
        return VersionMismatch(
            f"{place} describes {described} of {asked.id}, not v{version}",
            max(f.metadata.version for f in found),
            hint="a record is only built from metadata of its own version",
        )
    if len({description(f.metadata) for f in of_version}) > 1:
        return conflicting(of_version[0].metadata.id, place)
    return of_version[-1]


def description(metadata: PaperMetadata) -> bytes:
    """A digest of all that a record shows of a paper; wraps and the order of authors don't count."""
    shown = (
        text.collapse(metadata.title),
        text.text_sha256(metadata.abstract),
        text.excerpt(metadata.abstract),
        text.authors_text(metadata.authors),
        metadata.categories.split(),
        metadata.license,
        metadata.submitted_at,
    )
    return hashlib.sha256(msgspec.json.encode(shown)).digest()[:16]


def conflicting(arxiv_id: ArxivId, place: str) -> ConflictingMetadata:
    return ConflictingMetadata(
        f"{place} describes {arxiv_id} twice, differently",
        hint="keep the description that arXiv has, and take the other away",
    )
