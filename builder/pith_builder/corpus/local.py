"""Issuing a corpus on one machine: several processes sign, and this one writes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from pith_builder import files
from pith_builder.corpus.checkpoint import Checkpoint, CheckpointDiffers, RunSettings
from pith_builder.corpus.crew import Crew, Plan
from pith_builder.corpus.into_folder import REJECTS, IntoFolder
from pith_builder.corpus.into_store import IntoStore
from pith_builder.corpus.processes import usual_count
from pith_builder.corpus.progress import Progress
from pith_builder.corpus.progress import progress as progress_of
from pith_builder.corpus.run import Run
from pith_builder.corpus.snapshot import opened
from pith_builder.corpus.stopping import Stopping
from pith_builder.errors import cleaned
from pith_builder.published import DEFAULT_PROFILE, Profile
from pith_builder.signers.active import KeySource
from pith_builder.signing import fingerprint
from pith_builder.store import Store
from pith_builder.times import Clock, receipt_time


def issue_locally(
    snapshot: str,
    into: str | Path,
    *,
    keys: KeySource,
    passphrase: Callable[[str], bytes],
    clock: Clock,
    profile: Profile = DEFAULT_PROFILE,
    rejects: Path | None = None,
    workers: int | None = None,
    max_rejects: int | None = None,
    restart: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
    stopping: Stopping | None = None,
) -> Checkpoint:
    """Issue the papers of a snapshot (`-` for standard input) into the store of a URL, or into the folder of a path.

    Each worker takes the key from its own source; `passphrase` is asked once. There are as many `workers` as this
    process has cores unless it is given. Into a store, `rejects` lists the rows that give no record, rejects.jsonl in
    the current folder unless it is given; a folder has its own. Gives the last checkpoint. `progress` is called after
    each batch; a signal noted by `stopping` ends the run behind it.

    Raises Interrupted, TooManyRejects, CheckpointDiffers where a run that stopped was of another input, key or profile
    (which `restart` gives up), KeyUnusable, StorageFailed, InvalidMetadata. What is done stays for the next call.
    """
    asked: dict[str, bytes] = {}
    noted = stopping or Stopping()

    def remembered(key_id: str) -> bytes:
        asked[key_id] = passphrase(key_id)
        return asked[key_id]

    with opened(snapshot) as source:
        source.check_lines()
        signer = keys.signer(remembered, clock)
        signer.opened()  # before anything begins: a passphrase may be asked for
        target = IntoFolder(into) if isinstance(into, Path) else IntoStore(Store(into), signer, profile, clock)
        time = receipt_time(clock())
        fresh = Checkpoint(
            snapshot if snapshot == "-" else files.as_text(snapshot),
            source.identity,
            RunSettings.of(signer, profile),
            cleaned(str((into / REJECTS).absolute())) if isinstance(into, Path) else files.as_text(rejects or REJECTS),
            *(time, time, time),
        )
        plan = Plan(keys, fingerprint(signer.public_key), profile, target.shape, snapshot)
        crew = Crew(plan, workers or usual_count(), asked)
        with stopping or contextlib.nullcontext():
            try:
                begun = target.begin(fresh, restart=restart)
                if rejects is not None and begun.rejects != fresh.rejects:
                    raise CheckpointDiffers(
                        f"the run that stopped lists its rejects in {begun.rejects}", hint="leave --rejects away"
                    )
                run = Run(source, target, crew.results, begun, clock, max_rejects=max_rejects, stop=noted.is_asked)
                for checkpoint in run.go():
                    progress(progress_of(checkpoint, [os.getpid(), *crew.process_ids()]))
            finally:
                crew.stop()
                target.close()
    return run.checkpoint
