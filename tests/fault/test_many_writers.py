"""Several processes at once, from the first moment, when nothing exists yet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
WRITERS = 8


@pytest.mark.usefixtures("at_store")
def test_writers_of_the_same_papers_end_with_one_record_and_one_receipt_each(
    with_key: Run, start: Run, registry: Path, tmp_path: Path, sound_records: Callable[[], int]
) -> None:
    outputs = [tmp_path / f"out{n}" for n in range(WRITERS)]
    processes = []
    for output in outputs:
        with output.open("wb") as out:
            processes.append(
                start("issue", "--json", "--metadata", registry / "snapshot_rows.jsonl", stdout=out, stderr=out)
            )
    assert [process.wait(timeout=120) for process in processes] == [0] * WRITERS
    assert sound_records() == 100
    printed = [
        {json.loads(line)["pith_number"]: line for line in output.read_bytes().splitlines() if line.startswith(b"{")}
        for output in outputs
    ]
    assert all(records == printed[0] for records in printed)


def test_catalogue_is_indexed_by_several_processes_at_once(start: Run, home: Path, registry: Path) -> None:
    processes = [start("compute", "0704.0001", "--catalog", registry / "snapshot_rows.jsonl") for _ in range(6)]
    found = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 6
    assert len({out for out, _ in found}) == 1
    assert [path.suffix for path in (home / "cache").iterdir()] == [".db"]
