"""A corpus run through kills, full disks, inputs that change and second processes ends as one that was undisturbed."""

from __future__ import annotations

import itertools
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from corpus_jobs import IN_SMALL_BATCHES, Job, differences, workers_of
from pith_builder.testing.corpus import with_faults
from postgresql_server import Server

ROWS = 1200
SLOW = {"SECONDS_A_BATCH": "0.04"}


@pytest.fixture(scope="module")
def content() -> bytes:
    return b"".join(row.line for row in with_faults(ROWS))


@pytest.fixture
def snapshot(tmp_path: Path, content: bytes) -> Path:
    """Good rows, and after each ten of them one that is damaged or repeats another."""
    path = tmp_path / "snapshot.jsonl"
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def undisturbed(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Job]:
    """What runs come to that nothing happens to: into a store or not."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "snapshot.jsonl").write_bytes(content)
    jobs = {
        False: Job(folder / "a", None, IN_SMALL_BATCHES),
        True: Job(folder / "b", f"sqlite:///{folder}/pith.db", IN_SMALL_BATCHES),
    }
    for job in jobs.values():
        assert job.run(folder / "snapshot.jsonl", "--workers", "1").code == 1  # some rows give no record
    return jobs


@pytest.fixture
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Job]:
    """A run into a kind of target."""
    server = request.getfixturevalue("postgresql") if request.param == "postgresql" else None
    store = server.empty_database() if server else f"sqlite:///{tmp_path / 'pith.db'}"
    job = Job(tmp_path / "home", None if request.param == "folder" else store, IN_SMALL_BATCHES)
    yield job
    job.close()
    if server:
        server.give_back(store)


@pytest.fixture
def check(undisturbed: dict[bool, Job], snapshot: Path) -> Callable[[Job], None]:
    """Go on with a run until its end, which must be the undisturbed one."""

    def call(job: Job, process: subprocess.Popen[bytes] | None = None) -> None:
        ended = job.end(process or job.start(snapshot, "--workers", "1"))
        assert (ended.code, ended.err.startswith("rejects: "), "Traceback" in ended.err) == (1, True, False)
        assert job.is_finished()
        assert list(differences(undisturbed[job.store is not None], job)) == []

    return call


# --- kills --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("job", "kills"), [("sqlite", 6), ("postgresql", 3), ("folder", 3)], indirect=["job"])
def test_kill_at_any_moment_of_any_process_changes_nothing(
    job: Job, snapshot: Path, check: Callable[..., None], kills: int
) -> None:
    """A worker, after which the run goes on by itself, the process that writes, or all: a random moment later."""
    chance = random.Random(4)
    seen = [0]
    process = job.start(snapshot, "--workers", "2", env=SLOW)
    for n, kind in zip(range(kills), itertools.cycle(("worker", "writer", "all")), strict=False):
        if n % 2:
            job.wait_for(process, seen[-1])
        else:
            time.sleep(chance.random() * 0.5)  # nothing is expected to be done by then
        if kind == "worker":
            while not (workers := workers_of(process.pid)) and process.poll() is None:
                time.sleep(0.005)
            os.kill(chance.choice(workers), signal.SIGKILL)
        else:
            (os.killpg if kind == "all" else os.kill)(process.pid, signal.SIGKILL)
            assert job.end(process).code == -signal.SIGKILL
            process = job.start(snapshot, "--workers", "2", env=SLOW)
        seen.append(job.done())
    assert seen == sorted(seen)
    assert len(set(seen)) > 1
    check(job, process)


@pytest.mark.parametrize("job", ["sqlite"], indirect=True)
def test_run_goes_on_by_itself_when_workers_are_killed(job: Job, snapshot: Path, check: Callable[..., None]) -> None:
    process = job.start(snapshot, "--workers", "2", env=SLOW)
    killed = set()
    for _ in range(3):
        job.wait_for(process, job.done() + 120)  # which is more than was given out to those that were killed
        for worker in workers_of(process.pid):
            os.kill(worker, signal.SIGKILL)
            killed.add(worker)
    assert len(killed) > 3
    check(job, process)


@pytest.mark.parametrize("job", ["folder"], indirect=True)
def test_no_worker_outlives_a_parent_that_is_killed(job: Job, snapshot: Path) -> None:
    with job.stopped(snapshot, "--workers", "2") as process:
        workers = workers_of(process.pid)
        process.kill()
    job.end(process)
    assert len(workers) == 2
    deadline = time.monotonic() + 30
    while alive := [worker for worker in workers if Path(f"/proc/{worker}/exe").exists()]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.01)


# --- the disk -----------------------------------------------------------------------------------------------------


def no_larger_than(size: int) -> Callable[[], None]:
    """In a child process: files can't grow beyond `size` bytes, and writing on gives an error."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize(
    ("job", "size"),
    [("sqlite", 0), ("sqlite", 900_000), ("folder", 30_000), ("folder", 700_000)],
    indirect=["job"],
)
def test_full_disk_is_5_and_the_next_run_goes_on(
    job: Job, snapshot: Path, check: Callable[..., None], size: int
) -> None:
    ended = job.run(snapshot, "--workers", "1", preexec_fn=no_larger_than(size))
    assert (ended.code, ended.out) == (5, "")
    assert "Traceback" not in ended.err
    assert size < 500_000 or job.done()
    check(job)


@contextmanager
def no_room(url: str) -> Iterator[None]:
    """While it lasts, the server has no room for the 700th record that comes."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'disk is full' USING ERRCODE = 'disk_full'; END $$"
        )
        condition = "FOR EACH ROW WHEN (NEW.id = 700)"
        connection.execute(f"CREATE TRIGGER t BEFORE INSERT ON records {condition} EXECUTE FUNCTION no_room()")
        yield
        connection.execute("DROP FUNCTION no_room CASCADE")


@pytest.mark.parametrize("job", ["postgresql"], indirect=True)
def test_full_disk_of_the_server_is_5_and_the_next_run_goes_on(
    job: Job, snapshot: Path, check: Callable[..., None]
) -> None:
    assert job.store is not None
    with no_room(job.store):
        ended = job.run(snapshot, "--workers", "1")
    assert (ended.code, ended.out) == (5, "")
    assert "make room on the server's disk" in ended.err
    assert job.done()
    assert not job.is_finished()
    check(job)


@pytest.mark.parametrize("job", ["postgresql"], indirect=True)
def test_crash_of_the_server_is_5_and_the_next_run_goes_on(
    job: Job, snapshot: Path, check: Callable[..., None], postgresql: Server
) -> None:
    with job.stopped(snapshot, "--workers", "1") as process:
        postgresql.stop("immediate")
    ended = job.end(process)
    postgresql.start()
    assert (ended.code, ended.out) == (5, "")
    assert "Traceback" not in ended.err
    check(job)


# --- the input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("job", ["folder"], indirect=True)
def test_input_that_vanished_is_5_until_it_is_back(
    job: Job, snapshot: Path, content: bytes, check: Callable[..., None]
) -> None:
    with job.stopped(snapshot) as process:
        process.kill()
    job.end(process)
    done = job.done()
    snapshot.unlink()
    ended = job.run(snapshot)
    assert (ended.code, "No such file" in ended.err) == (5, True)
    assert job.done() == done
    snapshot.write_bytes(content)
    check(job)


@pytest.mark.parametrize(("job", "change"), [("sqlite", "truncated"), ("folder", "grown")], indirect=["job"])
def test_input_that_changes_in_a_run_ends_it_and_the_right_one_goes_on(
    job: Job, snapshot: Path, content: bytes, check: Callable[..., None], change: str
) -> None:
    with job.stopped(snapshot) as process:
        os.truncate(snapshot, len(content) - 1 if change == "truncated" else len(content) + 1)
    ended = job.end(process)
    assert (ended.code, ended.out) == (5, "")
    assert "when it was opened" in ended.err
    assert not job.is_finished()
    again = job.run(snapshot)
    assert (again.code, "changed since then" in again.err, "--restart" in again.err) == (1, True, True)
    snapshot.write_bytes(content)
    check(job)


# --- two processes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("job", "arguments"), [("sqlite", ["--restart"]), ("folder", [])], indirect=["job"])
def test_second_process_is_refused_and_leaves_the_run_alone(
    job: Job, snapshot: Path, check: Callable[..., None], arguments: list[str]
) -> None:
    with job.stopped(snapshot) as process:
        told = (job.home / "stderr").read_text()
        second = job.run(snapshot, *arguments)
        assert (second.code, "another process" in second.err) == (5, True)
        (job.home / "stderr").write_text(told)
    check(job, process)
