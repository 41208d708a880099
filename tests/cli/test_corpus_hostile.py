"""`pith-build corpus issue` with snapshots, streams, signals and keys that are out to hurt; never a traceback."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from zstandard import ZstdCompressor

from corpus_jobs import IN_SMALL_BATCHES, RING, Job, workers_of
from pith_builder import KeyRing
from pith_builder.documents import MAX_DOCUMENT
from pith_builder.keyring import RingKey
from pith_builder.testing import make_metadata, make_signer
from pith_builder.testing.corpus import rows

Run = Callable[..., Any]
zstd = ZstdCompressor().compress


def gzipped(data: bytes) -> bytes:
    """Packed, the same at any time."""
    return gzip.compress(data, mtime=0)


def row(n: int, **changes: Any) -> bytes:
    """A row of the snapshot without its end, with other values in some fields."""
    return json.dumps(json.loads(next(rows(1, start=n))) | changes).encode()


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


GOOD = row(1)
DAY = "Mon, 2 Apr 2007 19:18:42 GMT"
INVALID_JSON = {
    "invalid UTF-8": GOOD.replace(b'"title": "', b'"title": "\xff'),
    "a byte NUL": GOOD.replace(b'"title": "', b'"title": "\0'),
    "nothing but NUL": bytes(300),
    "a lone surrogate": GOOD.replace(b'"title": "', b'"title": "\\ud800'),
    "a lone surrogate in a field that nobody reads": GOOD.replace(b'"id"', b'"x": "\\udfff", "id"'),
    "a key that stands twice": GOOD.replace(b'"id"', b'"id": "2601.00001", "id"', 1),
    "NaN": b'{"id": NaN}',
    "a number out of range": b'{"id": 1e999}',
    "a number of very many digits": b'{"id": ' + b"9" * 5000 + b"}",
    "very many lists": b"[" * 100_000,
    "very many objects": b'{"id":' * 5000 + b"1" + b"}" * 5000,
    "lists in a field that nobody reads": GOOD.replace(b'"id"', b'"x": ' + b"[" * 99 + b"]" * 99 + b', "id"', 1),
    "two rows on a line": GOOD + b" " + GOOD,
    "half a row": GOOD[:200],
    "a document of another kind": b"<html></html>",
    "a packed file": gzipped(GOOD).replace(b"\n", b""),
}
INVALID_METADATA = {
    "an escaped NUL": GOOD.replace(b'"title": "', b'"title": "\\u0000'),
    "a list of rows": b"[" + GOOD + b"]",
    "a list": b"[1, 2]",
    "a string": b'"2601.00001"',
    "a number": b"12",
    "null": b"null",
    "an empty object": b"{}",
    "an id that is a list": row(1, id=["2601.00001"]),
    "an id that clears the screen": row(1, id="\x1b[2J"),
    "an id without end": row(1, id="9" * 10_000),
    "a version of very many digits": row(1, versions=[{"version": v, "created": DAY} for v in ("v1", "v" + "9" * 30)]),
    "no first version": row(1, versions=[{"version": "v2", "created": DAY}]),
    "a time without zone": row(1, versions=[{"version": "v1", "created": DAY.removesuffix(" GMT")}]),
}
LICENSE_UNKNOWN = {
    "a row without licence": GOOD.replace(b'"license"', b'"licence"'),
    "our own form without licence": msgspec.json.encode(make_metadata()).replace(b'"license"', b'"licence"'),
}
HOSTILE = [
    (line, code)
    for lines, code in (
        (INVALID_JSON, "invalid_json"),
        (INVALID_METADATA, "invalid_metadata"),
        (LICENSE_UNKNOWN, "license_unknown"),
    )
    for line in lines.values()
]


@pytest.fixture
def issue(with_key: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Issue what is given (bytes), or a file of it, into a folder with one worker: `issue(b"...", name="s.gz")`."""
    monkeypatch.chdir(tmp_path)

    def call(content: bytes | Path, *arguments: str, name: str = "snapshot.jsonl", out: str = "out") -> Any:
        path = content if isinstance(content, Path) else tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        return with_key("corpus", "issue", path, "--out", out, "--workers", "1", *arguments)

    return call


@pytest.fixture
def issued(tmp_path: Path) -> Callable[..., list[str]]:
    """The ids that were issued, in order."""

    def call(out: str = "out") -> list[str]:
        return [line["arxiv_id"] for line in lines_of(tmp_path / out / "receipts.jsonl")]

    return call


def ids(count: int, start: int = 0) -> list[str]:
    """The ids of rows of the generator as a record has them."""
    return [json.loads(line)["id"].replace("math.GT/", "math/") for line in rows(count, start=start)]


# --- rows ---------------------------------------------------------------------------------------------------------


def test_hostile_rows_are_rejected_in_their_place_and_all_others_issued(
    issue: Run, issued: Callable[..., list[str]], tmp_path: Path
) -> None:
    good = list(rows(len(HOSTILE)))
    content = b"".join(line + b"\n" + other for (line, _), other in zip(HOSTILE, good, strict=True))
    result = issue(content)
    rejects = lines_of(tmp_path / "out" / "rejects.jsonl")
    counted = Counter(reject["code"] for reject in rejects)
    codes = ", ".join(f"{counted[code]} {code}" for code in sorted(counted, key=lambda code: (-counted[code], code)))
    assert (result.code, result.err) == (1, f"rejects: out/rejects.jsonl ({codes})\n")
    assert [reject["code"] for reject in rejects] == [code for _, code in HOSTILE]
    assert [reject["line"] for reject in rejects] == list(range(1, 2 * len(HOSTILE), 2))
    for reject, (line, _) in zip(rejects, HOSTILE, strict=True):
        assert content[reject["offset"] :].startswith(line + b"\n")
        assert reject["reason"].isprintable()
        assert len(reject["reason"]) <= 501
    assert issued() == ids(len(HOSTILE))


def test_ten_thousand_rejects_are_all_listed(issue: Run, issued: Callable[..., list[str]], tmp_path: Path) -> None:
    content = b"[]\n" * 5000 + GOOD + b"\n" + b"{}\n" * 5000
    result = issue(content, "--json")
    assert (result.code, result.lines[0]["rejected"]) == (1, 10_000)
    rejects = lines_of(tmp_path / "out" / "rejects.jsonl")
    assert [reject["line"] for reject in rejects] == [*range(1, 5001), *range(5002, 10_002)]
    assert issued() == ids(1, 1)


@pytest.mark.parametrize(
    "changed",
    [
        lambda content: b"\xef\xbb\xbf" + content,
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: b"\xef\xbb\xbf\r\n \r\n\t\n" + content.replace(b"\n", b" \r\n\n"),
        lambda content: content.removesuffix(b"\n"),
        lambda content: content.replace(b"\n", b"\n" * 3000),
    ],
    ids=["byte order mark", "CRLF", "all sorts of blanks", "no end of the last line", "blank lines"],
)
def test_wrapping_of_rows_changes_no_number(
    changed: Callable[[bytes], bytes], issue: Run, issued: Callable[..., list[str]]
) -> None:
    result = issue(changed(b"".join(rows(5))))
    assert (result.code, result.err) == (0, "")
    assert issued() == ids(5)


def test_last_row_that_is_cut_is_rejected(issue: Run, issued: Callable[..., list[str]], tmp_path: Path) -> None:
    content = b"".join(rows(3))
    assert issue(content[:-50]).code == 1
    [reject] = lines_of(tmp_path / "out" / "rejects.jsonl")
    assert (reject["line"], reject["code"]) == (3, "invalid_json")
    assert issued() == ids(2)


def test_our_own_form_and_rows_may_be_mixed(issue: Run, issued: Callable[..., list[str]]) -> None:
    own = msgspec.json.encode(make_metadata(arxiv_id="2601.00009"))
    assert issue(own + b"\n" + GOOD + b"\n" + own.replace(b"00009", b"00010")).code == 0
    assert issued() == ["2601.00009", *ids(1, 1), "2601.00010"]


def test_line_of_50_megabytes_is_one_reject(issue: Run, issued: Callable[..., list[str]], tmp_path: Path) -> None:
    path = tmp_path / "snapshot.jsonl"
    with path.open("wb") as file:
        file.write(GOOD + b"\n" + b'{"id": "')
        for _ in range(50):
            file.write(b"9" * 10**6)
        file.write(b'"}\n' + row(2) + b"\n")
    assert issue(path).code == 1
    [reject] = lines_of(tmp_path / "out" / "rejects.jsonl")
    assert (reject["line"], reject["offset"], reject["id"]) == (2, len(GOOD) + 1, None)
    assert f"longer than {MAX_DOCUMENT} bytes" in reject["reason"]
    assert issued() == ids(2, 1)


# --- files --------------------------------------------------------------------------------------------------------

CONTENT = b"".join(rows(3))


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n \n\n", b"\xef\xbb\xbf"], ids=repr)
def test_snapshot_without_rows_is_3(issue: Run, content: bytes) -> None:
    result = issue(content)
    assert (result.code, result.out, "there is no paper in it" in result.err) == (3, "", True)


@pytest.mark.parametrize("name", [".", "nowhere.jsonl", "home"])
def test_snapshot_that_is_no_file_is_5(issue: Run, tmp_path: Path, name: str) -> None:
    result = issue(tmp_path / name)
    assert (result.code, result.out, "can't open the snapshot" in result.err) == (5, "", True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "content",
    [
        gzipped(CONTENT)[:-9],
        gzipped(CONTENT)[:20],
        gzipped(CONTENT)[:-8] + bytes(8),
        gzipped(CONTENT) + b"garbage",
        b"\x1f\x8b" + b"garbage" * 10,
        b"\x1f\x8b",
        zstd(CONTENT)[:-1],
        zstd(CONTENT)[:12],
        zstd(CONTENT) + b"garbage",
        zstd(CONTENT) + zstd(CONTENT)[:20],
        b"\x28\xb5\x2f\xfd" + b"garbage" * 10,
        b"\x28\xb5\x2f\xfd",
    ],
)
def test_packed_file_that_is_damaged_is_5(issue: Run, tmp_path: Path, content: bytes) -> None:
    result = issue(content)
    assert (result.code, result.out) == (5, "")
    assert "can't read the file" in result.err
    assert not (tmp_path / "out" / "receipts.jsonl").exists()


def _frames(pack: Callable[[bytes], bytes]) -> bytes:
    return b"".join(pack(CONTENT[n : n + 100]) for n in range(0, len(CONTENT), 100))


@pytest.mark.parametrize("content", [_frames(gzipped), _frames(zstd), gzipped(CONTENT) + bytes(100)])
def test_packed_file_of_many_parts_is_read_whole(issue: Run, issued: Callable[..., list[str]], content: bytes) -> None:
    assert issue(content).code == 0
    assert issued() == ids(3)


@pytest.mark.parametrize("content", [gzipped(gzipped(CONTENT)), zstd(gzipped(CONTENT))])
def test_what_is_packed_twice_is_unpacked_once(issue: Run, tmp_path: Path, content: bytes) -> None:
    result = issue(content)
    rejects = lines_of(tmp_path / "out" / "rejects.jsonl")
    assert (result.code, result.err) == (1, f"rejects: out/rejects.jsonl ({len(rejects)} invalid_json)\n")


def _bomb(unit: bytes, pack: Any) -> bytes:
    """Half a gigabyte of the same, packed."""
    into = io.BytesIO()
    block = unit * max(1, 2**20 // len(unit))
    with pack(into) as stream:
        for _ in range(2**29 // len(block)):
            stream.write(block)
    return into.getvalue()


@pytest.mark.parametrize(
    ("unit", "pack"),
    [
        (b"\0", lambda into: ZstdCompressor(level=1).stream_writer(into, closefd=False)),
        (b"\0", lambda into: gzip.GzipFile(fileobj=into, mode="wb", compresslevel=1)),
        (b"0\n", lambda into: ZstdCompressor(level=1).stream_writer(into, closefd=False)),
        (b"x" * (MAX_DOCUMENT - 1) + b"\n", lambda into: ZstdCompressor(level=1).stream_writer(into, closefd=False)),
    ],
    ids=["one line, zstd", "one line, gzip", "very many lines", "the longest lines"],
)
def test_bomb_takes_no_more_memory_than_a_usual_file(unit: bytes, pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(_bomb(unit, pack))
    assert path.stat().st_size < 4 * 10**6
    job = Job(tmp_path / "home", None)
    process = job.start(path, "--workers", "1", "--max-errors", "5")
    highest = 0
    while process.poll() is None:
        highest = max(highest, _highest_memory(process.pid))
        time.sleep(0.005)
    assert job.end(process).code == 1
    assert 0 < highest < 300 * 1024


def _highest_memory(process: int) -> int:
    """What a process, or one that it has started, has needed so far, in KB; what its parent needed doesn't count."""
    highest = 0
    with contextlib.suppress(OSError):  # it has ended
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for number in (str(process), *children):
            status = Path(f"/proc/{number}/status").read_text()
            highest = max([highest, *(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line)])
    return highest


# --- streams ------------------------------------------------------------------------------------------------------


def test_named_pipe_is_read(issue: Run, issued: Callable[..., list[str]], tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(gzipped(CONTENT),))
    writer.start()
    assert issue(path).code == 0
    writer.join()
    assert issued() == ids(3)


ROWS = 300


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "snapshot.jsonl"
    path.write_bytes(b"".join(rows(ROWS)))
    return path


@pytest.fixture
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Job]:
    """A run in small batches."""
    store = f"sqlite:///{tmp_path / 'pith.db'}" if request.param == "store" else None
    job = Job(tmp_path / "home", store, IN_SMALL_BATCHES)
    yield job
    job.close()


STOPPED = (
    "ending behind this batch; a second Ctrl-C ends at once\n"
    "stopped; what is issued is kept, and the same command goes on\n"
)
FINISHED = f"{ROWS} rows: issued {ROWS}, updated 0, stored 0, rejected 0, repeated 0\n"


@pytest.mark.parametrize("job", ["folder"], indirect=True)
def test_stream_goes_on_where_it_begins_with_the_same(job: Job, snapshot: Path) -> None:
    with snapshot.open("rb") as stream, job.stopped(Path("-"), stdin=stream) as process:
        process.send_signal(signal.SIGINT)
    assert job.end(process).code == 130
    other = snapshot.with_name("other")
    other.write_bytes(snapshot.read_bytes().replace(b'"title": "', b'"title": "Of ', 40))
    with other.open("rb") as stream:
        refused = job.run(Path("-"), stdin=stream)
    assert refused.code in (1, 5)
    assert "--restart" in refused.err
    with snapshot.open("rb") as stream:
        assert job.run(Path("-"), stdin=stream) == (0, FINISHED, "")


# --- signals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "to"), [(signal.SIGINT, os.kill), (signal.SIGINT, os.killpg), (signal.SIGTERM, os.killpg)]
)
@pytest.mark.parametrize("job", ["folder"], indirect=True)
def test_signal_ends_a_run_behind_a_batch_and_the_same_command_goes_on(
    job: Job, snapshot: Path, number: int, to: Callable[[int, int], None]
) -> None:
    with job.stopped(snapshot, "--workers", "1") as process:
        to(process.pid, number)
    ended = job.end(process)
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == STOPPED
    assert 0 < job.done() < ROWS
    assert workers_of(process.pid) == []
    assert job.run(snapshot) == (0, FINISHED, "")


@pytest.mark.parametrize("job", ["folder"], indirect=True)
def test_interrupt_while_workers_start_is_not_lost(job: Job, snapshot: Path) -> None:
    process = job.start(snapshot, "--workers", "2")
    while not workers_of(process.pid) and process.poll() is None:
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGINT)  # as on a terminal
    assert job.end(process) == (130, "", STOPPED)
    assert job.run(snapshot) == (0, FINISHED, "")


@pytest.mark.parametrize("job", ["store"], indirect=True)
def test_signal_brings_into_the_store_what_is_signed(job: Job, snapshot: Path) -> None:
    with job.stopped(snapshot, "--workers", "1") as process:
        process.send_signal(signal.SIGTERM)
    assert job.end(process).code == 130
    checkpoint = job.checkpoint()
    assert checkpoint is not None
    assert 0 < checkpoint.counts.issued == checkpoint.counts.rows < ROWS
    assert job.run(snapshot) == (0, FINISHED, "")


@pytest.mark.parametrize("job", ["folder"], indirect=True)
def test_second_interrupt_ends_at_once(job: Job, snapshot: Path) -> None:
    """The worker stands still, so that the batch is never whole."""
    with job.stopped(snapshot, "--workers", "1") as process:
        [worker] = workers_of(process.pid)
        os.kill(worker, signal.SIGSTOP)
    while process.poll() is None:  # two that come at once are one
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    ended = job.end(process)
    assert (ended.code, ended.out, "Traceback" in ended.err) == (130, "", False)
    assert not Path(f"/proc/{worker}").exists()
    assert job.run(snapshot) == (0, FINISHED, "")


# --- what the run began with --------------------------------------------------------------------------------------


@pytest.fixture
def unfinished(issue: Run, tmp_path: Path) -> Path:
    """The snapshot of a run that stopped for a row that gave no record."""
    assert issue(b"{}\n" + CONTENT, "--max-errors", "0").code == 1
    return tmp_path / "snapshot.jsonl"


@pytest.mark.parametrize("what", ["input", "key", "base URL"])
def test_run_that_would_go_on_otherwise_is_refused_with_the_way_out(
    unfinished: Path, issue: Run, with_key: Run, issued: Callable[..., list[str]], what: str
) -> None:
    arguments: list[str] = []
    if what == "input":
        unfinished.write_bytes(b"{}\n{}\n" + CONTENT)
    elif what == "key":
        assert with_key("keys", "rotate", "--unencrypted").code == 0
    else:
        arguments = ["--base-url", "https://pith.example"]
    result = issue(unfinished, *arguments)
    assert (result.code, result.out) == (1, "")
    assert "begin anew with --restart" in result.err
    assert unfinished.name in result.err
    [refused] = issue(unfinished, *arguments, "--json").lines
    assert refused["error"]["code"] == "run_differs"
    result = issue(unfinished, *arguments, "--restart")
    assert (result.code, result.out.startswith(f"{5 if what == 'input' else 4} rows: issued 3,")) == (1, True)
    assert issued() == ids(3)


def test_run_goes_on_with_more_errors_allowed(unfinished: Path, issue: Run, issued: Callable[..., list[str]]) -> None:
    result = issue(unfinished, "--max-errors", "1")
    assert (result.code, result.out.startswith("4 rows: issued 3,")) == (1, True)
    assert issued() == ids(3)


@pytest.mark.parametrize("job", ["store"], indirect=True)
def test_key_that_is_rotated_in_a_run_ends_it(job: Job, snapshot: Path) -> None:
    other = make_signer(2)
    ring = KeyRing.empty().with_key(RingKey.of(other.key_id, other.public_key, "active", "receipts"))
    with job.stopped(snapshot, "--workers", "1") as process:
        (job.home / "keys" / "keyring.json").write_bytes(ring.to_json())
    ended = job.end(process)
    assert (ended.code, ended.out) == (4, "")
    assert "no longer the active key" in ended.err
    assert "Traceback" not in ended.err
    (job.home / "keys" / "keyring.json").write_bytes(RING.to_json())
    assert job.run(snapshot) == (0, FINISHED, "")


# --- passphrases --------------------------------------------------------------------------------------------------

PASSPHRASE = "tell nobody of this"


@pytest.fixture
def locked(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run` in a home whose key has a passphrase."""
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    assert run("keys", "generate").code == 0
    return run


def test_workers_unlock_the_key_with_the_passphrase_that_was_given(
    locked: Run, tmp_path: Path, issued: Callable[..., list[str]]
) -> None:
    (tmp_path / "snapshot.jsonl").write_bytes(CONTENT)
    result = locked("corpus", "issue", tmp_path / "snapshot.jsonl", "--out", tmp_path / "out", "--workers", "2")
    assert (result.code, result.err) == (0, "")
    assert issued() == ids(3)


def test_wrong_passphrase_begins_nothing(locked: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "wrong")
    (tmp_path / "snapshot.jsonl").write_bytes(CONTENT)
    result = locked("corpus", "issue", tmp_path / "snapshot.jsonl", "--out", tmp_path / "out")
    assert (result.code, result.out) == (4, "")
    assert not (tmp_path / "out").exists()


def test_passphrase_from_a_file_is_in_no_argument_environment_or_output(
    locked: Run, start: Run, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PITH_KEY_PASSPHRASE")
    (tmp_path / "phrase").write_text(PASSPHRASE)
    monkeypatch.setenv("PITH_KEY_PASSPHRASE_FILE", str(tmp_path / "phrase"))
    process = start("corpus", "issue", snapshot, "--out", tmp_path / "out", "--workers", "1")
    while not (workers := workers_of(process.pid)) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGSTOP)
    [worker] = workers
    shown = b"".join(Path(f"/proc/{p}/{f}").read_bytes() for p in (process.pid, worker) for f in ("cmdline", "environ"))
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out.decode()) == (0, FINISHED)
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"PASSPHRASE_FILE" in shown
    assert PASSPHRASE.encode() not in shown + out + err + written
