"""What a corpus run leaves, but for its times: to be compared with what another run of the same corpus left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder.corpus.checkpoint import Checkpoint
from pith_builder.corpus.into_folder import read_checkpoint
from pith_builder.store import Store, runs
from pith_builder.store.database import reading
from pith_builder.store.schema import current, earlier_blocks, receipts, records

#: Only a clock that was read in the run gives such times: those of papers and their sources have no fraction.
_TIMES = re.compile(rb'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|\+00:00)|(?<="fetched_at":")[^"]+')
_TABLES = {records: records.c.id, receipts: receipts.c.id, current: current.c.record_id, earlier_blocks: None}


def timeless(data: bytes) -> bytes:
    """`data` with the same in the place of every time at which a run did something."""
    return _TIMES.sub(b"TIME", data)


def of_store(url: str) -> Iterator[tuple[str, list[Any]]]:
    """The rows of a store, in order: table and columns.

    Rows are numbered in their order, since ids have gaps on PostgreSQL, where a transaction was rolled back.
    """
    ranks: dict[str, dict[int, int]] = {}
    with reading(Store(url).engine) as connection:
        for table, key in _TABLES.items():
            order = earlier_blocks.c.id if key is None else key
            ranks[table.name] = ranked = {}
            for n, row in enumerate(connection.execute(sa.select(table).order_by(order)).mappings(), 1):
                ranked[row.get("id", 0)] = n
                named = dict(row) | {"id": n, "record_id": ranks["records"].get(row.get("record_id", 0))}
                named |= {"receipt_id": ranks.get("receipts", {}).get(row.get("receipt_id", 0))}
                yield table.name, [timeless(_bytes(value)) for value in named.values()]


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def of_folder(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """The lines of the files in a folder, and their names; the manifest without the sum of files with times."""
    for path in sorted(folder.iterdir()):
        if not path.name.startswith("."):
            data = re.sub(rb'(?<="sha256": ")[0-9a-f]+', b"", path.read_bytes())
            yield from ((path.name, [timeless(line)]) for line in data.splitlines())


def checkpoint_of(place: str | Path) -> Checkpoint | None:
    """The checkpoint of the newest run into a store, by its URL, or into a folder."""
    if isinstance(place, Path):
        return read_checkpoint(place)
    kept = runs.latest(Store(place).engine)
    return None if kept is None else Checkpoint.read(kept.checkpoint)


def workers_of(parent: int) -> list[int]:
    """The processes that sign for a process, which may have ended meanwhile."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_child = process.joinpath("stat").read_bytes().rpartition(b")")[2].split()[1] == b"%d" % parent
            if is_child and b"spawn_main" in process.joinpath("cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def counts_of(place: str | Path) -> dict[str, Any]:
    """What the run came to, and whether it is finished."""
    checkpoint = checkpoint_of(place)
    if checkpoint is None:
        return {}
    return msgspec.to_builtins(checkpoint.counts) | {"finished": checkpoint.finished_at is not None}
