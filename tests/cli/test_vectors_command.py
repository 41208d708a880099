"""`pith-build vectors` and `pith-build schema`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.testing.vectors import RULES
from pith_builder.testing.vectors.files import default_folder

OURS = f"{shlex.quote(sys.executable)} -m pith_builder vectors serve"
LAZY = "import sys, json\nfor line in sys.stdin: print(json.dumps({'id': json.loads(line)['id'], %s}), flush=True)"


def command(reply: str) -> str:
    return shlex.join([sys.executable, "-S", "-E", "-c", LAZY % reply])


def test_our_own_implementation_passes_all_vectors(run: Callable[..., Any]) -> None:
    result = run("vectors", "check", "--strict", "--json", "--timeout", "300", "--with", OURS)
    *rules, sums = result.lines
    assert result.code == 0
    assert [line["rule"] for line in rules] == sorted(RULES)
    assert sums["failed"] == sums["unsupported"] == 0
    assert sums["passed"] == sum(line["passed"] for line in rules) > 1000


def test_the_table_names_rules_and_sums(run: Callable[..., Any]) -> None:
    result = run("vectors", "check", "--rule", "number", "--rule", "short-forms", "--with", OURS)
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()] == ["rule", "number", "short-forms", "all"]
    assert result.out.splitlines()[1].split()[2:] == ["0", "0"]


def test_a_failure_is_told_with_both_values(run: Callable[..., Any]) -> None:
    result = run("vectors", "check", "--rule", "number", "--with", command("'output': {'number': 'x'}"))
    assert result.code == 1
    assert "FAILED number 1: a published record\n" in result.out
    assert 'got      {"number":"x"}' in result.out
    assert '  expected {"number":"pith:' in result.out
    assert "  expected refused\n" in result.out


def test_unsupported_counts_only_if_it_is_asked_for(run: Callable[..., Any]) -> None:
    arguments = ("vectors", "check", "--rule", "number", "--with", command("'unsupported': True"))
    assert run(*arguments).code == 0
    assert run(*arguments, "--strict").code == 1


def test_failures_as_json_have_id_comment_expected_and_got(run: Callable[..., Any]) -> None:
    lines = run("vectors", "check", "--json", "--rule", "short-forms", "--with", command("'output': {}")).lines
    failures = lines[0]["failures"]
    assert len(failures) == lines[1]["failed"] > 20
    assert failures[0].keys() == {"id", "comment", "expected", "got"}


def test_a_command_that_can_not_be_run_is_exit_5(run: Callable[..., Any]) -> None:
    result = run("vectors", "check", "--with", "/nowhere/at/all")
    assert (result.code, result.out) == (5, "")
    assert "can't be run" in result.err


@pytest.mark.parametrize("arguments", [["--with", ""], ["--with", "'"], ["--with", "x", "--rule", "nothing"], []])
def test_wrong_usage_is_exit_2(run: Callable[..., Any], arguments: list[str]) -> None:
    assert run("vectors", "check", *arguments).code == 2


def test_vectors_of_another_folder(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "number.json").write_bytes((default_folder() / "number.json").read_bytes())
    (tmp_path / "notes.json").write_text("[]")
    result = run("vectors", "check", "--vectors", tmp_path, "--with", OURS)
    assert [line.split()[0] for line in result.out.splitlines()] == ["rule", "number", "all"]


def test_a_folder_without_vectors_is_exit_5(run: Callable[..., Any], tmp_path: Path) -> None:
    assert run("vectors", "check", "--vectors", tmp_path, "--with", OURS).code == 5
    assert run("vectors", "check", "--vectors", tmp_path / "nowhere", "--with", OURS).code == 5


@pytest.mark.parametrize("content", ["{", '{"schema": "pith-vectors/2"}', '{"schema": "pith-vectors/1"}', "[" * 99999])
def test_a_damaged_vector_file_is_invalid_input(run: Callable[..., Any], tmp_path: Path, content: str) -> None:
    (tmp_path / "number.json").write_text(content)
    result = run("vectors", "check", "--vectors", tmp_path, "--with", OURS)
    assert result.code == 3
    assert "number.json" in result.err


def test_serve_answers_refuses_and_knows_what_it_does_not_support(run: Callable[..., Any]) -> None:
    questions = [
        {"rule": "text", "id": 1, "input": {"text": "A  B"}},
        {"rule": "text", "id": 2, "input": {"text": "\ud800"}},
        {"rule": "poetry", "id": 3, "input": {}},
        {"rule": "text", "id": 4, "input": {"words": 1}},
        {"rule": "text", "id": 5, "input": {"text": None}},
        {"rule": "number", "id": 6, "input": []},
    ]
    result = run("vectors", "serve", stdin=b"".join(json.dumps(q).encode() + b"\n" for q in questions) + b"?\n[1]\n")
    replies = result.lines
    assert result.code == 0
    assert replies[0]["output"]["canonical"] == "a b"
    assert replies[2] == {"id": 3, "unsupported": True}
    assert [reply["id"] for reply in replies] == [1, 2, 3, 4, 5, 6, None, None]
    assert all("error" in reply for reply in (replies[1], *replies[3:]))


def test_schema_prints_what_is_committed(run: Callable[..., Any], root: Path) -> None:
    names = run("schema").out.split()
    assert {f"{name}.json" for name in names} == {path.name for path in (root / "schemas").iterdir()}
    for name in names:
        assert run("schema", name).out == (root / "schemas" / f"{name}.json").read_text()


def test_a_schema_that_is_not_there_is_wrong_usage(run: Callable[..., Any]) -> None:
    result = run("schema", "poem")
    assert result.code == 2
    assert "record" in result.err
