"""How a run stands: the newest one of a store, or that of a folder, also while another process is at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from pith_builder import files
from pith_builder.corpus import beside, into_folder, into_store
from pith_builder.corpus.checkpoint import Checkpoint, Counts
from pith_builder.corpus.cluster import parts
from pith_builder.corpus.manifest import NAME as MANIFEST
from pith_builder.corpus.progress import Progress, progress
from pith_builder.store import Store

#: `unknown` where another user may be at it.
State = Literal["running", "stopped", "finished", "unknown"]


class Status(msgspec.Struct, frozen=True):
    """What is told of a run; `since` says in words when it was at work, or how much of it is done, and `rest` all."""

    input_name: str
    key_id: str
    state: State
    since: str
    counts: Counts
    progress: Progress
    rest: dict[str, Any]


def of_store(store: Store) -> Status | None:
    """The newest run of a store, None where there was none. Raises StoreFailed."""
    found = into_store.newest_run(store)
    return None if found is None else _of_checkpoint(found, Path(found.rejects))


def of_folder(folder: Path) -> Status | None:
    """The run of a folder, None where there was none. Raises FileFailed, CheckpointDiffers where it can't be read."""
    if (found := into_folder.read_checkpoint(folder)) is not None:
        return _of_checkpoint(found, folder / into_folder.REJECTS)
    return _of_cluster(folder)


def _state(is_running: bool | None, *, is_finished: bool) -> State:
    if is_running:
        return "running"
    return "finished" if is_finished else "stopped" if is_running is False else "unknown"


def _of_checkpoint(found: Checkpoint, rejects: Path) -> Status:
    return Status(
        found.input_name,
        found.settings.key_id,
        _state(beside.is_running(rejects), is_finished=found.finished_at is not None),
        f"begun {found.begun_at}, saved {found.saved_at}",
        found.counts,
        progress(found),
        msgspec.to_builtins(found),
    )


def _of_cluster(folder: Path) -> Status | None:
    if not (folder / parts.PLAN).exists():
        return None
    from pith_builder.corpus.cluster.plan import Plan  # which needs pyarrow

    plan = Plan.read(folder)
    shards = len(plan.shards) if plan else 0
    if plan is None or not shards:
        return None
    noted = {n: part for n in range(shards) if (part := parts.noted(folder, n, plan.run))}
    repeats = folder / parts.REPEATS
    is_finished = (folder / MANIFEST).exists() and repeats.exists() and len(noted) == shards
    counts = parts.counts(noted)
    if is_finished:
        counts = msgspec.structs.replace(counts, repeated=files.read(repeats).count(b"\n"))
    others = f" and {len(plan.inputs) - 1} more files" if len(plan.inputs) > 1 else ""
    name = f"{plan.inputs[0].path}{others}"
    told = {"input_name": name, "inputs": plan.inputs, "settings": plan.settings, "counts": counts}
    return Status(
        name,
        plan.settings.key_id,
        _state(files.is_locked(folder / parts.LOCK), is_finished=is_finished),
        f"{len(noted)} of {shards} shards done",
        counts,
        Progress(counts.rows, counts.rejected, None, round(100 * len(noted) / shards, 1), None),
        told | {"shards": shards, "shards_done": len(noted)},
    )
