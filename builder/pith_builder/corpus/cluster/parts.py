"""What comes of a shard: a table of numbers, its rejects, and a note that says both are finished.

The note is written last. It names the run, and the size and SHA-256 of both files: a later run trusts what it finds.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Self

import msgspec

from pith_builder import files
from pith_builder.corpus.manifest import ListedFile
from pith_builder.corpus.processes import WorkerLost
from pith_builder.errors import FileFailed

#: Below the folder of a run: its plan, and the notes and rejects of its parts.
STATE = "shards"

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


class Part(msgspec.Struct, frozen=True):
    """The note on a shard that is finished: of which run, by which process on which machine, and its two files."""

    run: str
    written_by: str
    rows: int
    table: ListedFile
    rejects: ListedFile

    @classmethod
    def of(cls, folder: Path, n: int, run: str, rows: int, rejects: int) -> Self:
        """The note on the n-th shard, whose files are in their places. Raises FileFailed."""
        table = ListedFile.of(folder, table_name(n), rows - rejects)
        return cls(run, _this_process(), rows, table, ListedFile.of(folder, rejects_name(n), rejects))

    def write(self, folder: Path, n: int) -> None:
        """Put the note in its place, which makes the shard finished. Raises FileFailed."""
        files.replace(folder / note_name(n), msgspec.json.encode(self) + b"\n")

    def is_whole(self, folder: Path) -> bool:
        """Whether both files are there as they were written."""
        try:
            return all(ListedFile.of(folder, file.path, file.records) == file for file in (self.table, self.rejects))
        except FileFailed:
            return False


def finished(folder: Path, n: int, run: str) -> Part | None:
    """The note on the n-th shard, where a run with this name has finished it and its files are whole."""
    try:
        part = msgspec.json.decode(files.read(folder / note_name(n)), type=Part)
    except (FileFailed, msgspec.MsgspecError):
        return None
    is_of_shard = (part.run, part.table.path, part.rejects.path) == (run, table_name(n), rejects_name(n))
    return part if is_of_shard and part.is_whole(folder) else None


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


def note_name(n: int) -> str:
    return f"{STATE}/part-{n:05}.json"


def attempts_name(n: int) -> str:
    return f"{STATE}/attempts-{n:05}"
