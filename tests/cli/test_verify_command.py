"""`pith-build verify`: files and streams of records, reports, and the codes that follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.testing import make_keyring, make_metadata, make_record, make_signer

Run = Callable[..., Any]


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """The ring of the TEST keys."""
    path = tmp_path / "ring.json"
    path.write_bytes(make_keyring(make_signer(1), make_signer(2)).to_json())
    return path


def forged(**changes: Any) -> bytes:
    return json.dumps(json.loads(make_record().to_json()) | changes).encode()


def test_registrys_records_verify_without_any_setting(run: Run, home: Path, registry: Path) -> None:
    result = run("verify", *sorted((registry / "seeds").glob("*.record.json")))
    assert (result.code, result.err) == (0, "")
    assert not home.exists()


def test_report_for_a_person_has_a_line_a_check_and_names_what_nothing_binds(run: Run, registry: Path) -> None:
    lines = run("verify", registry / "seeds" / "2403.07648v2.record.json").out.splitlines()
    assert any(line.split() == ["passed", "signature"] for line in lines)
    assert any(line.strip().startswith("not checked") for line in lines)
    assert lines[-2] == "ok: pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE"
    assert lines[-1].startswith("not bound by hash or signature: ")


def test_what_nothing_binds_is_named_once_a_run(run: Run, registry: Path) -> None:
    result = run("verify", *sorted((registry / "seeds").glob("*.record.json")))
    assert result.out.count("not bound by hash or signature") == 1


def test_quiet_report_is_one_line_a_record(run: Run, ring: Path) -> None:
    records = make_record().to_json() + b"\n" + forged(short_pith_number="") + b"\n{}\n"
    result = run("verify", "--quiet", "--keyring", ring, "-", stdin=records)
    number = make_record().pith_number
    assert (result.code, result.out.splitlines()) == (
        1,
        [f"ok: {number}", f"FAILED: {number}: short_forms", "FAILED: -:3: form"],
    )


def test_quiet_report_names_all_checks_that_failed(run: Run, ring: Path) -> None:
    record = forged(short_pith_number="", pith_number="pith:2026:AAAAAAAAAAAAAAAAAAAAAAAAAA")
    [line] = run("verify", "--json", "--keyring", ring, "-", stdin=record).lines
    failed = [check["name"] for check in line["checks"] if check["status"] == "failed"]
    assert len(failed) > 1
    quiet = run("verify", "--quiet", "--keyring", ring, "-", stdin=record).out
    assert quiet == f"FAILED: pith:2026:AAAAAAAAAAAAAAAAAAAAAAAAAA: {', '.join(failed)}\n"


def test_what_is_no_record_shows_its_form_alone(run: Run) -> None:
    lines = run("verify", "-", stdin=b"{}").out.splitlines()
    assert lines[0] == "-:1: no record"
    assert lines[1].split()[:2] == ["FAILED", "form:"]
    assert lines[2] == "FAILED: -:1: form"
    assert len(lines) == 4


def test_report_as_json_is_one_line_a_record(run: Run, ring: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_bytes(make_record().to_json() + b"\n\n" + make_record(make_metadata(version=2)).to_json() + b"\n")
    result = run("verify", "--json", "--keyring", ring, records)
    assert result.code == 0
    assert [(line["input"], line["ok"]) for line in result.lines] == [(f"{records}:1", True), (f"{records}:3", True)]
    assert {check["status"] for check in result.lines[0]["checks"]} == {"passed", "not_checked"}


def test_record_from_standard_input(run: Run, ring: Path) -> None:
    result = run("verify", "--json", "--keyring", ring, "-", stdin=make_record().to_json())
    assert (result.code, result.lines[0]["input"]) == (0, "-:1")


def test_record_with_line_breaks_is_one_record(run: Run, ring: Path) -> None:
    pretty = json.dumps(json.loads(make_record().to_json()), indent=2).encode()
    assert run("verify", "--keyring", ring, "-", stdin=b"\xef\xbb\xbf" + pretty.replace(b"\n", b"\r\n")).code == 0


def test_record_that_fails_is_1_and_says_which_check(run: Run, ring: Path) -> None:
    result = run("verify", "--keyring", ring, "-", stdin=forged(pith_number="pith:2026:AAAAAAAAAAAAAAAAAAAAAAAAAA"))
    assert result.code == 1
    assert "FAILED" in result.out
    assert "number" in result.out


def test_one_that_fails_among_good_ones_is_1(run: Run, ring: Path) -> None:
    good = make_record().to_json()
    result = run(
        "verify", "--json", "--keyring", ring, "-", stdin=b"\n".join([good, forged(short_pith_number=""), good])
    )
    assert result.code == 1
    assert [line["ok"] for line in result.lines] == [True, False, True]


def test_unknown_key_is_1(run: Run) -> None:
    assert run("verify", "-", stdin=make_record().to_json()).code == 1


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"no JSON", b'{"a":1,"a":1}', b'{"a":NaN}', b'"\\ud800"', b"{} x", b"\xff"]
)
def test_file_without_any_record_is_3(run: Run, data: bytes) -> None:
    result = run("verify", "--json", "-", stdin=data)
    assert result.code == 3
    assert [line["error"]["code"] for line in result.lines] == ["invalid_json"]


def test_line_that_cannot_be_read_among_records_is_1(run: Run, ring: Path) -> None:
    result = run("verify", "--keyring", ring, "-", stdin=make_record().to_json() + b"\n{\n")
    assert result.code == 1


def test_of_several_files_the_highest_code_counts(run: Run, ring: Path, tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(make_record().to_json())
    (tmp_path / "forged").write_bytes(forged(short_pith_number="pith:AAAAAAAA"))
    (tmp_path / "broken").write_bytes(b"{")
    files = [tmp_path / name for name in ("broken", "forged", "good")]
    result = run("verify", "--keyring", ring, *files)
    assert result.code == 3
    assert "ok: pith:2026" in result.out  # it went on to the last


def test_file_that_is_not_there_is_5(run: Run, tmp_path: Path) -> None:
    result = run("verify", tmp_path / "none.json")
    assert (result.code, result.out) == (5, "")


@pytest.mark.parametrize("command", [("verify", "-"), ("keys", "list"), ("keys", "show", "pith-v1-2026-05")])
@pytest.mark.parametrize("named", ["flag", "variable"])
def test_ring_that_is_named_and_not_there_is_5(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], named: str
) -> None:
    flag: list[str | Path] = ["--keyring", tmp_path / "none.json"] if named == "flag" else []
    if named == "variable":
        monkeypatch.setenv("PITH_KEYRING", str(tmp_path / "none.json"))
    result = run(*command, *flag, stdin=make_record().to_json())
    assert (result.code, result.out) == (5, "")
    assert "none.json" in result.err


def test_damaged_ring_is_3(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ring.json").write_text("{}")
    assert run("verify", "--keyring", tmp_path / "ring.json", "-", stdin=make_record().to_json()).code == 3


def test_metadata_are_compared(run: Run, ring: Path, papers: Run, tmp_path: Path) -> None:
    (tmp_path / "record").write_bytes(make_record().to_json())
    same = run("verify", "--keyring", ring, tmp_path / "record", "--metadata", papers(make_metadata()))
    other = run(
        "verify", "--keyring", ring, tmp_path / "record", "--metadata", papers(make_metadata(title="Another Title"))
    )
    assert (same.code, other.code) == (0, 1)


@pytest.mark.parametrize("described", [{"arxiv_id": "2601.00009"}, {"version": 2}])
def test_record_that_the_metadata_do_not_describe_is_a_failed_item(
    run: Run, ring: Path, papers: Run, described: dict[str, Any]
) -> None:
    source = papers(make_metadata(**described))
    result = run("verify", "--json", "--keyring", ring, "-", "--metadata", source, stdin=make_record().to_json())
    assert result.code == 1
    assert [line["error"]["code"] for line in result.lines] == ["not_found"]
    assert "2601.00001v1" in result.lines[0]["error"]["message"]


def test_record_that_the_metadata_do_not_describe_does_not_stop_the_others(run: Run, ring: Path, papers: Run) -> None:
    records = make_record(make_metadata(version=2)).to_json() + b"\n" + make_record().to_json()
    result = run("verify", "--json", "--keyring", ring, "-", "--metadata", papers(make_metadata()), stdin=records)
    assert [line.get("ok") for line in result.lines] == [None, True]


def test_metadata_with_line_breaks_are_compared_with_the_paper_of_each_record(
    run: Run, ring: Path, papers: Run
) -> None:
    second = make_metadata(arxiv_id="2601.00002", title="A Second Paper")
    data = make_record().to_json() + b"\n" + make_record(second).to_json()
    result = run("verify", "--json", "--keyring", ring, "-", "--metadata", papers(second, make_metadata()), stdin=data)
    assert [line["ok"] for line in result.lines] == [True, True]
    checked = [{check["name"]: check["status"] for check in line["checks"]}["title"] for line in result.lines]
    assert checked == ["passed", "passed"]


def test_time_asked_about_is_looked_at(run: Run, tmp_path: Path) -> None:
    """Revoked as superseded long after the record was signed, and then as compromised: what held before that?"""
    value = json.loads(make_keyring().to_json())
    value["keys"][0] |= {"state": "revoked", "revoked": {"since": "2026-06-01T00:00:00Z", "reason": "compromised"}}
    (tmp_path / "ring.json").write_text(json.dumps(value))
    codes = [
        run("verify", "--keyring", tmp_path / "ring.json", "-", *at, stdin=make_record().to_json()).code
        for at in ((), ("--at", "2026-05-01T00:00:00Z"), ("--at", "2026-07-01T00:00:00Z"))
    ]
    assert codes == [1, 0, 1]


def test_report_is_coloured_on_a_terminal_only(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = root / "fixtures" / "registry" / "seeds" / "2403.07648v2.record.json"
    assert "\x1b[" not in run("verify", record).out
    monkeypatch.setattr("pith_builder.cli.verify._is_terminal", lambda: True)
    assert "\x1b[32mpassed" in run("verify", record).out


def test_unknown_fields_are_shown(run: Run, root: Path) -> None:
    record = (root / "fixtures" / "registry" / "seeds" / "2403.07648v2.record.json").read_bytes()
    noted = record.replace(b'{"record_type"', b'{"note":1,"record_type"', 1)
    assert "unknown fields: note" in run("verify", "-", stdin=noted).out


def test_metadata_that_can_not_be_read_end_the_command(run: Run, root: Path, tmp_path: Path) -> None:
    record = root / "fixtures" / "registry" / "seeds" / "2403.07648v2.record.json"
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    result = run("verify", record, "--metadata", broken)
    assert (result.code, result.out) == (3, "")
