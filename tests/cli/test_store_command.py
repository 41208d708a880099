"""`pith-build store check`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.testing import make_metadata

Run = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("at_store")


def test_a_sound_store_passes(with_key: Run, papers: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata(), make_metadata(arxiv_id="2601.00002")))
    result = with_key("store", "check")
    assert (result.code, result.out) == (0, "2 records, 0 failed\n")


def test_a_fault_is_a_line_and_exit_1(with_key: Run, papers: Run, sql: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata()))
    sql("UPDATE records SET canonical = :it", it=b"{")
    result = with_key("store", "check", "--json")
    assert result.code == 1
    failure, summary = result.lines
    assert failure["reason"]
    assert summary == {"records": 1, "failed": 1}


def test_without_a_store_there_is_nothing_to_check(run: Run, home: Path) -> None:
    assert run("store", "check").code == 1
    assert not home.exists()
