"""The processes that sign: in order, under the right key, and through the death of any of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pith_builder import Profile
from pith_builder.corpus import crew as module
from pith_builder.corpus.crew import Crew, Plan, WorkerLost
from pith_builder.corpus.into_folder import line_item
from pith_builder.corpus.snapshot import Chunk, Place
from pith_builder.corpus.work import work
from pith_builder.errors import KeyLocked, KeyUnfit
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.signers import key_file, ring_file
from pith_builder.signers.active import KeySource
from pith_builder.signing import fingerprint
from pith_builder.testing import make_seed, make_signer
from pith_builder.testing.corpus import rows

SIGNER = make_signer()
PASSPHRASE = b"a phrase for tests"


@pytest.fixture
def keys(tmp_path: Path) -> KeySource:
    """A home with an encrypted key file, and its ring."""
    ring = KeyRing.empty().with_key(RingKey.of(SIGNER.key_id, SIGNER.public_key, "active", "receipts"))
    path = tmp_path / "keyring.json"
    path.write_bytes(ring.to_json())
    private = ring_file.key_path(tmp_path, SIGNER.key_id)
    private.parent.mkdir(parents=True)
    key_file.write(private, SIGNER, make_seed(), PASSPHRASE)
    return KeySource(path, tmp_path)


@pytest.fixture
def crew(keys: KeySource) -> Iterator[Callable[..., Crew]]:
    made: list[Crew] = []

    def call(count: int = 2, *, passphrase: bytes = PASSPHRASE, key_fingerprint: str | None = None) -> Crew:
        plan = Plan(keys, key_fingerprint or fingerprint(SIGNER.public_key), Profile(), line_item, "snapshot.jsonl")
        made.append(Crew(plan, count, {SIGNER.key_id: passphrase}))
        return made[-1]

    yield call
    for one in made:
        one.stop()


def chunks(count: int) -> list[Chunk]:
    return [Chunk(Place(n), b"".join(rows(3, start=3 * n)), Place(n + 1)) for n in range(count)]


def told(done: Any) -> tuple[list[bytes], bytes]:
    return [line[:70] for line in done.items.splitlines()], done.entries


def test_workers_do_what_one_process_does_and_in_order(crew: Callable[..., Crew]) -> None:
    given = chunks(20)
    found = list(crew().results(iter(given)))
    assert [chunk.begin for chunk, _ in found] == [chunk.begin for chunk in given]
    for chunk, (_, done) in zip(given, found, strict=True):
        alone = work(chunk, SIGNER, Profile(), lambda: datetime.now(UTC), line_item, "snapshot.jsonl")
        assert told(done) == told(alone)
        assert (done.rows, done.rejects) == (3, [])


def test_a_crew_of_none_to_do_starts_no_process(crew: Callable[..., Crew]) -> None:
    idle = crew()
    assert list(idle.results(iter([]))) == []
    assert idle.process_ids() == []


@pytest.mark.parametrize("which", ["one", "all"])
def test_a_worker_that_is_killed_takes_nothing_along(crew: Callable[..., Crew], which: str) -> None:
    ours = crew()
    given = chunks(30)
    found = []
    killed = []
    for n, (chunk, _) in enumerate(ours.results(iter(given))):
        found.append(chunk.begin)
        if n in (3, 15):
            killed += (processes := ours.process_ids()[: 1 if which == "one" else None])
            for process in processes:
                os.kill(process, signal.SIGKILL)
    assert found == [chunk.begin for chunk in given]
    assert len(set(killed)) == (2 if which == "one" else 4)
    ours.stop()
    assert not any(map(_runs, killed))


def test_workers_that_always_die_end_the_run(crew: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch) -> None:
    answer = module._Worker.answer

    def killed(worker: Any, chunk: Chunk) -> Any:
        os.kill(worker.process_id, signal.SIGKILL)
        return answer(worker, chunk)

    monkeypatch.setattr(module._Worker, "answer", killed)
    with pytest.raises(WorkerLost, match="several times over the rows behind line 0") as died:
        list(crew(1).results(iter(chunks(1))))
    assert "memory" in died.value.hint


def test_a_wrong_passphrase_comes_out_as_itself(crew: Callable[..., Crew]) -> None:
    with pytest.raises(KeyLocked, match="does not open"):
        list(crew(1, passphrase=b"wrong").results(iter(chunks(1))))


def test_a_worker_signs_with_no_other_key_than_the_run(crew: Callable[..., Crew]) -> None:
    other = fingerprint(make_signer(2).public_key)
    with pytest.raises(KeyUnfit, match="another active key"):
        list(crew(1, key_fingerprint=other).results(iter(chunks(1))))


def test_a_key_that_is_no_longer_active_signs_no_further_chunk(crew: Callable[..., Crew], keys: KeySource) -> None:
    results = crew(1).results(iter(chunks(50)))
    next(results)
    other = make_signer(2)
    ring = KeyRing.empty().with_key(RingKey.of(other.key_id, other.public_key, "active", "receipts"))
    keys.keyring.write_bytes(ring.to_json())
    with pytest.raises(KeyUnfit, match="no longer the active key") as refused:
        list(results)
    assert "--restart" in refused.value.hint  # since a run has one key


def test_stopped_workers_are_gone(crew: Callable[..., Crew]) -> None:
    ours = crew()
    next(ours.results(iter(chunks(10))))
    processes = ours.process_ids()
    ours.stop()
    assert len(processes) == 2
    for process in processes:
        assert not _runs(process)


def test_a_worker_ends_with_its_parent(crew: Callable[..., Crew], tmp_path: Path) -> None:
    """Played by a thread's parent that is gone: what it waits for returns at once."""
    worker, parent = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(parent)
        module.multiprocessing.parent_process = lambda: _Gone(worker)  # type: ignore[assignment]
        module._end_with_parent()
        os._exit(0)
    os.close(worker)
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.close(parent)
    deadline = time.monotonic() + 30
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(ended[1]) == 1


class _Gone:
    """A parent that is there until the other end of a pipe is closed."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def join(self) -> None:
        os.read(self._pipe, 1)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
