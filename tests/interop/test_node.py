"""A second implementation, in JavaScript and written from the pages alone, gives what ours gives."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture(scope="session")
def node() -> str:
    """The node program, version 20 or later."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node.js is not installed (Debian: nodejs)")
    version = subprocess.run([found, "--version"], check=True, capture_output=True, text=True).stdout
    if int(version.removeprefix("v").partition(".")[0]) < 20:
        pytest.skip(f"Node.js {version.strip()} is older than 20")
    return found


@pytest.fixture
def folder(root: Path) -> Path:
    return root / "tests" / "interop" / "node"


def test_every_vector_passes_in_another_language(run: Run, node: str, folder: Path) -> None:
    command = shlex.join([node, str(folder / "serve.mjs")])
    result = run("vectors", "check", "--strict", "--json", "--timeout", "60", "--with", command)
    *rules, sums = result.lines
    assert [report for report in rules if report["failed"]] == []
    assert (result.code, sums["failed"], sums["unsupported"]) == (0, 0, 0)
    assert sums["passed"] > 1000


@pytest.mark.parametrize("seed", ["2403.07648v2", "2407.14645v1"])
def test_published_records_verify_in_another_language(
    node: str, folder: Path, root: Path, registry: Path, seed: str
) -> None:
    files = [registry / "seeds" / f"{seed}.record.json", "--keyring", root / "keys" / "keyring.json"]
    files += ["--metadata", registry / "seeds" / f"{seed}.metadata.json"]
    done = subprocess.run([node, folder / "verify.mjs", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_altered_record_fails_in_another_language(node: str, folder: Path, root: Path, tmp_path: Path) -> None:
    record = json.loads((root / "fixtures" / "records" / "minimal-1.json").read_bytes())
    record["paper"]["title"] += "?"
    (tmp_path / "record.json").write_text(json.dumps(record))
    files = [tmp_path / "record.json", "--keyring", root / "keys" / "keyring.json"]
    assert subprocess.run([node, folder / "verify.mjs", *files], capture_output=True, check=False).returncode == 1


def test_generated_and_broken_records_get_the_verdict_that_is_written_beside_them(
    node: str, folder: Path, root: Path
) -> None:
    fixtures = root / "fixtures"
    manifest = json.loads((fixtures / "manifest.json").read_bytes())
    wanted = [(paper["record"], paper["metadata"], of) for paper in manifest["papers"] for of in paper["expected"]]
    for broken in manifest["broken"]:
        if broken["operation"] == "verify" and _is_text(fixtures / broken["document"]):
            told = json.loads((fixtures / "broken" / f"{broken['name']}.report.json").read_bytes())
            checks = told["report"]["checks"] if "report" in told else None
            failed = None if checks is None else [check["name"] for check in checks if check["status"] == "failed"]
            wanted.append((broken["document"], broken["metadata"], {"at": broken["at"], "failed": failed}))
    keyring = (fixtures / "keyring.json").read_text()
    questions = []
    for n, (record, metadata, of) in enumerate(wanted):
        given = {"record": (fixtures / record).read_text(), "keyring": keyring, "at": of["at"]}
        given["metadata"] = None if metadata is None else (fixtures / metadata).read_text()
        questions.append(json.dumps({"rule": "verify", "id": n, "input": given}) + "\n")
    command = [node, folder / "serve.mjs"]
    done = subprocess.run(command, input="".join(questions), capture_output=True, text=True, check=True)
    answers = [json.loads(line).get("output", {"failed": None})["failed"] for line in done.stdout.splitlines()]
    found = {record: failed for (record, _, of), failed in zip(wanted, answers, strict=True) if failed != of["failed"]}
    assert found == {}
    assert len(answers) > 100


def _is_text(path: Path) -> bool:
    """Whether the protocol of the vectors, which is JSON, can carry a document."""
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True
