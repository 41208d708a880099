"""The check of many records in several processes: those of a corpus in files, or those of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from pith_builder.corpus.cluster.parts import PLAN
from pith_builder.corpus.into_folder import CHECKPOINT
from pith_builder.corpus.listed import FileReader, check_paths, unlisted
from pith_builder.corpus.manifest import (
    MARKER,
    NAME,
    ORDERED,
    TABLES,
    WITHDRAWN,
    Form,
    InvalidManifest,
    ListedFile,
    Manifest,
    Withdrawn,
)
from pith_builder.corpus.once import Place, Places
from pith_builder.corpus.processes import Team, team
from pith_builder.corpus.proof import Verdict, line_verdict, record_verdict, table_verdicts
from pith_builder.documents import loads, typed
from pith_builder.errors import FileFailed, InvalidInput, InvalidRecord, cut
from pith_builder.keyring import KeyRing
from pith_builder.number import SUFFIX_LENGTH


class Failure(msgspec.Struct, frozen=True):
    """A record or a file that does not hold: where it stands, as far as it does in a file, and why."""

    file: str | None
    line: int | None
    pith_number: str | None
    reason: str


class Verified(msgspec.Struct):
    """How a check goes: records that there should be, those looked at and those that failed; the same of files."""

    total: int
    records: int = 0
    failed: int = 0
    files: int = 0
    files_failed: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing has failed so far."""
        return not (self.failed or self.files_failed)


Failed = Callable[[Failure], None]


# --- a store ----------------------------------------------------------------------------------------------------


def verify_store(store_url: str, ring: KeyRing, failed: Failed, workers: int = 1) -> Iterator[Verified]:
    """Check all records of a store as `check_store` does, without recording it; gives the counts as it goes.

    Records that come in meanwhile may be left out. Raises NotFound, StoreFailed, WorkerLost.
    """
    import sqlalchemy as sa

    from pith_builder.store.check import BATCH
    from pith_builder.store.database import open_engine, reading
    from pith_builder.store.schema import records

    with reading(open_engine(store_url, create=False)) as connection:
        extent = sa.select(sa.func.count(), sa.func.min(records.c.id), sa.func.max(records.c.id))
        total, first, last = connection.execute(extent.select_from(records)).one()
    counts = Verified(total)
    parts = ((start - 1, start - 1 + BATCH) for start in range(first or 0, (last or -1) + 1, BATCH))
    with team(workers, _checking_store, store_url, ring.to_json()) as check:
        for looked_at, faults in check(parts):
            counts.records += looked_at
            counts.failed += len(faults)
            for number, reason in faults:
                failed(Failure(None, None, number, reason))
            yield counts


@contextmanager
def _checking_store(store_url: str, ring: bytes) -> Iterator[Callable[[tuple[int, int]], Any]]:
    from pith_builder.store.check import faults, rows_behind
    from pith_builder.store.database import open_engine, reading

    engine, keys = open_engine(store_url, create=False), KeyRing.from_json(ring)

    def check(part: tuple[int, int]) -> tuple[int, list[tuple[str, str]]]:
        with reading(engine) as connection:
            rows = rows_behind(connection, *part)
            return len(rows), list(faults(connection, rows, keys))

    yield check


# --- a folder ---------------------------------------------------------------------------------------------------


def verify_folder(folder: Path, ring: KeyRing, failed: Failed, workers: int = 1) -> Iterator[Verified]:
    """Check a corpus in files by its manifest, each record and each file; gives the counts as it goes.

    Raises FileFailed also where there is no manifest, InvalidManifest for one that can't be followed, WorkerLost.
    """
    if not (folder / NAME).exists():
        for made_by, kept in (("export", MARKER), ("issue", CHECKPOINT), ("issue", PLAN)):
            if (folder / kept).exists():
                hint = f"run corpus {made_by} again, which goes on or starts over"
                raise FileFailed("it is not finished", hint=hint).at(file=str(folder))
    manifest = Manifest.read(folder)
    try:
        check_paths(manifest)
    except InvalidManifest as error:
        raise error.at(file=str(folder / NAME)) from None
    run = _FolderCheck(folder, manifest, failed)
    run.check_folder()
    yield run.counts
    with run.places, team(workers, _checking_lines, manifest.form, ring.to_json()) as check:
        for listed in manifest.files:
            yield from run.check_notices(listed) if listed.path == WITHDRAWN else run.check_file(listed, check)
        run.check_once()
        yield run.counts


class _FolderCheck:
    """One run over a folder, whose records are in the order of suffixes in some forms, and in others in none."""

    def __init__(self, folder: Path, manifest: Manifest, failed: Failed) -> None:
        self._folder, self._manifest, self._failed = folder, manifest, failed
        self._is_ordered = manifest.form in ORDERED
        self._last = ""
        self._numbers = {listed.path: n for n, listed in enumerate(manifest.files)}
        self.places = Places()
        self.counts = Verified(manifest.records)

    def check_folder(self) -> None:
        """Whether the manifest agrees with itself, and the folder with it."""
        listed = sum(file.records for file in self._manifest.files)
        if listed != self._manifest.records:
            self._file_failed(NAME, [f"says {self._manifest.records} records, and lists {listed}"])
        for name in unlisted(self._folder, self._manifest):
            self._file_failed(name, ["is not in the manifest"])

    def check_file(self, listed: ListedFile, check: Team) -> Iterator[Verified]:
        reader = FileReader(self._folder, listed)
        batches: Iterable[Any] = reader.table() if self._manifest.form in TABLES else reader.lines()
        before = self.counts.records
        for verdicts in check(batches):
            for line, verdict in verdicts:
                self._take(listed.path, line, verdict)
            yield self.counts
        self.counts.files += 1
        self._file_failed(listed.path, reader.faults(self.counts.records - before))
        yield self.counts

    def check_notices(self, listed: ListedFile) -> Iterator[Verified]:
        """The list of records that were issued in error, which is small."""
        reader = FileReader(self._folder, listed)
        faults = [
            f"line {line}: {error.message}"
            for batch in reader.lines()
            for line, data in batch
            if (error := _no_notice(data))
        ]
        self.counts.files += 1
        self._file_failed(listed.path, [*faults, *reader.faults(0)])
        yield self.counts

    def _take(self, path: str, line: int, verdict: Verdict) -> None:
        number, fault = verdict
        reasons = [fault] if fault else []
        if number is None or fault:
            pass  # what it claims to be says nothing of its place
        elif self._is_ordered:
            suffix = number[-SUFFIX_LENGTH:]
            if suffix <= self._last:
                reasons.append("stands here a second time" if suffix == self._last else "is out of order")
            self._last = suffix
        else:
            self.places.add(number[-SUFFIX_LENGTH:], Place(self._numbers[path], line))
        self.counts.records += 1
        if reasons:
            self.counts.failed += 1
            self._failed(Failure(path, line, number and cut(number, 60), "; ".join(reasons)))

    def check_once(self) -> None:
        """Whether no number stands twice where records are in no order."""
        paths = [listed.path for listed in self._manifest.files]
        for suffix, place, first in self.places.repeated():
            self.counts.failed += 1
            reason = f"stands here a second time, after {paths[first.file]}:{first.line}"
            self._failed(Failure(paths[place.file], place.line, f"pith:{suffix}", reason))

    def _file_failed(self, path: str, reasons: list[str]) -> None:
        if reasons:
            self.counts.files_failed += 1
            self._failed(Failure(path, None, None, "; ".join(reasons)))


def _no_notice(data: bytes) -> InvalidInput | None:
    try:
        typed(Withdrawn, loads(data), InvalidRecord)
    except InvalidInput as error:
        return error
    return None


@contextmanager
def _checking_lines(form: Form, ring: bytes) -> Iterator[Callable[[Any], list[tuple[int, Verdict]]]]:
    keys = KeyRing.from_json(ring)
    if form in TABLES:
        yield lambda batch: list(enumerate(table_verdicts(batch[1], keys), batch[0]))
    else:
        verdict = record_verdict if form == "records" else line_verdict
        yield lambda batch: [(line, verdict(data, keys)) for line, data in batch]
