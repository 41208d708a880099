"""What a corpus run leaves, but for its times: to be compared with what another run of the same corpus left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pith_builder.corpus.checkpoint import Checkpoint
from pith_builder.corpus.into_folder import read_checkpoint
from pith_builder.corpus.into_store import read_staged
from pith_builder.store import Store, runs
from pith_builder.store.database import reading
from pith_builder.store.schema import current, earlier_blocks, receipts, records

#: Only a clock that was read in the run gives such times: those of papers and their sources have no fraction.
_TIMES = re.compile(rb'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|\+00:00)|(?<="fetched_at":")[^"]+')

_OF_NUMBER = sa.select(records.c.suffix)
_ROWS: dict[str, sa.Select[Any]] = {
    "records": sa.select(records).order_by(records.c.suffix),
    "receipts": _OF_NUMBER.add_columns(receipts.c.receipt)
    .join(receipts, receipts.c.record_id == records.c.id)
    .order_by(records.c.suffix, receipts.c.id),
    "current": _OF_NUMBER.add_columns(current, receipts.c.receipt)
    .join(current, current.c.record_id == records.c.id)
    .join(receipts, receipts.c.id == current.c.receipt_id)
    .order_by(records.c.suffix),
    "earlier_blocks": _OF_NUMBER.add_columns(earlier_blocks)
    .join(earlier_blocks, earlier_blocks.c.record_id == records.c.id)
    .order_by(records.c.suffix, earlier_blocks.c.id),
}
_IDS = {"id", "record_id", "receipt_id"}


def of_store(url: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The rows of all tables, in the order of the numbers; what ids connect is put together, and they are left out."""
    with reading(Store(url).engine) as connection:
        for table, query in _ROWS.items():
            for row in connection.execute(query).mappings():
                yield table, {name: timeless(_bytes(row[name])) for name in row if name not in _IDS}


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def of_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The lines of the files in a folder; the manifest without the sums of files that have times in them."""
    for path in sorted(folder.iterdir()):
        if not path.name.startswith("."):
            data = re.sub(rb'(?<="sha256": ")[0-9a-f]+', b"", path.read_bytes())
            yield from ((path.name, timeless(line)) for line in data.splitlines())


def timeless(data: bytes) -> bytes:
    """`data` with one word in the place of every time at which a run did something."""
    return _TIMES.sub(b"TIME", data)


def checkpoint_of(place: str | Path) -> Checkpoint | None:
    """How far the newest run is into a store, by its URL, or into a folder."""
    if isinstance(place, Path):
        return read_checkpoint(place)
    kept = runs.latest(Store(place).engine)
    if kept is None:
        return None
    merged = Checkpoint.read(kept.checkpoint)
    staged = None if merged.finished_at else read_staged(kept, merged)
    return merged if staged is None else staged.reached


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
