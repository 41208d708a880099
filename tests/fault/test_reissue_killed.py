"""Reissuing thousands of records while processes are killed, disks fill up and others hold the store."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import Issuer, KeyRing, PithRecord, Profile, Provenance, verify
from pith_builder.errors import KeyLocked, StoreFailed
from pith_builder.keyring import RingKey
from pith_builder.receipt import Receipt
from pith_builder.store import Store, database, sqlite
from pith_builder.store.reissue import Progress, Refusal, Reissue
from pith_builder.store.store import insert_record
from pith_builder.testing import START, FrozenClock, make_metadata, make_signer
from postgresql_server import Server

Run = Callable[..., Any]
RECORDS = 6000
KILLS = 15
OLD, NEW = make_signer(1), make_signer(2)
NEW_RING = KeyRing.empty().with_key(RingKey.of(NEW.key_id, NEW.public_key, "active", "receipts"))
RING = NEW_RING.with_key(RingKey.of(OLD.key_id, OLD.public_key, "retired", "receipts"))


@pytest.fixture(scope="module")
def issued() -> list[PithRecord]:
    """Thousands of records under the old key, all at different times."""
    issuer = Issuer(OLD, clock=FrozenClock(step=timedelta(milliseconds=1)))
    return [issuer.issue(make_metadata(arxiv_id=f"2601.{n:05}")) for n in range(1, RECORDS + 1)]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def filled(
    request: pytest.FixtureRequest, issued: list[PithRecord], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of a store of them, on each database in turn."""
    server = request.getfixturevalue("postgresql") if request.param == "postgresql" else None
    url = server.new_database() if server else f"sqlite:///{tmp_path_factory.mktemp('filled') / 'pith.db'}"
    engine = Store(url).engine
    with database.writing(engine) as connection:
        for record in issued:
            assert insert_record(connection, record, None, Provenance("test"), record.receipt.signed_at)
    if server is None:
        with database.reading(engine) as connection:
            connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    yield url
    if server:
        server.drop(url)


@pytest.fixture
def store_url(filled: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a copy of it."""
    if filled.startswith("sqlite"):
        yield f"sqlite:///{shutil.copy(filled.removeprefix('sqlite:///'), tmp_path / 'pith.db')}"
        return
    server = request.getfixturevalue("postgresql")
    url = server.copy(filled)
    yield url
    server.drop(url)


@pytest.fixture
def rotated(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run` in a home whose ring has been rotated; the seed of the new key is in the environment, as of children."""
    (home / "keys").mkdir(parents=True)
    (home / "keys" / "keyring.json").write_bytes(RING.to_json())
    monkeypatch.setenv("THE_SEED", base64.b64encode(hashlib.sha256(b"pith-build TEST key 2").digest()).decode())
    monkeypatch.setenv("PITH_KEY", "env:THE_SEED")
    return run


@pytest.fixture
def reissued(at_store: str, sql: Run) -> Callable[[], int]:
    """How many records have a new receipt, after checking that each has just the one that its columns name."""
    new_key = NEW_RING.keys[0].fingerprint

    def call() -> int:
        [(receipts, new)] = sql(  # in one statement, which sees one state of a store at work
            "SELECT (SELECT count(*) FROM receipts), (SELECT count(*) FROM current WHERE key_fingerprint = :key)",
            key=new_key,
        )
        assert receipts == RECORDS + new
        assert sql("SELECT record_id FROM receipts GROUP BY 1 HAVING count(*) > 2") == []
        return int(new)

    return call


@pytest.fixture
def check_all_reissued(at_store: str, sql: Run, issued: list[PithRecord]) -> Callable[[], None]:
    """Every record verifies under the new key; its history is the old receipt and one new one."""

    def call() -> None:
        if at_store.startswith("sqlite"):
            assert sql("PRAGMA integrity_check") == [("ok",)]
        history: dict[str, list[Receipt]] = {}
        for digest, receipt in sql(
            "SELECT canonical_sha256, receipt FROM receipts JOIN records r ON r.id = record_id ORDER BY receipts.id"
        ):
            history.setdefault(digest.hex(), []).append(msgspec.json.decode(receipt, type=Receipt))
        assert len(history) == RECORDS
        for record in issued:
            old, new = history[record.canonical_sha256]
            assert old == record.receipt
            assert new.first_computed_at == old.first_computed_at
            assert new.is_signed_by(NEW.public_key, bytes.fromhex(record.canonical_sha256))
        store = Store(at_store)
        for record in issued[::20]:
            stored = store.get(record.pith_number).record
            assert verify(stored.to_json(), NEW_RING).ok
            assert stored.replace(receipt=record.receipt, updated_at=record.updated_at) == record

    return call


@pytest.fixture
def check_reissued_and_updated(at_store: str, sql: Run) -> Callable[[int], None]:
    """Every record has one new receipt, and so many have other authors, with the earlier block in the history."""

    def call(updated: int) -> None:
        assert sql("SELECT count(*) FROM receipts") == [(2 * RECORDS,)]
        assert sql("SELECT record_id FROM receipts GROUP BY 1 HAVING count(*) > 2") == []
        assert sql("SELECT count(DISTINCT record_id), count(*) FROM earlier_blocks") == [(updated, updated)]
        store = Store(at_store)
        for n in (1, updated // 2, updated, updated + 1):
            record = store.get(f"2601.{n:05}").record
            assert verify(record.to_json(), NEW_RING).ok
            assert (record.paper.authors_text == "Grace Hopper") == (n <= updated)

    return call


def _run(url: str, signer: Any = NEW, **options: Any) -> Iterator[Progress]:
    """The steps of a run in this process."""
    clock = FrozenClock(START + timedelta(days=30))
    return Reissue(Store(url), RING, signer, Profile(), clock, **options).run_all()


def kill_at_random(
    process: subprocess.Popen[bytes], chance: random.Random, grown: Callable[[], bool], share: float
) -> bool:
    """Kill at a random moment: of the start, or for a share of them after some progress. Whether it was running."""
    if chance.random() < share:
        while process.poll() is None and not grown():
            pass
    time.sleep(chance.random() * 0.15)  # nothing is expected to be done by then
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def test_kill_at_any_moment_leaves_old_and_new_receipts_and_the_next_run_goes_on(
    rotated: Run, start: Run, reissued: Callable[[], int], check_all_reissued: Callable[[], None]
) -> None:
    chance = random.Random(3)
    seen, killed = [0], 0
    for _ in range(KILLS):
        before = seen[-1]
        process = start("reissue")
        killed += kill_at_random(process, chance, lambda: reissued() > before, 0.6)  # noqa: B023  # used at once
        seen.append(reissued())
    assert killed > KILLS // 2  # the last ones may be done before the signal comes
    assert len(set(seen)) > 3
    assert seen == sorted(seen)
    result = rotated("reissue")
    assert (result.code, result.err) == (0, "")
    assert result.out == f"reissued {RECORDS - seen[-1]}, refused 0\n"
    check_all_reissued()
    assert rotated("reissue").out == "reissued 0, refused 0\n"


def test_interrupt_is_130_and_keeps_the_work_so_far(rotated: Run, start: Run, reissued: Callable[[], int]) -> None:
    process = start("reissue")
    while process.poll() is None and not reissued():
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    done = reissued()
    assert (process.returncode, out.decode()) == (130, f"reissued {done}, refused 0\n")
    assert b"Traceback" not in err
    assert 0 < done < RECORDS
    assert rotated("reissue").out == f"reissued {RECORDS - done}, refused 0\n"


@pytest.mark.usefixtures("rotated", "at_store")
def test_processes_at_once_reissue_none_twice(start: Run, check_all_reissued: Callable[[], None]) -> None:
    processes = [start("reissue", "--json") for _ in range(3)]
    done = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sum(line["reissued"] for line in done) == RECORDS
    check_all_reissued()


@pytest.mark.usefixtures("rotated", "at_store")
def test_record_may_be_issued_while_others_are_reissued(start: Run, papers: Run, run: Run, sql: Run) -> None:
    process = start("reissue")
    result = run("issue", "--metadata", papers(make_metadata(arxiv_id="2602.00001")))
    assert (result.code, process.wait(timeout=120)) == (0, 0)
    assert sql("SELECT count(DISTINCT key_fingerprint), count(*) FROM current") == [(1, RECORDS + 1)]


@pytest.mark.usefixtures("rotated", "at_store")
def test_records_may_be_updated_while_they_are_reissued(
    start: Run, run: Run, papers: Run, check_reissued_and_updated: Callable[[int], None]
) -> None:
    updated = 400
    source = papers(*(make_metadata(arxiv_id=f"2601.{n:05}", authors="Grace Hopper") for n in range(updated, 0, -1)))
    processes = [start("reissue") for _ in range(2)]
    result = run("issue", "--metadata", source)
    assert (result.code, result.err.count("record_updated")) == (0, updated)
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    check_reissued_and_updated(updated)


@pytest.mark.parametrize("filled", ["postgresql"], indirect=True)
def test_crash_of_the_server_keeps_the_batches_before(
    rotated: Run,
    start: Run,
    reissued: Callable[[], int],
    check_all_reissued: Callable[[], None],
    postgresql: Server,
) -> None:
    process = start("reissue")
    while process.poll() is None and not reissued():
        pass
    postgresql.stop("immediate")
    out, err = process.communicate(timeout=60)
    postgresql.start()
    assert process.returncode == 5
    assert b"Traceback" not in err
    done = reissued()
    told = int(out.split()[1].strip(b","))
    assert done in (told, told + 500)  # the answer to a commit may be lost
    assert rotated("reissue").out == f"reissued {RECORDS - done}, refused 0\n"
    check_all_reissued()


# --- the signer -------------------------------------------------------------------------------------------------


class Failing:
    """The new key in an agent that drops every 1,000th question."""

    key_id, public_key = NEW.key_id, NEW.public_key

    def __init__(self) -> None:
        self.asked = 0

    def sign(self, message: bytes) -> bytes:
        self.asked += 1
        if self.asked % 1000 == 0:
            raise KeyLocked("the agent is gone")
        return NEW.sign(message)


def test_signer_that_fails_every_1000th_time_loses_nothing(
    at_store: str, check_all_reissued: Callable[[], None]
) -> None:
    dropped = RECORDS // 1000
    for expected in ((RECORDS - dropped, dropped), (dropped, 0)):
        refused: list[Refusal] = []
        *_, last = _run(at_store, Failing(), refused=refused.append)
        assert (last.reissued, last.refused) == expected
        assert len(refused) == last.refused
    check_all_reissued()


# --- the disk ---------------------------------------------------------------------------------------------------


def no_larger_than(size: int) -> Callable[[], None]:
    """In a child process: files can't grow beyond `size` bytes, and writing on gives an error."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
@pytest.mark.parametrize("size", [0, 40_000, 1_000_000, 3_000_000])
def test_disk_that_is_full_is_5_and_the_next_run_goes_on(
    rotated: Run, run_process: Run, reissued: Callable[[], int], check_all_reissued: Callable[[], None], size: int
) -> None:
    result = run_process("reissue", preexec_fn=no_larger_than(size))
    assert result.code == 5
    assert "make room on the disk" in result.err
    assert "Traceback" not in result.err
    done = reissued()
    assert done < RECORDS
    assert result.out in ("", f"reissued {done}, refused 0\n")  # nothing, where the store could not even be opened
    assert bool(result.out) or not done
    assert rotated("reissue").out == f"reissued {RECORDS - done}, refused 0\n"
    check_all_reissued()


@pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
def test_database_that_may_have_no_more_pages_keeps_the_batches_before(
    at_store: str,
    sql: Run,
    reissued: Callable[[], int],
    check_all_reissued: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [(pages,)], [(page_bytes,)] = sql("PRAGMA page_count"), sql("PRAGMA page_size")
    real = sqlite._configure

    def limited(connection: Any, record: object) -> None:
        real(connection, record)
        connection.execute(f"PRAGMA max_page_count = {pages + 2**21 // page_bytes}")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_configure", limited)
        with pytest.raises(StoreFailed, match="full"):
            list(_run(at_store))
    done = reissued()
    assert 0 < done < RECORDS
    *_, last = _run(at_store)
    assert last.reissued == RECORDS - done
    check_all_reissued()


# --- other processes hold the store -----------------------------------------------------------------------------


def test_lock_in_the_middle_of_a_run_keeps_the_batches_before(
    at_store: str, reissued: Callable[[], int], locked_store: Any
) -> None:
    steps = _run(at_store)
    next(steps)
    with locked_store(), pytest.raises(StoreFailed, match="lock"):
        next(steps)
    assert reissued() == 500


# --- files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def source(issued: list[PithRecord], rotated: Run, tmp_path: Path) -> Path:
    """The same records in a file."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(record.to_json() + b"\n" for record in issued))
    return path


def check_file(target: Path, issued: list[PithRecord]) -> None:
    """Every record verifies under the new key, and the history is of the old receipts, each once and in order."""
    lines = target.read_bytes().splitlines()
    history = target.with_name("b.history.jsonl").read_bytes().splitlines()
    assert len(lines) == len(history) == RECORDS
    for record, line, earlier in zip(issued, lines, history, strict=True):
        new = PithRecord.from_json(line)
        assert new.receipt.is_signed_by(NEW.public_key, bytes.fromhex(record.canonical_sha256))
        assert new.receipt.first_computed_at == record.receipt.first_computed_at
        assert new.replace(receipt=record.receipt, updated_at=record.updated_at) == record
        assert msgspec.json.decode(earlier)["receipt"] == msgspec.to_builtins(record.receipt)
    assert all(verify(line, NEW_RING).ok for line in lines[::20])
    assert {path.name for path in target.parent.iterdir() if path.is_file() and not path.name.startswith("..")} == {
        "a.jsonl",
        "b.jsonl",
        "b.history.jsonl",
    }


def test_kill_at_any_moment_of_reissuing_a_file_is_continued(
    rotated: Run, start: Run, source: Path, issued: list[PithRecord]
) -> None:
    target, kept = source.with_name("b.jsonl"), source.with_name(".b.jsonl.checkpoint")
    chance = random.Random(4)
    seen, killed = [b""], 0
    for _ in range(KILLS):
        process = start("reissue", "--in", source, "--out", target)
        before = seen[-1]
        killed += kill_at_random(
            process,
            chance,
            lambda: target.exists() or (kept.exists() and kept.read_bytes() != before),  # noqa: B023  # used at once
            0.3,
        )
        if target.exists():
            break
        seen.append(kept.read_bytes() if kept.exists() else b"")
    assert killed > 3
    assert len(set(seen)) > 2
    if not target.exists() or kept.exists():
        result = rotated("reissue", "--in", source, "--out", target)
        assert (result.code, result.out, result.err) == (0, f"reissued {RECORDS}, refused 0\n", "")
    check_file(target, issued)


@pytest.mark.parametrize("size", [0, 100_000, 10_000_000])
def test_disk_that_is_full_for_a_file_is_5_and_the_next_run_goes_on(
    rotated: Run, run_process: Run, source: Path, issued: list[PithRecord], size: int
) -> None:
    target = source.with_name("b.jsonl")
    result = run_process("reissue", "--in", source, "--out", target, preexec_fn=no_larger_than(size))
    assert result.code == 5
    assert re.fullmatch(r"reissued \d+, refused 0\n", result.out)
    assert "Traceback" not in result.err
    assert not target.exists()
    assert rotated("reissue", "--in", source, "--out", target).out == f"reissued {RECORDS}, refused 0\n"
    check_file(target, issued)
