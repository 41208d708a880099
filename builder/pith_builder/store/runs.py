"""Corpus runs and how far they are, kept beside the records: a checkpoint moves in the transaction of its records."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder.errors import StoreFailed
from pith_builder.store.database import reading, writing
from pith_builder.store.schema import corpus_runs


class KeptRun(msgspec.Struct, frozen=True):
    """A run as the store keeps it: its checkpoint, whose form is the corpus's, and when it was finished."""

    id: int
    checkpoint: bytes
    finished_at: str | None


def latest(engine: sa.Engine) -> KeptRun | None:
    """The run that began last; no other can be unfinished."""
    with reading(engine) as connection:
        return _latest(connection)


def begin(engine: sa.Engine, checkpoint: bytes, now: str) -> KeptRun:
    """Begin a run, and end the one before where it is unfinished. Raises StoreFailed."""
    with writing(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("LOCK TABLE corpus_runs IN SHARE ROW EXCLUSIVE MODE")
        connection.execute(corpus_runs.update().where(corpus_runs.c.finished_at.is_(None)).values(finished_at=now))
        connection.execute(corpus_runs.insert().values(checkpoint=checkpoint))
        run = _latest(connection)
    assert run is not None  # noqa: S101  # it was just put in
    return run


def move(connection: sa.Connection, run: KeptRun, checkpoint: bytes, finished_at: str | None) -> KeptRun:
    """Move a run's checkpoint, in the transaction of what was done. Raises StoreFailed where another process did."""
    here = (corpus_runs.c.id == run.id) & (corpus_runs.c.checkpoint == run.checkpoint)
    moved = connection.execute(
        corpus_runs.update()
        .where(here & corpus_runs.c.finished_at.is_(None))
        .values(checkpoint=checkpoint, finished_at=finished_at)
    )
    if moved.rowcount != 1:
        raise elsewhere()
    return KeptRun(run.id, checkpoint, finished_at)


def elsewhere() -> StoreFailed:
    """The error of a run that another process is at."""
    return StoreFailed("another process goes on with this run, or began a new one", hint="let only one run at a time")


def _latest(connection: sa.Connection) -> KeptRun | None:
    newest: sa.Select[Any] = sa.select(corpus_runs).order_by(corpus_runs.c.id.desc()).limit(1)
    row = connection.execute(newest).first()
    return None if row is None else KeptRun(row.id, row.checkpoint, row.finished_at)
