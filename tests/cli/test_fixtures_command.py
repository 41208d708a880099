"""`pith-build fixtures generate`."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.testing.generate import all_names, fixtures

Run = Callable[..., Any]


def test_a_folder_is_written_and_its_records_verify_by_the_command_line(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(
        "fixtures", "generate", "--out", out, "--seed", 3, "--kind", "minimal", "--kind", "reissued-once", "--json"
    )
    assert (result.code, result.err) == (0, "")
    [summary] = result.lines
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert summary["kinds"] == ["minimal", "reissued-once"]
    assert summary["files"] == len(manifest["files"]) + 1
    for paper in manifest["papers"]:
        record, metadata = out / paper["record"], out / paper["metadata"]
        for ring in (
            ["--keyring", out / "keyring.json"],
            ["--keyring", out / "keyring.json", "--pin", out / "pins.json"],
        ):
            assert run("verify", record, "--metadata", metadata, *ring).code == 0


def test_the_summary_for_people_is_one_line(run: Run, tmp_path: Path) -> None:
    result = run("fixtures", "generate", "--out", tmp_path, "--kind", "v10")
    assert result.code == 0
    manifest = (tmp_path / "manifest.json").read_bytes()
    count = len(json.loads(manifest)["files"]) + 1
    assert result.out == f"{count} files, manifest {hashlib.sha256(manifest).hexdigest()}\n"


def test_the_same_seed_gives_the_same_folder_and_count_more_papers(run: Run, tmp_path: Path) -> None:
    for name, seed, count in (("a", 5, 1), ("b", 5, 2)):
        assert (
            run(
                "fixtures", "generate", "--out", tmp_path / name, "--seed", seed, "--count", count, "--kind", "v10"
            ).code
            == 0
        )
    assert (tmp_path / "a/records/v10-1.json").read_bytes() == (tmp_path / "b/records/v10-1.json").read_bytes()
    one, two = ((tmp_path / f"b/records/v10-{n}.json").read_bytes() for n in (1, 2))
    assert json.loads(one)["pith_number"] != json.loads(two)["pith_number"]


def test_all_kinds_and_broken_documents_are_written_by_default(run: Run, tmp_path: Path) -> None:
    assert run("fixtures", "generate", "--out", tmp_path).code == 0
    written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert written == dict(fixtures())


def test_list_tells_what_each_kind_is_for_and_writes_nothing(run: Run) -> None:
    told = dict(line.split(maxsplit=1) for line in run("fixtures", "generate", "--list").out.splitlines())
    assert told == all_names()
    assert {
        line["kind"]: line["about"] for line in run("fixtures", "generate", "--list", "--json").lines
    } == all_names()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--out"),
        (["--out", "x", "--kind", "nimimal"], "did you mean minimal?"),
        (["--out", "x", "--kind", "?"], "--list"),
        (["--out", "x", "--count", "0"], "--count"),
        (["--out", "x", "--count", "1001"], "--count"),
        (["--out", "x", "--seed", "-1"], "--seed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_2_and_writes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("fixtures", "generate", *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert not (tmp_path / "x").exists()


def test_a_folder_that_is_not_empty_is_5_unless_forced(run: Run, tmp_path: Path) -> None:
    generate = ("fixtures", "generate", "--out", tmp_path, "--kind", "minimal")
    assert run(*generate).code == 0
    again = run(*generate, "--json")
    assert (again.code, again.lines[0]["error"]["code"]) == (5, "file_failed")
    assert "--force" in again.lines[0]["error"]["hint"]
    assert run(*generate, "--force").code == 0


def test_a_killed_run_leaves_no_manifest(start: Callable[..., Any], run: Run, tmp_path: Path) -> None:
    generate = ("fixtures", "generate", "--out", tmp_path / "out", "--count", "200")
    process = start(*generate)
    while process.poll() is None and not (tmp_path / "out" / "records").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert run("fixtures", "generate", "--out", tmp_path / "out", "--kind", "minimal").code == 5
    assert run("fixtures", "generate", "--out", tmp_path / "out", "--kind", "minimal", "--force").code == 0
