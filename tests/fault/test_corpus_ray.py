"""A corpus on a real local Ray cluster of two worker processes, while the run and a worker are killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pith_builder import Issuer
from pith_builder.corpus import table
from pith_builder.corpus.cluster.plan import Plan
from pith_builder.corpus.manifest import ListedFile, Manifest
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.errors import PithError
from pith_builder.signers import key_file
from pith_builder.sources.papers import read_paper
from pith_builder.testing import FrozenClock, make_keyring, make_seed, make_signer
from pith_builder.testing.corpus import rows, with_faults

PASSPHRASE = "correct horse battery staple"

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name is short enough for Ray's sockets."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def start_run(
    home: Path, folder: Path, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Start a run into `out`, with what Ray writes below `folder`; neither it nor its cluster outlives the test."""
    (home / "keys" / "private").mkdir(parents=True)
    (home / "keys" / "keyring.json").write_bytes(make_keyring().to_json())
    signer = make_signer()
    key_file.write(home / "keys" / "private" / f"{signer.key_id}.key", signer, make_seed(), PASSPHRASE.encode())
    (tmp_path / "user").mkdir()
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    around = {"TMPDIR": str(folder), "HOME": str(tmp_path / "user"), "PITH_KEY_PASSPHRASE": PASSPHRASE}
    started: list[subprocess.Popen[bytes]] = []

    def call(snapshot: Path, **environment: str) -> subprocess.Popen[bytes]:
        options = ("--out", tmp_path / "out", "--engine", "ray", "--workers", "2", "--json")
        process = start("corpus", "issue", snapshot, *options, env=around | environment)
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            kill_all(process, folder)


def kill_all(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Kill a run with all that it has started; of itself some of that would only end after a minute."""
    process.kill()
    for one in run_in(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    process.communicate()
    wait_for(lambda: not run_in(folder))


def run_in(folder: Path) -> list[int]:
    """The processes that have files open in this folder, as all have that belong to a cluster: their logs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(str(opened.readlink()).startswith(f"{folder}/") for opened in (process / "fd").iterdir()):
                found.append(int(process.name))
    return found


def wait_for(condition: Callable[[], Any]) -> None:
    """Wait until something is so; it is an error if it isn't after long."""
    for _ in range(12_000):
        if condition():
            return
        time.sleep(0.01)
    raise TimeoutError(condition)


def writers(out: Path) -> dict[Path, int]:
    """The notes on finished shards, with the processes that wrote them."""
    found = {path: json.loads(path.read_bytes())["written_by"] for path in out.glob("shards/part-*.json")}
    return {path: int(written_by.rpartition(":")[2]) for path, written_by in found.items()}


def timeless(row: dict[str, Any]) -> dict[str, Any]:
    receipt = {name: value for name, value in row["receipt"].items() if not name.endswith("_at")}
    return {**row, "receipt": receipt, "created_at": None}


def undisturbed(lines: list[bytes]) -> list[dict[str, Any]]:
    """The table that one process makes of the same rows, without the times: of rows with one number the last."""
    issuer = Issuer(make_signer(), clock=FrozenClock())
    found = {}
    for line in lines:
        with contextlib.suppress(PithError):
            signed = issuer.sign(read_paper(line).metadata)
            found.pop(signed.digest, None)
            found[signed.digest] = NumberedReceipt.of(signed)
    return [timeless(row) for row in table.to_batch(list(found.values())).to_pylist()]


def test_a_run_and_a_worker_that_are_killed_leave_every_row_issued_once(
    start_run: Start, folder: Path, tmp_path: Path
) -> None:
    lines = [row.line for row in with_faults(8000)]
    in_table = list(rows(1000, 1, 8000))
    snapshot, out = tmp_path / "snapshot", tmp_path / "out"
    snapshot.mkdir()
    (snapshot / "1.jsonl").write_bytes(b"".join(lines))
    pq.write_table(pa.Table.from_pylist(list(map(json.loads, in_table))), snapshot / "2.parquet")

    run = start_run(snapshot)
    wait_for(lambda: len(writers(out)) >= 2 or run.poll() is not None)
    kill_all(run, folder)
    assert run.returncode == -signal.SIGKILL
    plan = Plan.read(out)
    assert plan is not None
    before = writers(out)
    assert 0 < len(before) < len(plan.shards)
    assert not (out / "manifest.json").exists()
    for left in folder.glob("pith-*"):
        left.rename(folder / f"killed-{left.name}")

    run = start_run(snapshot)
    wait_for(lambda: len(writers(out)) > len(before) or run.poll() is not None)
    first = next((process for path, process in writers(out).items() if path not in before), None)
    if first is not None:
        os.kill(first, signal.SIGKILL)
    finished_then = len(writers(out))
    stdout, stderr = run.communicate(timeout=120)
    cluster_died = run.returncode == 5  # on a machine that is so busy that Ray takes its only node for dead
    for _ in range(3):
        if run.returncode == 5:
            run = start_run(snapshot)
            stdout, stderr = run.communicate(timeout=120)
    assert run.returncode == 1, stderr  # since there are rejects
    assert cluster_died or (first is not None and finished_then < len(plan.shards))

    wanted = undisturbed(lines) + undisturbed(in_table)
    counts = json.loads(stdout)
    assert (counts["rows"], counts["issued"]) == (len(lines) + len(in_table), len(wanted))
    manifest = Manifest.read(out)
    assert [ListedFile.of(out, file.path, file.records) for file in manifest.files] == manifest.files
    found = [row for file in manifest.files for row in pq.read_table(out / file.path).to_pylist()]
    assert [timeless(row) for row in found] == wanted
    assert len((out / "rejects.jsonl").read_bytes().splitlines()) == manifest.rejects == counts["rejected"]

    assert writers(out).items() >= before.items()
    workers = {process for path, process in writers(out).items() if path not in before}
    is_replaced = len(workers - {first}) == 2  # the other one, and the one that came in the place of the killed
    assert cluster_died or is_replaced

    assert PASSPHRASE.encode() not in stderr
    assert b"Traceback" not in stderr
    assert cluster_died or not list(folder.glob("pith-*"))
    assert not list((tmp_path / "user").iterdir())


def test_a_cluster_that_is_not_there_is_an_error_and_no_traceback(start_run: Start, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"".join(rows(10)))
    run = start_run(tmp_path / "rows.jsonl", RAY_ADDRESS="127.0.0.1:1")
    stdout, stderr = run.communicate(timeout=120)
    assert run.returncode == 5
    error = json.loads(stdout)["error"]
    assert (error["code"], error["message"].split(":")[0]) == ("storage_failed", "the cluster at 127.0.0.1")
    assert b"Traceback" not in stderr
