"""Work in several processes: in order, within bounds, and nothing is left of them, however it ends."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from pith_builder.corpus.processes import WorkerLost, team, usual_count
from pith_builder.errors import Ambiguous, InvalidMetadata, InvalidNumber, PithError, VersionMismatch
from pith_builder.number import PithNumber


@pytest.mark.parametrize("count", [1, 2])
def test_results_come_in_the_order_of_the_tasks(count: int) -> None:
    tasks = [20_000, 1, 2, 20_000, 3]
    with team(count, nullcontext, math.factorial) as work:
        assert list(work(tasks)) == [math.factorial(n) for n in tasks]
        assert list(work([4])) == [24]
        assert list(work([])) == []


@pytest.mark.parametrize("count", [1, 2])
def test_tasks_are_taken_as_they_are_needed(count: int) -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for n in itertools.count():
            taken.append(n)
            yield n

    with team(count, nullcontext, abs) as work:
        assert next(iter(work(tasks()))) == 0
        assert len(taken) <= 8 * count


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_process_raises_is_raised_as_it_was(count: int) -> None:
    with pytest.raises(InvalidNumber) as raised, team(count, nullcontext, PithNumber.parse) as work:
        list(work(["pith:BMWHAH2D", "pith:1"]))
    assert "can't stand in it" in raised.value.message


def test_what_a_process_raises_before_its_first_task_is_raised() -> None:
    with pytest.raises(InvalidNumber), team(2, PithNumber.parse, "pith:1"):  # type: ignore[arg-type]
        pass


def test_process_that_is_killed_is_an_error_and_no_endless_wait() -> None:
    with pytest.raises(WorkerLost, match="ended in the middle"), team(2, nullcontext, os._exit) as work:
        list(work([1]))


def test_error_here_ends_the_processes_in_the_middle_of_their_work() -> None:
    def tasks() -> Iterator[int]:
        yield 600
        raise InvalidNumber("here")

    with pytest.raises(InvalidNumber, match="here"), team(2, nullcontext, time.sleep) as work:
        list(work(tasks()))
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    "error",
    [
        PithError("why", field="title", hint="mend it").at(file="x", line=3),
        InvalidMetadata([("title", "is missing"), ("id", "is missing")]),
        VersionMismatch("no such version", 3, hint="ask for v3"),
        Ambiguous("two", ["a", "b"]),
    ],
    ids=lambda error: error.code,
)
def test_errors_go_between_processes_whole(error: PithError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.args, vars(again)) == (type(error), error.args, vars(error))


WAITING = """
import sys, time
from contextlib import nullcontext
from pith_builder.corpus.processes import team
if __name__ == "__main__":
    with team(2, nullcontext, time.sleep) as work:
        print("begun", flush=True)
        list(work([1, 1]))
        print("done", flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_when_their_parent_is_killed(number: signal.Signals, tmp_path: Path) -> None:
    """Their standard output is that of the parent: it ends when the last of them does."""
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        assert process.communicate(timeout=120) == (b"", b"")


def test_interrupt_from_the_terminal_is_for_the_parent_alone(tmp_path: Path) -> None:
    script = tmp_path / "waiting.py"
    script.write_text(WAITING.replace("[1, 1]", "[600, 600]"))
    with subprocess.Popen(
        [sys.executable, script], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert err.count(b"Traceback") == 1  # the parent's own
    assert process.returncode == -signal.SIGINT


def test_usual_count_is_what_this_process_may_use() -> None:
    assert 1 <= usual_count() <= (os.cpu_count() or 1)
