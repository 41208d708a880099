"""What comes of a shard: a table of numbers, its rejects, entries by which repeats are found, and a note on all that.

The note is written last. It names the run, and the size and SHA-256 of these files: a later run trusts what it finds.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Literal, Self

import msgspec

from pith_builder import files
from pith_builder.corpus.checkpoint import Counts
from pith_builder.corpus.manifest import ListedFile
from pith_builder.corpus.processes import WorkerLost
from pith_builder.errors import FileFailed

#: Below the folder of a run: its plan, and the notes and rejects of its parts.
STATE = "shards"
PLAN, LOCK = f"{STATE}/plan.json", f"{STATE}/.lock"

#: What is put together of all parts: the rows that gave no record, and those that repeat others.
REJECTS, REPEATS = "rejects.jsonl", "repeats.jsonl"

_MOST_ATTEMPTS = 3


class FileReject(msgspec.Struct, frozen=True):
    """A row that gave no record: where it stands, the paper that it names, and why.

    `line` is from 1; of a table it is the row, and `offset` (in bytes, unpacked) is null. `id` is null where the row
    names no paper.
    """

    file: str
    line: int
    offset: int | None
    id: str | None
    code: str
    reason: str


class FileRepeat(msgspec.Struct, frozen=True):
    """A row that is not the first of its kind, as `notes.Repeat` has it, with the files; `offset` as in FileReject."""

    file: str
    line: int
    offset: int | None
    id: str
    code: Literal["repeated_row", "conflicting_metadata"]
    number: str
    first_file: str
    first_line: int


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The note on a shard that is finished: of which run, by which process on which machine, and its files.

    `superseded` rows were taken out of the table again, since a later row of the input gave the same number.
    """

    run: str
    written_by: str
    rows: int
    table: ListedFile
    rejects: ListedFile
    entries: ListedFile
    superseded: int = 0

    @classmethod
    def of(cls, folder: Path, n: int, run: str, rows: int, rejects: int) -> Self:
        """The note on the n-th shard, whose files are in their places. Raises FileFailed."""
        return cls(
            run,
            _this_process(),
            rows,
            ListedFile.of(folder, table_name(n), rows - rejects),
            ListedFile.of(folder, rejects_name(n), rejects),
            ListedFile.of(folder, entries_name(n), rows - rejects),
        )

    @property
    def adds_up(self) -> bool:
        """Whether each row is in the table, or rejected, or superseded."""
        papers = self.rows - self.rejects.records
        counts = (self.rejects.records, self.superseded, self.table.records)
        return min(counts) >= 0 and (papers, papers) == (self.entries.records, self.table.records + self.superseded)

    def without(self, folder: Path, superseded: int) -> Self:
        """The same, after so many rows were taken out of the table. Raises FileFailed."""
        kept = self.rows - self.rejects.records - superseded
        table = ListedFile.of(folder, self.table.path, kept)
        return msgspec.structs.replace(self, table=table, superseded=superseded)

    def write(self, folder: Path, n: int) -> None:
        """Put the note in its place, which makes the shard finished. Raises FileFailed."""
        files.replace(folder / note_name(n), msgspec.json.encode(self) + b"\n")

    def is_whole(self, folder: Path) -> bool:
        """Whether the files are there as they were written."""
        try:
            return all(
                ListedFile.of(folder, file.path, file.records) == file
                for file in (self.table, self.rejects, self.entries)
            )
        except FileFailed:
            return False


def finished(folder: Path, n: int, run: str) -> Part | None:
    """The note on the n-th shard, where a run with this name has finished it and its files are whole."""
    part = noted(folder, n, run)
    return part if part is not None and part.is_whole(folder) else None


def noted(folder: Path, n: int, run: str) -> Part | None:
    """The note on the n-th shard of a run, as it is, without a look at the files."""
    try:
        part = msgspec.json.decode(files.read(folder / note_name(n)), type=Part)
    except (FileFailed, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    paths = (part.table.path, part.rejects.path, part.entries.path)
    is_of_shard = (part.run, *paths) == (run, table_name(n), rejects_name(n), entries_name(n))
    return part if is_of_shard and part.adds_up else None


def counts(done: dict[int, Part]) -> Counts:
    """What came of the rows of these shards."""
    rows, rejected = sum(part.rows for part in done.values()), sum(part.rejects.records for part in done.values())
    superseded = sum(part.superseded for part in done.values())
    return Counts(rows=rows, issued=rows - rejected - superseded, stored=superseded, rejected=rejected)


def begin_attempt(folder: Path, n: int) -> None:
    """Note that this process begins the n-th shard. Raises WorkerLost where several have died at it, or FileFailed."""
    path = folder / attempts_name(n)
    with files.failing("write the file", path), open(path, "a+") as stream:
        stream.seek(0)
        before = stream.read().split()
        stream.write(f"{_this_process()}\n")
    if len(before) >= _MOST_ATTEMPTS:
        raise WorkerLost(
            f"workers died at one part of the input, {table_name(n)}: {', '.join(before)}",
            hint="look at the memory of the machines; the same command goes on, with fewer --workers",
        )


def end_attempts(folder: Path, n: int) -> None:
    """Forget who has tried: it is done, or a new run begins. Raises FileFailed."""
    with files.failing("remove the file", folder / attempts_name(n)):
        (folder / attempts_name(n)).unlink(missing_ok=True)


def _this_process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def table_name(n: int) -> str:
    return f"part-{n:05}.parquet"


def rejects_name(n: int) -> str:
    return f"{STATE}/rejects-{n:05}.jsonl"


def entries_name(n: int) -> str:
    return f"{STATE}/entries-{n:05}"


def note_name(n: int) -> str:
    return f"{STATE}/part-{n:05}.json"


def temporary(folder: Path) -> list[Path]:
    """What killed workers have left: files that have not got their names."""
    return [*folder.glob(".*.partial"), *(folder / STATE).glob(".*.partial")]


def attempts_name(n: int) -> str:
    return f"{STATE}/attempts-{n:05}"
