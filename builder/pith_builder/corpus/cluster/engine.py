"""Issuing a corpus on a Ray cluster: shards go to the workers, and what comes of them is put together at the end.

The folder may be left at any moment. The same call goes on: shards that are finished are checked, and not done again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pith_builder import files
from pith_builder.corpus import repeats
from pith_builder.corpus.checkpoint import CheckpointDiffers, Counts, RunSettings
from pith_builder.corpus.cluster import extra, parquet, parts, rayed
from pith_builder.corpus.cluster.inputs import InputFile, inputs, shard_size
from pith_builder.corpus.cluster.parts import LOCK, PLAN, REJECTS, REPEATS, STATE, FileReject, FileRepeat, Part, counts
from pith_builder.corpus.cluster.plan import Plan
from pith_builder.corpus.cluster.worker import Job
from pith_builder.corpus.manifest import NAME as MANIFEST
from pith_builder.corpus.manifest import Manifest
from pith_builder.corpus.processes import usual_count
from pith_builder.corpus.progress import Progress
from pith_builder.corpus.run import Interrupted, TooManyRejects
from pith_builder.errors import FileFailed, InvalidMetadata, PithError
from pith_builder.published import DEFAULT_PROFILE, Profile
from pith_builder.signers import passphrases
from pith_builder.signers.active import KeySource

_HOLDS_FINISHED = "it holds what came of a finished run"
_ELSEWHERE = "name another folder with --out"


def issue_with_ray(
    sources: Iterable[str | Path],
    out: Path,
    *,
    keys: KeySource,
    profile: Profile = DEFAULT_PROFILE,
    workers: int | None = None,
    max_rejects: int | None = None,
    restart: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Counts:
    """Issue the papers of these files or folders, JSON Lines or Parquet, into the folder `out`.

    Each shard gives `part-NNNNN.parquet`; `rejects.jsonl` and the manifest come last. `keys` tells the workers where
    the key is, each on its own machine (without a URI: PITH_KEY of its environment, then the home folder); this process
    reads the ring alone. The cluster is the one at RAY_ADDRESS, or a local one that ends with this call; there are as
    many `workers` as it has cores unless it is given. `progress` is called after each shard, `stop` tells whether to
    end early.

    Raises Interrupted, TooManyRejects, CheckpointDiffers where the folder has a run of other inputs, key or profile
    (which `restart` gives up), KeyUnusable, StorageFailed, InvalidMetadata. What is finished stays for the next call.
    """
    extra.check_installed()
    settings = RunSettings.of(keys.signer(passphrases.of_worker, _now), profile)
    keys = KeySource(keys.keyring.absolute(), keys.home.absolute(), keys.uri)
    out = Path(files.as_text(out))
    given = inputs(sources, out)
    with _alone(out):
        plan = _plan(out, settings, given, workers, restart=restart)
        done = {n: part for n in range(len(plan.shards)) if (part := parts.finished(out, n, plan.run))}
        left = [(n, shard) for n, shard in enumerate(plan.shards) if n not in done]
        _check_rejects(out, done, max_rejects)
        if left:
            _remove(out / MANIFEST)
            for n, _ in left:
                parts.end_attempts(out, n)
            job = Job(str(out), plan.run, plan.size, plan.inputs, keys, settings.key_fingerprint, profile)
            begun, before = time.monotonic(), counts(done)
            with rayed.answers(job, left, workers) as answers:
                for n, answer in answers:
                    if isinstance(answer, PithError):
                        raise answer
                    done[n] = answer
                    progress(_progress(plan, done, before, time.monotonic() - begun))
                    _check_rejects(out, done, max_rejects)
                    if stop():
                        raise Interrupted
        repeated = _finish(out, plan, done, [n for n, _ in left])
    return msgspec.structs.replace(counts(done), repeated=repeated)


# --- the folder -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Hold the folder against other runs; makes it where it isn't there. Raises FileFailed."""
    files.make_folder(out, 0o755)
    if not (out / PLAN).exists():
        _check_empty(out)
    files.make_folder(out / STATE, 0o755)
    with files.locked(out / LOCK, wait=False, hint="another run writes into this folder; let it end first"):
        yield


def _check_empty(out: Path) -> None:
    """Raise FileFailed where a folder without a plan holds anything; what a run leaves before its plan is hidden."""
    with files.failing("read the folder", out):
        found = {path for folder in (out, out / STATE) if folder.is_dir() for path in folder.iterdir()} - {out / STATE}
    if others := sorted(path.relative_to(out).as_posix() for path in found if path.name[0] != "."):
        raise FileFailed(
            f"there are other files in it, such as {others[0]}", hint="name a folder that is new or empty"
        ).at(file=str(out))


def _plan(out: Path, settings: RunSettings, given: list[InputFile], workers: int | None, *, restart: bool) -> Plan:
    is_finished = (out / MANIFEST).exists()
    if restart and is_finished:
        raise FileFailed(_HOLDS_FINISHED, hint=_ELSEWHERE).at(file=str(out))
    if restart:
        _clear(out)
    try:
        kept = Plan.read(out)
        if kept is not None:
            return kept.resumed(settings, given)
    except CheckpointDiffers as error:
        if is_finished:
            raise FileFailed(f"{_HOLDS_FINISHED}: {error.message}", hint=_ELSEWHERE).at(file=str(out)) from None
        raise
    plan = Plan.of(settings, given, shard_size(given, workers or usual_count()))
    plan.write(out)
    return plan


def _clear(out: Path) -> None:
    """Take away what a run has left; the plan last, by which the folder is known as that of a run."""
    of_state = [path for path in (out / STATE).iterdir() if path.name[0] != "." and path != out / PLAN]
    of_run = [*out.glob("part-*.parquet"), out / REJECTS, out / REPEATS, *parts.temporary(out)]
    for path in [*of_run, *of_state, out / PLAN]:
        _remove(path)


def _finish(out: Path, plan: Plan, done: dict[int, Part], new: list[int]) -> int:
    """Check what the workers say that they wrote, and put all else in its place; gives how many rows repeat others."""
    if counts(done).rows == 0:
        raise InvalidMetadata([("", "there is no paper in the input")]).at(file=plan.inputs[0].path)
    for n in new:
        if not done[n].is_whole(out):
            raise FileFailed(
                f"it is not there as {done[n].written_by} wrote it",
                hint="all machines must share the folder; run the command again, which does this part anew",
            ).at(file=str(out / done[n].table.path))
    for path in parts.temporary(out):
        _remove(path)
    repeated = _drop_superseded(out, plan, done)
    in_order = [done[n] for n in range(len(plan.shards))]
    temporary = out / f".{REJECTS}.partial"
    with files.failing("write the file", temporary), open(temporary, "wb") as whole:
        for part, source in zip(in_order, _sources(plan), strict=True):
            for line in files.read(out / part.rejects.path).splitlines():
                reject = msgspec.json.decode(line, type=FileReject)  # a file may be elsewhere since its shard was done
                whole.write(msgspec.json.encode(msgspec.structs.replace(reject, file=source.path)) + b"\n")
    files.adopt(temporary, out / REJECTS, replace=True)
    Manifest.of("shards", [part.table for part in in_order], counts(done).rejected).write(out)
    return repeated


def _drop_superseded(out: Path, plan: Plan, done: dict[int, Part]) -> int:
    """List the rows that repeat others, and take out of the tables those that a later one of the same number follows.

    A table stands without its note while both are written: the next run then does this part anew.
    """
    found = repeats.find([out / done[n].entries.path for n in range(len(plan.shards))])
    for n, superseded in enumerate(found.superseded):
        if superseded and not done[n].superseded:
            _remove(out / MANIFEST)
            parquet.drop(out / done[n].table.path, superseded)
            done[n] = done[n].without(out, len(superseded))
            done[n].write(out, n)
    sources = _sources(plan)
    listed = [
        FileRepeat(
            sources[of.part].path,
            of.line,
            None if sources[of.part].form == "table" else of.offset,
            *(of.id, of.code, of.number),
            sources[of.first_part].path,
            of.first_line,
        )
        for of in found.repeats
    ]
    files.replace(out / REPEATS, b"".join(msgspec.json.encode(repeat) + b"\n" for repeat in listed))
    return len(listed)


def _sources(plan: Plan) -> list[InputFile]:
    """The input of each shard."""
    return [plan.inputs[shard.input] for shard in plan.shards]


def _remove(path: Path) -> None:
    with files.failing("remove the file", path):
        path.unlink(missing_ok=True)


# --- how it goes ------------------------------------------------------------------------------------------------


def _check_rejects(out: Path, done: dict[int, Part], most: int | None) -> None:
    rejected = counts(done).rejected
    if most is not None and rejected > most:
        raise TooManyRejects(
            f"{rejected} rows gave no record, and no more than {most} were allowed",
            hint=f"look at {out / STATE}/rejects-*.jsonl; the same command with a larger --max-errors goes on",
        )


def _progress(plan: Plan, done: dict[int, Part], before: Counts, seconds: float) -> Progress:
    now, share = counts(done), len(done) / len(plan.shards)
    rate = (now.rows - before.rows) / seconds
    left = now.rows / share - now.rows
    return Progress(
        now.rows,
        now.rejected,
        round(rate, 1),
        round(100 * share, 1),
        round(left / rate, 1) if rate else None,
    )


def _now() -> datetime:
    return datetime.now(UTC)
