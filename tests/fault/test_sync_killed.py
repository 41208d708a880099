"""kill -9 of a sync at any moment: nothing is lost, nothing comes twice, no page is asked for more often than that.

benchmarks/sync_killed.py does the same with thousands of records.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arxiv_server as play
from arxiv_server import ArxivServer, ServedPaper
from pith_builder import KeyRing, canonical_record
from pith_builder.store import Store
from pith_builder.store.check import check_store
from pith_builder.testing import FrozenClock, make_metadata

Run = Callable[..., Any]
PAPERS = [make_metadata(arxiv_id=f"2601.{n:05}", title=f"Paper {n}") for n in range(1, 61)]


@pytest.fixture
def served(arxiv: ArxivServer) -> ArxivServer:
    arxiv.page_size = 6
    arxiv.add(*(ServedPaper.of(metadata) for metadata in PAPERS))
    return arxiv


@pytest.fixture
def check(home: Path, store_url: str) -> Callable[[], None]:
    """Each paper has just its own record, and each record verifies."""

    def call() -> None:
        store = Store(store_url)
        for metadata in PAPERS:
            numbers = [found.record.pith_number for found in store.find(metadata.arxiv_id)]
            assert numbers == [str(canonical_record(metadata).number())]
        ring = KeyRing.from_json((home / "keys" / "keyring.json").read_bytes())
        faults: list[tuple[str, str]] = []
        *_, counts = check_store(store, ring, FrozenClock(), lambda *fault: faults.append(fault))
        assert (counts.checked, faults) == (len(PAPERS), [])

    return call


def test_sync_that_is_killed_again_and_again_ends_like_an_undisturbed_one(
    with_key: Run, start: Run, served: ArxivServer, store_url: str, check: Callable[[], None]
) -> None:
    chance = random.Random(4)
    killed = 0
    for _ in range(6):
        wanted = len(served.requests) + chance.randrange(1, 3)
        process = start("sync", "--from", "2026-01-01", "--store", store_url)
        while process.poll() is None and len(served.requests) < wanted:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert with_key("sync", "--from", "2026-01-01", "--store", store_url).code == 0
    repeated = sum(count - 1 for count in Counter(request.key for request in served.requests).values())
    assert killed  # most of them, but for a machine that is done before the signal comes
    assert repeated <= killed
    check()


def test_two_writers_and_a_sync_at_once_end_with_one_record_each(
    with_key: Run, start: Run, served: ArxivServer, store_url: str, papers: Run, check: Callable[[], None]
) -> None:
    source = papers(*PAPERS)
    processes = [start("issue", "--metadata", source, "--store", store_url) for _ in range(2)]
    processes.append(start("sync", "--from", "2026-01-01", "--store", store_url))
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    check()


def test_server_that_dies_in_the_middle_of_a_page_costs_nothing(
    with_key: Run, served: ArxivServer, store_url: str, check: Callable[[], None]
) -> None:
    served.script += [play.normal(), play.normal(), *(play.reset_after(1500) for _ in range(4))]
    assert with_key("sync", "--from", "2026-01-01", "--store", store_url).code == 5
    assert with_key("sync", "--from", "2026-01-01", "--store", store_url).code == 0
    check()


@pytest.mark.parametrize("answer", [play.silence(60), play.trickle(10)], ids=["silent", "slow"])
def test_interrupt_while_the_source_is_waited_for_is_130_at_once_and_keeps_the_pages(
    with_key: Run, start: Run, served: ArxivServer, home: Path, answer: play.Answer
) -> None:
    served.script += [play.normal(), answer]
    process = start("sync", "--from", "2026-01-01")
    while process.poll() is None and len(served.requests) < 2:
        time.sleep(0.001)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out.decode().startswith("issued 6, ")
    assert b"Traceback" not in err
    assert with_key("sync", "--from", "2026-01-01").out.startswith(f"issued {len(PAPERS) - 6}, ")
