"""A store in files, all of one moment and in the order of suffixes.

The same records give the same files, however many processes write them. The manifest comes last: a folder that has none
is no export.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import sqlalchemy as sa

from pith_builder import files
from pith_builder.corpus.manifest import MARKER, NAME, WITHDRAWN, ListedFile, Manifest, Withdrawn
from pith_builder.corpus.processes import team
from pith_builder.corpus.shards import ExportForm, Shard, partial, write_shard
from pith_builder.errors import FileFailed, StoreFailed
from pith_builder.store.database import moment, open_engine, reading
from pith_builder.store.ordered import SYMBOLS
from pith_builder.store.schema import records

_OURS = re.compile(
    r"\.export|(records-.\.jsonl\.zst|numbers-.\.parquet)(\.partial)?|withdrawn\.jsonl|\..+\.partial", re.ASCII
)


class Exported(msgspec.Struct):
    """How an export goes: the store's records, those in files so far, the files, and the withdrawn of the records."""

    total: int
    records: int = 0
    files: int = 0
    withdrawn: int = 0


def export(store_url: str, folder: Path, form: ExportForm, workers: int = 1) -> Iterator[Exported]:
    """Export a store into a folder that is new, empty, or has an export that stopped; gives the counts after each file.

    Others go on writing into the store. Raises NotFound, FileFailed, WorkerLost, StoreFailed also for a row that is
    damaged or whose copy is unfinished: nothing is left out.
    """
    if form == "table":
        import pith_builder.corpus.table  # noqa: F401  # says now if pyarrow is missing
    engine = open_engine(store_url, create=False)
    listed: list[ListedFile] = []
    withdrawn: list[Withdrawn] = []
    with _unfinished(folder), ExitStack() as stack:
        with moment(engine) as (at, connection):
            counts = Exported(connection.scalar(sa.select(sa.func.count()).select_from(records)) or 0)
            write = stack.enter_context(team(min(workers, len(SYMBOLS)), _writing, store_url, at, form, folder))
        for shard in filter(None, write(SYMBOLS)):
            path = folder / shard.file.path
            files.adopt(partial(path), path, replace=True)
            listed.append(shard.file)
            withdrawn += shard.withdrawn
            counts.records += shard.file.records
            counts.files, counts.withdrawn = len(listed), len(withdrawn)
            yield counts
        if left_out := counts.total - counts.records:
            raise StoreFailed(
                f"{left_out} records stand under what is no number", hint="find them with: pith-build store check"
            )
        if withdrawn:
            files.replace(folder / WITHDRAWN, b"".join(msgspec.json.encode(notice) + b"\n" for notice in withdrawn))
            listed.append(ListedFile.of(folder, WITHDRAWN, 0))
        Manifest.of(form, listed).write(folder)


@contextmanager
def _writing(store_url: str, at: str, form: ExportForm, folder: Path) -> Iterator[Callable[[str], Shard | None]]:
    """In each process: what writes a shard of the moment."""
    with reading(open_engine(store_url, create=False), at) as connection:
        yield lambda symbol: write_shard(connection, form, symbol, folder)


# --- the folder -------------------------------------------------------------------------------------------------


@contextmanager
def _unfinished(folder: Path) -> Iterator[None]:
    """Hold a folder for an export and mark it as unfinished until all is well; what an earlier one left is cleared."""
    with files.failing("look into the folder", folder):
        _refuse_others(folder)
    files.make_folder(folder, 0o755)
    marker = folder / MARKER
    with files.locked(marker, wait=False, hint="another export writes into this folder"):
        with files.failing("clear the folder", folder):
            _refuse_others(folder)
            for path in folder.iterdir():
                if path != marker:
                    path.unlink()
        yield
        with files.failing("finish the folder", folder):
            marker.unlink()


def _refuse_others(folder: Path) -> None:
    """Raise FileFailed for a folder in which something else is than what an export left that stopped."""
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if NAME in names:
        raise FileFailed("a corpus is there already", hint="name another folder").at(file=str(folder))
    others = sorted(name for name in names if not _OURS.fullmatch(name)) if MARKER in names else sorted(names)
    if others:
        hint = "name a folder that is new or empty"
        raise FileFailed(f"{others[0]} is there, which is of no export", hint=hint).at(file=str(folder))
