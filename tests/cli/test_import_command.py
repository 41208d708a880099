"""`pith-build store import`: files of others' records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.testing import make_keyring, make_record, make_signer

Run = Callable[..., Any]
SEED = "2403.07648v2.record.json"
NUMBER = "pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE"


@pytest.fixture
def seed_file(registry: Path) -> Path:
    return registry / "seeds" / SEED


def test_published_record_is_imported_and_comes_out_again(run: Run, seed_file: Path) -> None:
    result = run("store", "import", seed_file)
    assert (result.code, result.out) == (0, "imported 1, updated 0, stored 0, failed 0\n")
    assert f"event=record_imported pith_number={NUMBER}" in result.err
    assert run("show", "2403.07648", "--json").out.encode().rstrip() == seed_file.read_bytes().rstrip()
    assert json.loads(run("show", "2403.07648", "--provenance").out)["source"] == f"import:{SEED}"


def test_second_run_says_that_all_is_stored(run: Run, seed_file: Path) -> None:
    run("store", "import", seed_file)
    result = run("store", "import", seed_file)
    assert (result.code, result.out, result.err) == (0, "imported 0, updated 0, stored 1, failed 0\n", "")


def test_failures_are_told_and_the_others_go_on(run: Run, seed_file: Path, tmp_path: Path) -> None:
    lines = tmp_path / "records.jsonl"
    lines.write_bytes(make_record().to_json() + b"\n" + seed_file.read_bytes().strip() + b"\nxx\n")
    result = run("store", "import", lines)
    assert (result.code, result.out) == (1, "imported 1, updated 0, stored 0, failed 2\n")
    assert f"{lines}:1: key_known" in result.err
    assert f"{lines}:3: " in result.err


def test_keys_of_the_ring_count(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ring.json").write_bytes(make_keyring(make_signer()).to_json())
    (tmp_path / "record.json").write_bytes(make_record().to_json())
    arguments = ("store", "import", tmp_path / "record.json")
    assert run(*arguments).code == 1
    assert run(*arguments, "--keyring", tmp_path / "ring.json").code == 0


def test_as_json_each_record_is_a_line_and_the_summary_the_last(run: Run, seed_file: Path, tmp_path: Path) -> None:
    (tmp_path / "unknown.json").write_bytes(make_record().to_json())
    result = run("store", "import", seed_file, tmp_path / "unknown.json", "--json")
    assert result.code == 1
    taken, failed, summary = result.lines
    assert taken == {"input": f"{seed_file}:1", "action": "imported", "pith_number": NUMBER}
    assert failed["error"]["code"] == "verification_failed"
    assert summary == {"imported": 1, "updated": 0, "stored": 0, "failed": 1}


def test_standard_input(run: Run, seed_file: Path) -> None:
    assert run("store", "import", "-", stdin=seed_file.read_bytes()).code == 0
    assert json.loads(run("show", "2403.07648", "--provenance").out)["source"] == "import:-"


def test_imported_record_is_resolved_checked_and_left_by_reissue(with_key: Run, seed_file: Path) -> None:
    with_key("store", "import", seed_file)
    assert with_key("resolve", "2403.07648").out == f"{NUMBER}\n"
    assert with_key("store", "check").out == "1 records, 0 failed\n"
    assert with_key("reissue", "--dry-run").out == "0 need a new receipt\n"


def test_record_of_ours_that_differs_is_refused(with_key: Run, papers: Run, seed_file: Path, root: Path) -> None:
    with_key("issue", "--metadata", root / "fixtures" / "metadata" / "2403.07648v2.json")
    result = with_key("store", "import", seed_file)
    assert (result.code, result.out) == (1, "imported 0, updated 0, stored 0, failed 1\n")
    assert "is stored under our own key" in result.err


@pytest.mark.parametrize(("content", "code"), [(b"", 3), (b"xx", 3), (b"{}", 1)], ids=["empty", "no JSON", "no record"])
def test_file_of_nothing(run: Run, tmp_path: Path, content: bytes, code: int) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    result = run("store", "import", tmp_path / "bad.json")
    assert (result.code, result.out) == (code, "imported 0, updated 0, stored 0, failed 1\n")


def test_file_that_is_not_there_is_5_and_what_came_before_is_kept(run: Run, seed_file: Path, tmp_path: Path) -> None:
    result = run("store", "import", seed_file, tmp_path / "nowhere.json")
    assert (result.code, result.out) == (5, "imported 1, updated 0, stored 0, failed 0\n")
    assert "nowhere.json" in result.err


def test_files_must_be_named(run: Run) -> None:
    assert run("store", "import").code == 2
