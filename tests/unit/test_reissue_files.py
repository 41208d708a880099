"""Reissuing records in a file: what comes out, what goes to the history, and going on after a kill."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from pith_builder import KeyRing, PithRecord, Profile, canonical_record, reissue, verify
from pith_builder.errors import FileFailed, InvalidJson, KeyLocked
from pith_builder.keyring import Revocation, RingKey
from pith_builder.sources import pieces as pieces_module
from pith_builder.store import reissue_files as module
from pith_builder.store.reissue import Progress, Refusal
from pith_builder.store.reissue_files import CheckpointDiffers, FileReissue
from pith_builder.testing import START, FrozenClock, make_metadata, make_record, make_signer

OLD, NEW, OTHERS = make_signer(1), make_signer(2), make_signer(3)
LATER = START + timedelta(days=30)
RING = (
    KeyRing.empty()
    .with_key(RingKey.of(OLD.key_id, OLD.public_key, "retired", "receipts"))
    .with_key(RingKey.of(NEW.key_id, NEW.public_key, "active", "receipts"))
    .with_key(RingKey.of(OTHERS.key_id, OTHERS.public_key, "active", "verify"))
)


def record(n: int = 1, signer: Any = OLD) -> PithRecord:
    return make_record(make_metadata(arxiv_id=f"2601.{n:05}"), signer=signer)


def line(n: int = 1, signer: Any = OLD) -> bytes:
    return record(n, signer).to_json()


def expected(data: bytes) -> bytes:
    """What `data` becomes under the new key."""
    return reissue(PithRecord.from_json(data), NEW, clock=FrozenClock(LATER)).to_json()


class Done(NamedTuple):
    """What came of a file."""

    reissued: int
    refused: list[Refusal]
    out: list[bytes]
    history: list[Any]


@pytest.fixture
def source(tmp_path: Path) -> Callable[[bytes], Path]:
    """Write the input."""

    def call(data: bytes) -> Path:
        path = tmp_path / "a.jsonl"
        path.write_bytes(data)
        return path

    return call


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "b.jsonl"


@pytest.fixture
def steps(tmp_path: Path, target: Path) -> Callable[..., Iterator[Progress]]:
    """The steps of a run from a.jsonl to b.jsonl."""

    def call(refused: list[Refusal] | None = None, **changes: Any) -> Iterator[Progress]:
        options = {"ring": RING, "signer": NEW, "profile": Profile(), "clock": FrozenClock(LATER), "recompute": None}
        report = (lambda _: None) if refused is None else refused.append
        given = {"source": tmp_path / "a.jsonl", "target": target} | options | changes
        return FileReissue(**given, refused=report).run()

    return call


@pytest.fixture
def run(source: Any, target: Path, steps: Any) -> Callable[..., Done]:
    """Reissue these bytes as a file."""

    def call(data: bytes | None = None, **changes: Any) -> Done:
        if data is not None:
            source(data)
        refused: list[Refusal] = []
        *_, last = steps(refused, **changes)
        history = target.with_name("b.history.jsonl").read_bytes().splitlines()
        return Done(last.reissued, refused, target.read_bytes().splitlines(), [json.loads(row) for row in history])

    return call


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# --- what comes out ---------------------------------------------------------------------------------------------


def test_records_are_reissued_in_order(run: Any) -> None:
    lines = [line(n) for n in range(1, 6)]
    done = run(b"\n".join(lines) + b"\n")
    assert done.out == [expected(data) for data in lines]
    assert (done.reissued, done.refused) == (5, [])


def test_reissued_records_verify(run: Any) -> None:
    ring = KeyRing.empty().with_key(RING.keys[1])
    assert all(verify(data, ring).ok for data in run(line(1) + b"\n" + line(2)).out)


def test_nothing_but_input_output_and_history_is_left(run: Any, tmp_path: Path) -> None:
    run(line())
    assert names(tmp_path) == {"a.jsonl", "b.jsonl", "b.history.jsonl"}


def test_input_stays(run: Any, tmp_path: Path) -> None:
    data = line(1) + b"\r\n" + line(2)
    run(data)
    assert (tmp_path / "a.jsonl").read_bytes() == data


def test_unknown_fields_stay_in_place_byte_for_byte(run: Any) -> None:
    value = json.loads(line())
    value = {"before": {"b": 1, "a": "é"}, **value, "after": [None, 1.5]}
    value["paper"]["zzz"] = "kept"
    value["graph_snapshot"]["claims"]["note"] = {"deep": True}
    data = PithRecord.from_json(json.dumps(value)).to_json()
    [new] = run(data).out
    old_record, new_record = PithRecord.from_json(data), PithRecord.from_json(new)
    changed = data.replace(msgspec.json.encode(old_record.receipt), msgspec.json.encode(new_record.receipt))
    times = [f'"updated_at":"{record.updated_at}"'.encode() for record in (old_record, new_record)]
    assert new == changed.replace(*times)
    assert new != data


@pytest.mark.parametrize("signer", [NEW, OTHERS], ids=["active key", "others' key"])
@pytest.mark.parametrize("spelling", ["compact", "spaced", "escaped", "keys in another order"])
def test_record_that_needs_nothing_is_copied_as_it_is(run: Any, signer: Any, spelling: str) -> None:
    value = json.loads(line(1, signer)) | {"note": "é"}
    if spelling == "keys in another order":
        value = dict(sorted(value.items()))
    separators = (" , ", " : ") if spelling == "spaced" else (",", ":")
    data = json.dumps(value, ensure_ascii=spelling == "escaped", separators=separators).encode()
    done = run(data + b"\n")
    assert (done.reissued, done.out, done.history) == (0, [data], [])


def test_files_of_records_of_several_keys_keep_their_order(run: Any) -> None:
    lines = [line(n, signer) for n, signer in enumerate([OLD, NEW, OTHERS, OLD, NEW], 1)]
    done = run(b"\n".join(lines))
    assert done.out == [expected(lines[0]), lines[1], lines[2], expected(lines[3]), lines[4]]
    assert done.reissued == 2


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n\n"], ids=["none", "LF", "CRLF", "empty lines"])
@pytest.mark.parametrize("between", [b"\n", b"\r\n", b"\n\n"], ids=["LF", "CRLF", "empty line"])
def test_line_ends_of_any_kind_give_all_records_a_line_each(run: Any, between: bytes, end: bytes) -> None:
    lines = [line(1), line(2, NEW), line(3)]
    done = run(between.join(lines) + end)
    assert done.out == [expected(lines[0]), lines[1], expected(lines[2])]


def test_byte_order_mark_is_no_part_of_the_first_record(run: Any) -> None:
    assert run(b"\xef\xbb\xbf" + line(1) + b"\n" + line(2)).out == [expected(line(1)), expected(line(2))]


def test_one_record_over_many_lines_is_so_many_lines_that_are_no_records(run: Any) -> None:
    data = json.dumps(json.loads(line()), indent=2).encode()
    done = run(data + b"\n" + line())
    assert (done.out, done.reissued) == ([*data.splitlines(), expected(line())], 1)
    assert len(done.refused) == len(data.splitlines())


@pytest.mark.parametrize("at", [0, 1, 2])
def test_damaged_line_spoils_itself_alone_wherever_it_stands(run: Any, at: int) -> None:
    """Also where it seems to begin a document that the next lines go on with."""
    lines = [line(1), line(2)]
    lines.insert(at, b'{"record_type":')
    done = run(b"\n".join(lines))
    assert done.out == [expected(data) if data in (line(1), line(2)) else data for data in lines]
    assert [refusal.pith_number for refusal in done.refused] == [f"line {at + 1}"]


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n \n"])
def test_empty_file_gives_empty_files(run: Any, data: bytes) -> None:
    assert run(data) == Done(0, [], [], [])


# --- the history ------------------------------------------------------------------------------------------------


def test_history_has_the_earlier_receipts_in_order(run: Any) -> None:
    records = [record(n) for n in range(1, 4)]
    done = run(b"\n".join(r.to_json() for r in records))
    assert done.history == [
        {"pith_number": r.pith_number, "receipt": json.loads(msgspec.json.encode(r.receipt))} for r in records
    ]


def test_history_is_of_those_that_were_reissued_alone(run: Any) -> None:
    done = run(b"\n".join([line(1, NEW), line(2), b"{}", line(3, OTHERS)]))
    assert [row["pith_number"] for row in done.history] == [record(2).pith_number]


@pytest.mark.parametrize(("name", "history"), [("b.json", "b.history.jsonl"), ("b", "b.history.jsonl")])
def test_history_lies_beside_the_output(source: Any, steps: Any, tmp_path: Path, name: str, history: str) -> None:
    source(line())
    list(steps(target=tmp_path / name))
    assert names(tmp_path) == {"a.jsonl", name, history}


def test_history_that_is_there_already_is_never_replaced(source: Any, steps: Any, tmp_path: Path) -> None:
    """Earlier receipts are only ever added to: b.json has the history that b.jsonl has."""
    source(line(1))
    list(steps(target=tmp_path / "b.jsonl"))
    before = (tmp_path / "b.history.jsonl").read_bytes()
    source(line(2))
    with contextlib.suppress(FileFailed):
        list(steps(target=tmp_path / "b.json"))
    assert before in (tmp_path / "b.history.jsonl").read_bytes()


# --- the refused ------------------------------------------------------------------------------------------------


def _altered(**changes: Any) -> bytes:
    return json.dumps(json.loads(line(2)) | changes, separators=(",", ":")).encode()


def _receipt(**changes: str) -> bytes:
    return _altered(receipt=json.loads(line(2))["receipt"] | changes)


BAD = {
    "no JSON": b"{",
    "text": b"hello, world",
    "invalid UTF-8": b'{"a":"\xff"}',
    "key twice": line(2).replace(b'{"record_type"', b'{"schema_version":"1.0","record_type"'),
    "list": b"[]",
    "number": b"7",
    "no record": b"{}",
    "nested deeply": b"[" * 5000 + b"]" * 5000,
    "other number": _altered(pith_number=record(1).pith_number),
    "other digest": _altered(canonical_sha256="0" * 64),
    "other canonical record": _altered(canonical_record=json.loads(line(1))["canonical_record"]),
    "other title": _altered(paper=json.loads(line(2))["paper"] | {"title": "Another"}),
    "other signature": _receipt(signature_b64="A" * 86 + "=="),
    "receipt of another": _altered(receipt=json.loads(line(1))["receipt"]),
    "unknown key": _receipt(key_id="nobody"),
    "key with another fingerprint": _receipt(public_key_fingerprint="0" * 32),
    "receipt with an unknown field": _receipt(note="x"),
    "time that is none": _receipt(signed_at="now"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_refused_line_is_copied_and_reported_between_others_that_are_reissued(run: Any, bad: bytes) -> None:
    done = run(b"\n".join([line(1), bad, line(3)]) + b"\n")
    assert done.out == [expected(line(1)), bad, expected(line(3))]
    assert [refusal.pith_number for refusal in done.refused] == ["line 2"]
    assert len(done.history) == 2


@pytest.mark.parametrize("bad", [b"{", b"[]", b"7", b"{}", BAD["other number"], BAD["unknown key"]])
def test_refused_line_is_copied_wherever_it_stands(run: Any, source: Any, target: Path, bad: bytes) -> None:
    for lines in ([bad], [bad, line(1)], [line(1), bad]):
        done = run(b"\n".join(lines))
        assert (done.out, len(done.refused)) == ([data if data == bad else expected(data) for data in lines], 1)
        for name in ("b.jsonl", "b.history.jsonl", "b.refused.jsonl"):
            target.with_name(name).unlink()


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("filling", [b"x", b" "], ids=["text", "spaces"])
def test_line_that_is_too_long_ends_the_run_and_is_never_cut(
    source: Any, steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, filling: bytes
) -> None:
    for changed in (pieces_module, module):
        monkeypatch.setattr(changed, "MAX_DOCUMENT", 20_000)
    lines = [line(1), line(2)]
    lines.insert(at, b'{"a":"' + filling * 50_000 + b'"}')
    source(b"\n".join(lines))
    with pytest.raises(InvalidJson, match="longer than") as caught:
        list(steps())
    assert (caught.value.line, caught.value.file) == (at + 1, str(tmp_path / "a.jsonl"))
    assert not {"b.jsonl", "b.history.jsonl", "b.refused.jsonl"} & names(tmp_path)


def test_line_of_the_greatest_length_is_copied(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for changed in (pieces_module, module):
        monkeypatch.setattr(changed, "MAX_DOCUMENT", 20_000)
    bad = b'{"a":"' + b"x" * (20_000 - 8) + b'"}'
    assert len(bad) == 20_000
    assert run(b"\n".join([bad, line(2)])).out == [bad, expected(line(2))]


def test_refused_are_listed_beside_the_output(run: Any, target: Path) -> None:
    done = run(b"\n".join([line(1), b"{", line(3), BAD["unknown key"]]))
    listed = target.with_name("b.refused.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(row, type=Refusal) for row in listed] == done.refused
    assert [refusal.pith_number for refusal in done.refused] == ["line 2", "line 4"]


def test_empty_lines_count_as_lines(run: Any) -> None:
    done = run(b"\n\n" + line(1) + b"\r\n\n{\n")
    assert [refusal.pith_number for refusal in done.refused] == ["line 5"]


def _compromised() -> KeyRing:
    revoked = Revocation("2026-01-12T00:00:00Z", "compromised")
    return RING.with_key(msgspec.structs.replace(RING.keys[0], state="revoked", revoked=revoked))


def test_after_a_compromise_a_file_alone_vouches_for_nothing(run: Any) -> None:
    done = run(line(1), ring=_compromised())
    assert (done.out, done.reissued, done.refused[0].code) == ([line(1)], 0, "no_evidence")
    assert "compromised" in done.refused[0].reason


def test_after_a_compromise_what_is_recomputed_is_reissued(run: Any) -> None:
    def recompute(papers: Any) -> Any:
        known = {record(1).canonical_record.arxiv_id}
        return {p: canonical_record(make_metadata(arxiv_id=p.id)).digest() for p in papers if p in known}

    done = run(line(1) + b"\n" + line(2), ring=_compromised(), recompute=recompute)
    assert (done.out, len(done.refused)) == ([expected(line(1)), line(2)], 1)


@pytest.mark.parametrize("reason", ["superseded", "lost"])
def test_after_a_loss_earlier_receipts_vouch(run: Any, reason: Any) -> None:
    revoked = Revocation("2026-01-12T00:00:00Z", reason)
    ring = RING.with_key(msgspec.structs.replace(RING.keys[0], state="revoked", revoked=revoked))
    late = make_record(make_metadata(arxiv_id="2601.00009"), clock=FrozenClock(LATER)).to_json()
    done = run(line(1) + b"\n" + late, ring=ring)
    assert (done.out, len(done.refused)) == ([expected(line(1)), late], 1)


# --- files that are in the way ----------------------------------------------------------------------------------


@pytest.mark.parametrize("same", [False, True], ids=["another", "the input itself"])
def test_existing_target_is_refused_and_stays(source: Any, steps: Any, tmp_path: Path, same: bool) -> None:
    path = source(line()) if same else tmp_path / "b.jsonl"
    path.write_bytes(line())
    source(line())
    with pytest.raises(FileFailed, match="such a file already"):
        list(steps(target=path))
    assert path.read_bytes() == line()


@pytest.mark.parametrize("name", ["b.jsonl", "b.history.jsonl", "b.refused.jsonl"])
def test_none_of_the_outputs_may_be_there_at_the_start(source: Any, steps: Any, tmp_path: Path, name: str) -> None:
    source(line())
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(FileFailed, match="such a file already") as caught:
        list(steps())
    assert caught.value.file == str(tmp_path / name)
    assert names(tmp_path) == {"a.jsonl", name}
    assert (tmp_path / name).read_bytes() == b"mine"


def test_until_the_end_nothing_has_its_name(every_two: None, source: Any, steps: Any, tmp_path: Path) -> None:
    source(b"\n".join(MIXED))
    partial = {f"b{kind}.jsonl.partial" for kind in ("", ".history", ".refused")}
    seen = [names(tmp_path) for _ in steps()]
    assert len(seen) > 3
    assert all(
        at_the_step == {"a.jsonl", ".b.jsonl.checkpoint", ".b.jsonl.lock"} | partial for at_the_step in seen[:-1]
    )
    assert seen[-1] - {".b.jsonl.lock"} == {"a.jsonl", "b.jsonl", "b.history.jsonl", "b.refused.jsonl"}
    assert names(tmp_path) == {"a.jsonl", "b.jsonl", "b.history.jsonl", "b.refused.jsonl"}


def test_second_run_onto_one_target_is_refused_while_the_first_goes_on(
    every_two: None, source: Any, steps: Any, tmp_path: Path
) -> None:
    source(b"\n".join(MIXED))
    first = steps()
    next(first)
    with pytest.raises(FileFailed, match="lock"):
        next(steps())
    *_, last = first
    assert (last.reissued, last.refused) == (5, 2)


@pytest.mark.parametrize("name", ["b.jsonl.partial", "b.history.jsonl.partial", "b.refused.jsonl.partial"])
def test_input_that_is_an_output_is_refused_and_stays(source: Any, steps: Any, tmp_path: Path, name: str) -> None:
    source(line())
    (tmp_path / "a.jsonl").rename(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(FileFailed, match="one of the outputs"):
        list(steps(source=tmp_path / name))
    assert (tmp_path / name).read_bytes() == before


def test_input_that_is_not_there_is_a_failed_file_and_leaves_none(steps: Any, tmp_path: Path) -> None:
    with pytest.raises(FileFailed, match="can't read"):
        list(steps())
    assert names(tmp_path) == set()


def test_target_in_no_folder_is_a_failed_file(source: Any, steps: Any, tmp_path: Path) -> None:
    source(line())
    with pytest.raises(FileFailed, match="No such file"):
        list(steps(target=tmp_path / "nowhere" / "b.jsonl"))


# --- going on ---------------------------------------------------------------------------------------------------

MIXED = [line(1), b"{", line(2, NEW), line(3), line(4, OTHERS), line(5), line(6), b"bad", line(7, NEW), line(8)]


@pytest.fixture
def every_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every second record."""
    monkeypatch.setattr(module, "_RECORDS_A_CHECKPOINT", 2)


@pytest.fixture
def uninterrupted(tmp_path: Path, every_two: None) -> dict[str, bytes]:
    """Name -> content of what a run without a stop leaves of `MIXED`."""
    folder = tmp_path / "uninterrupted"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"\n".join(MIXED))
    clock = FrozenClock(LATER)
    where = (folder / "a.jsonl", folder / "b.jsonl")
    list(FileReissue(*where, RING, NEW, Profile(), clock, recompute=None, refused=lambda _: None).run())
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _left(folder: Path) -> dict[str, bytes]:
    """Name -> content of what lies in a folder, but for temporary files and locks that a kill may leave."""
    left = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith("..")]
    files = [path for path in left if path.suffix != ".lock"]
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize("stop", [1, 2, 3, 4, 5])
def test_stopped_run_goes_on_from_its_checkpoint(
    uninterrupted: dict[str, bytes], source: Any, steps: Any, tmp_path: Path, stop: int
) -> None:
    source(b"\n".join(MIXED))
    begun = steps()
    for _ in range(stop):
        next(begun)
    begun.close()
    assert "b.jsonl" not in names(tmp_path)
    *_, last = steps()
    assert _left(tmp_path) == uninterrupted
    assert (last.reissued, last.refused) == (5, 2)


def test_work_before_the_checkpoint_is_not_signed_again(every_two: None, source: Any, steps: Any) -> None:
    class Counting:
        key_id, public_key = NEW.key_id, NEW.public_key
        asked = 0

        def sign(self, message: bytes) -> bytes:
            self.asked += 1
            return NEW.sign(message)

    source(b"\n".join(line(n) for n in range(1, 8)))
    begun = steps()
    next(begun)
    next(begun)
    begun.close()
    signer = Counting()
    list(steps(signer=signer))
    assert signer.asked == 3


def test_line_numbers_of_the_refused_go_on_after_a_stop(every_two: None, source: Any, steps: Any) -> None:
    source(b"\n".join([line(1), line(2), line(3), b"{", line(4)]))
    begun = steps()
    next(begun)
    begun.close()
    refused: list[Refusal] = []
    list(steps(refused))
    assert [refusal.pith_number for refusal in refused] == ["line 4"]


def test_refused_before_a_stop_are_reported_by_the_run_that_ends(every_two: None, source: Any, steps: Any) -> None:
    """The list of the refused is of the whole file, as the count is."""
    source(b"\n".join([b"{}", line(1), line(2), b"{", line(4)]))
    begun = steps()
    next(begun)
    begun.close()
    refused: list[Refusal] = []
    *_, last = steps(refused)
    assert len(refused) == last.refused == 2


@pytest.mark.parametrize(
    "after",
    [[b"{"], [b"bad", b"{", b"["], [b'{"a":1}', b'{"b":'], [], [b"bad", line(3), line(4)], [b"{", b"[", line(3)]],
    ids=["one", "several", "objects", "none", "before records", "several before a record"],
)
def test_bad_lines_right_behind_a_checkpoint_stay_lines_of_their_own(
    every_two: None, source: Any, steps: Any, run: Any, after: list[bytes]
) -> None:
    source(b"\n".join([line(1), line(2), *after]))
    begun = steps()
    next(begun)
    begun.close()
    done = run()
    sound = [line(n) for n in range(1, 5)]
    lines = [line(1), line(2), *after]
    assert done.out == [expected(data) if data in sound else data for data in lines]
    assert len(done.refused) == len([data for data in lines if data not in sound])


@pytest.mark.parametrize("stop", [1, 2, 3, 4, 5])
def test_refused_are_told_whole_and_once_wherever_the_run_stopped(
    every_two: None, source: Any, steps: Any, stop: int
) -> None:
    source(b"\n\n".join(MIXED))
    begun = steps()
    for _ in range(stop):
        next(begun)
    begun.close()
    refused: list[Refusal] = []
    list(steps(refused))
    assert [refusal.pith_number for refusal in refused] == ["line 3", "line 15"]


@pytest.mark.parametrize("at", range(4))
def test_run_that_was_stopped_at_its_very_end_ends_as_any_other(
    uninterrupted: dict[str, bytes], source: Any, steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """The outputs get their names one by one; the checkpoint, which goes last, says that all was done."""
    source(b"\n".join(MIXED))
    moves = iter(range(at))
    rename, unlink = module.files.rename, os.unlink

    def killing_unlink(path: Any, **options: Any) -> None:
        if Path(path) == tmp_path / ".b.jsonl.checkpoint":
            raise Killed
        unlink(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module.files, "rename", _killing(rename, moves, "before"))
        patch.setattr(os, "unlink", killing_unlink)
        with pytest.raises(Killed):
            list(steps())
    assert ".b.jsonl.checkpoint" in names(tmp_path)
    assert json.loads((tmp_path / ".b.jsonl.checkpoint").read_bytes())["finished"] is True
    refused: list[Refusal] = []
    *_, last = steps(refused)
    assert _left(tmp_path) == uninterrupted
    assert (last.reissued, last.refused) == (5, 2)
    assert [refusal.pith_number for refusal in refused] == ["line 2", "line 8"]


class Killed(BaseException):
    """The process ends here."""


CALLS = ("fsync", "replace", "truncate", "unlink")


@pytest.mark.parametrize("when", ["before", "after"])
def test_kill_at_any_call_to_the_disk_is_mended_by_the_same_command(
    uninterrupted: dict[str, bytes], steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The n-th call that makes something lasting is the last of its process, for every n."""
    for n in range(1, 200):
        folder = tmp_path / f"{when}{n}"
        folder.mkdir()
        (folder / "a.jsonl").write_bytes(b"\n".join(MIXED))
        where = {"source": folder / "a.jsonl", "target": folder / "b.jsonl"}
        calls = iter(range(1, n))
        with monkeypatch.context() as patch:
            for call in CALLS:
                patch.setattr(os, call, _killing(getattr(os, call), calls, when))
            try:
                list(steps(**where))
                break
            except Killed:
                pass
        if "b.jsonl" in names(folder) and ".b.jsonl.checkpoint" not in names(folder):
            assert _left(folder) == uninterrupted
            continue
        *_, last = steps(**where)
        assert _left(folder) == uninterrupted, n
        assert (last.reissued, last.refused) == (5, 2)
    assert n > 10


def _killing(real: Any, calls: Iterator[int], when: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        if next(calls, None) is not None:
            return real(*arguments, **options)
        if when == "after":
            real(*arguments, **options)
        raise Killed

    return call


def test_signer_that_fails_ends_the_run_and_the_next_goes_on(
    uninterrupted: dict[str, bytes], source: Any, steps: Any, tmp_path: Path
) -> None:
    class Failing:
        key_id, public_key = NEW.key_id, NEW.public_key
        asked = 0

        def sign(self, message: bytes) -> bytes:
            self.asked += 1
            if self.asked == 4:
                raise KeyLocked("the agent is gone")
            return NEW.sign(message)

    source(b"\n".join(MIXED))
    with pytest.raises(KeyLocked):
        list(steps(signer=Failing()))
    assert "b.jsonl" not in names(tmp_path)
    list(steps())
    assert _left(tmp_path) == uninterrupted


@pytest.mark.parametrize("torn", [b"", b"torn", b"torn" * 10_000], ids=["nothing", "a part", "much"])
def test_what_was_written_after_the_checkpoint_is_cut_off(
    uninterrupted: dict[str, bytes], source: Any, steps: Any, tmp_path: Path, torn: bytes
) -> None:
    source(b"\n".join(MIXED))
    begun = steps()
    next(begun)
    begun.close()
    for name in ("b.jsonl.partial", "b.history.jsonl.partial", "b.refused.jsonl.partial"):
        with (tmp_path / name).open("ab") as file:
            file.write(torn)
    list(steps())
    assert _left(tmp_path) == uninterrupted


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"input_size":1}', b"\xff"])
def test_checkpoint_that_cannot_be_read_is_told_and_all_stays(
    uninterrupted: dict[str, bytes], source: Any, steps: Any, tmp_path: Path, data: bytes
) -> None:
    source(b"\n".join(MIXED))
    begun = steps()
    next(begun)
    begun.close()
    (tmp_path / ".b.jsonl.checkpoint").write_bytes(data)
    before = _left(tmp_path)
    with pytest.raises(CheckpointDiffers, match="can't be read") as caught:
        list(steps())
    assert _left(tmp_path) == before
    assert "begin anew without" in caught.value.hint
    (tmp_path / ".b.jsonl.checkpoint").unlink()
    list(steps())
    assert _left(tmp_path) == uninterrupted


OTHER_INPUTS = {
    "longer": lambda data: data + b"\n",
    "shorter": lambda data: data[:-1],
    "other first record": lambda data: data.replace(b"2601.00001", b"2601.00011"),
}


@pytest.mark.parametrize("change", OTHER_INPUTS.values(), ids=OTHER_INPUTS.keys())
def test_checkpoint_of_another_input_is_refused_and_stays(
    every_two: None, source: Any, steps: Any, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    source(b"\n".join(MIXED))
    begun = steps()
    next(begun)
    begun.close()
    source(change(b"\n".join(MIXED)))
    before = _left(tmp_path)
    with pytest.raises(CheckpointDiffers) as caught:
        list(steps())
    assert "begin anew without" in caught.value.hint
    assert _left(tmp_path) == before


def test_checkpoint_under_another_key_is_refused(every_two: None, source: Any, steps: Any) -> None:
    source(b"\n".join(MIXED))
    begun = steps()
    next(begun)
    begun.close()
    with pytest.raises(CheckpointDiffers, match="another key"):
        list(steps(signer=make_signer(4)))


def test_progress_counts_all_lines(every_two: None, source: Any, steps: Any) -> None:
    source(b"\n".join(MIXED))
    *_, last = steps()
    assert (last.total, last.reissued, last.refused) == (10, 5, 2)
