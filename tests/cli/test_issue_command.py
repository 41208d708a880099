"""`pith-build issue`: records into the store, and what the streams say of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import KeyRing, PithRecord, canonical_record, verify
from pith_builder.testing import make_metadata

Run = Callable[..., Any]
NUMBER = str(canonical_record(make_metadata()).number())
LOGFMT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')


def events(err: str) -> list[dict[str, str]]:
    """Standard error as key=value events."""
    return [{key: value.strip('"') for key, value in LOGFMT.findall(line)} for line in err.splitlines()]


def ring_of(home: Path) -> KeyRing:
    return KeyRing.from_json((home / "keys" / "keyring.json").read_bytes())


@pytest.mark.usefixtures("at_store")
def test_number_is_all_that_standard_output_gets(with_key: Run, papers: Run) -> None:
    result = with_key("issue", "--metadata", papers(make_metadata()))
    assert (result.code, result.out) == (0, f"{NUMBER}\n")


def test_event_names_number_paper_and_key(with_key: Run, home: Path, papers: Run) -> None:
    [event] = events(with_key("issue", "--metadata", papers(make_metadata())).err)
    active = ring_of(home).active()
    assert active is not None
    assert {key: event[key] for key in ("level", "event", "pith_number", "paper", "key_id")} == {
        "level": "info",
        "event": "record_issued",
        "pith_number": NUMBER,
        "paper": "2601.00001v1",
        "key_id": active.key_id,
    }
    assert "follows" not in event


def test_record_that_is_printed_verifies(with_key: Run, home: Path, papers: Run) -> None:
    out = with_key("issue", "--json", "--metadata", papers(make_metadata())).out
    assert verify(out.encode(), ring_of(home), make_metadata()).ok


def test_record_of_a_real_paper_differs_from_the_registrys_in_key_and_times_alone(
    with_key: Run, root: Path, registry: Path
) -> None:
    source = root / "fixtures" / "metadata" / "2403.07648v2.json"
    [ours] = with_key("2403.07648", "--json", "--metadata", source).lines
    theirs = json.loads((registry / "seeds" / "2403.07648v2.record.json").read_bytes())
    for part in ("canonical_record", "paper", "links", "agent_actions", "pith_number", "source"):
        assert ours[part] == theirs[part], part


@pytest.mark.usefixtures("at_store")
def test_same_metadata_twice_give_the_stored_record_byte_for_byte(with_key: Run, papers: Run) -> None:
    source = papers(make_metadata())
    first = with_key("issue", "--json", "--metadata", source)
    second = with_key("issue", "--json", "--metadata", source)
    assert second.out == first.out
    assert [event["event"] for event in events(second.err)] == ["record_stored"]


@pytest.mark.usefixtures("at_store")
def test_other_authors_update_the_record(with_key: Run, papers: Run) -> None:
    [old] = with_key("issue", "--json", "--metadata", papers(make_metadata())).lines
    result = with_key("issue", "--json", "--metadata", papers(make_metadata(authors="Grace Hopper")))
    [new] = result.lines
    assert [event["event"] for event in events(result.err)] == ["record_updated"]
    assert new["paper"]["authors_text"] == "Grace Hopper"
    assert new["updated_at"] > old["updated_at"]
    changed = {name for name in old if old[name] != new[name]}
    assert changed == {"paper", "graph_snapshot", "updated_at"}


def test_updated_record_verifies_too(with_key: Run, home: Path, papers: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata()))
    other = make_metadata(authors="Grace Hopper")
    out = with_key("issue", "--json", "--metadata", papers(other)).out
    assert verify(out.encode(), ring_of(home), other).ok


@pytest.mark.usefixtures("at_store")
def test_other_digest_of_a_paper_is_a_new_number_that_follows_the_earlier(with_key: Run, papers: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata()))
    result = with_key("issue", "--metadata", papers(make_metadata(version=2)))
    [event] = events(result.err)
    assert event["event"] == "record_issued"
    assert event["follows"] == NUMBER != event["pith_number"]
    assert event["differs"] == "version"


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"title": "Another Title"}, "title_canon_sha256"),
        ({"license": ""}, "license"),
        ({"version": 2, "categories": "cs.CR cs.DL"}, "version,primary_cat,cross_cats_sorted"),
    ],
)
def test_event_names_the_fields_in_which_two_numbers_of_a_paper_differ(
    with_key: Run, papers: Run, other: dict[str, Any], differs: str
) -> None:
    with_key("issue", "--metadata", papers(make_metadata()))
    [event] = events(with_key("issue", "--metadata", papers(make_metadata(**other))).err)
    assert sorted(event["differs"].split(",")) == sorted(differs.split(","))


def test_run_over_several_papers_ends_with_its_counts(with_key: Run, papers: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata(), make_metadata(version=2)))
    rows = [make_metadata(), make_metadata(version=2, authors="Grace Hopper"), make_metadata(version=3), {}]
    last = events(with_key("issue", "--metadata", papers(*rows)).err)[-1]
    assert {name: last.get(name) for name in ("event", "issued", "stored", "updated", "failed")} == {
        "event": "run_finished",
        "issued": "1",
        "stored": "1",
        "updated": "1",
        "failed": "1",
    }


def test_enrichment_goes_into_the_record(with_key: Run, root: Path, papers: Run) -> None:
    [record] = with_key(
        "issue", "--json", "--metadata", papers(make_metadata()), "--enrichment", root / "fixtures" / "enrichment.json"
    ).lines
    assert record["paper"]["headline"] == "A reviewed paper"
    assert record["graph_snapshot"]["claims"]["count"] == 1


def test_without_enrichment_the_stored_one_stays(with_key: Run, root: Path, papers: Run) -> None:
    source = papers(make_metadata())
    reviewed = with_key(
        "issue", "--json", "--metadata", source, "--enrichment", root / "fixtures" / "enrichment.json"
    ).out
    assert with_key("issue", "--json", "--metadata", source).out == reviewed


@pytest.mark.usefixtures("at_store")
def test_later_enrichment_updates_the_record(with_key: Run, root: Path, papers: Run) -> None:
    source = papers(make_metadata())
    with_key("issue", "--metadata", source)
    result = with_key("issue", "--metadata", source, "--enrichment", root / "fixtures" / "enrichment.json")
    assert events(result.err)[0]["event"] == "record_updated"


@pytest.mark.parametrize("content", ["[]", "{", '{"headline": 1}', '{"claims": {}}', '{"headline":"a","headline":"b"}'])
def test_enrichment_that_cannot_be_read_is_3_and_names_its_file(
    with_key: Run, papers: Run, tmp_path: Path, content: str
) -> None:
    (tmp_path / "enrichment.json").write_text(content)
    result = with_key("issue", "--metadata", papers(make_metadata()), "--enrichment", tmp_path / "enrichment.json")
    assert (result.code, result.out) == (3, "")
    assert "enrichment.json" in result.err


def test_enrichment_field_that_is_not_known_is_logged(with_key: Run, papers: Run, tmp_path: Path) -> None:
    path = tmp_path / "enrichment.json"
    path.write_text('{"headline":"A reviewed paper","verdicts":{},"note":1}')
    result = with_key("issue", "--metadata", papers(make_metadata()), "--enrichment", path)
    [event] = [event for event in events(result.err) if event["event"] == "enrichment_fields_unknown"]
    assert result.code == 0
    assert (event["level"], event["fields"], event["file"]) == ("warning", "verdicts,note", str(path))


def test_enrichment_from_standard_input(with_key: Run, papers: Run) -> None:
    stdin = b'{"headline":"A reviewed paper"}'
    [record] = with_key(
        "issue", "--json", "--metadata", papers(make_metadata()), "--enrichment", "-", stdin=stdin
    ).lines
    assert record["paper"]["headline"] == "A reviewed paper"


def test_enrichment_that_is_not_there_is_5(with_key: Run, papers: Run, tmp_path: Path) -> None:
    result = with_key("issue", "--metadata", papers(make_metadata()), "--enrichment", tmp_path / "none.json")
    assert result.code == 5


@pytest.mark.parametrize("ids", [("2601.00001", "2601.00002"), ()], ids=["two ids", "two rows"])
def test_enrichment_of_two_papers_is_wrong_usage(with_key: Run, root: Path, papers: Run, ids: tuple[str, ...]) -> None:
    source = papers(make_metadata(), make_metadata(arxiv_id="2601.00002"))
    enrichment = root / "fixtures" / "enrichment.json"
    result = with_key("issue", *ids, "--metadata", source, "--enrichment", enrichment)
    assert (result.code, result.out) == (2, "")


def test_without_a_key_it_is_4_and_names_the_command_that_makes_one(run: Run, home: Path, papers: Run) -> None:
    result = run("issue", "--metadata", papers(make_metadata()))
    assert (result.code, result.out) == (4, "")
    assert "pith-build keys generate" in result.err
    assert not (home / "keys").exists()


def test_without_a_key_the_failure_is_a_json_line(run: Run, papers: Run) -> None:
    [line] = run("issue", "--json", "--metadata", papers(make_metadata())).lines
    assert line["error"]["code"] == "key_missing"


def test_issuing_never_writes_the_ring(with_key: Run, home: Path, papers: Run) -> None:
    ring = home / "keys" / "keyring.json"
    before = (ring.read_bytes(), ring.stat().st_mtime_ns, ring.stat().st_ino)
    with_key("issue", "--metadata", papers(make_metadata()))
    assert (ring.read_bytes(), ring.stat().st_mtime_ns, ring.stat().st_ino) == before


def test_bad_rows_do_not_stop_the_good_ones(with_key: Run, papers: Run) -> None:
    rows = [{}, make_metadata(), make_metadata(arxiv_id="2601.00002", license=None)]
    file = papers(*rows)
    result = with_key("issue", "--json", "--metadata", file)
    assert result.code == 1
    failed = [line for line in result.lines if "error" in line]
    assert [(line["input"], line["error"]["file"], line["error"]["line"]) for line in failed] == [
        (f"{file}:{n}", str(file), n) for n in (1, 3)
    ]
    assert [line.get("pith_number") or line["error"]["code"] for line in result.lines] == [
        "invalid_metadata",
        NUMBER,
        "license_unknown",
    ]
    assert with_key("resolve", NUMBER).code == 0


@pytest.mark.usefixtures("at_store")
def test_unknown_licence_leaves_nothing_in_the_store(with_key: Run, papers: Run) -> None:
    assert with_key("2601.00001", "--metadata", papers(make_metadata(license=None))).code == 1
    assert with_key("resolve", "2601.00001").code == 1


def test_paper_that_the_source_calls_withdrawn_is_issued_with_a_notice(with_key: Run, papers: Run) -> None:
    row = {
        "id": "2601.00001",
        "title": "T",
        "abstract": "A",
        "authors": "A. Uthor",
        "categories": "cs.DL",
        "license": None,
        "comments": "This paper has been withdrawn by the author",
        "versions": [{"version": "v1", "created": "Thu, 1 Jan 2026 12:00:00 GMT"}],
        "update_date": "2026-02-03",
    }
    result = with_key("issue", "--metadata", papers(row))
    assert result.code == 0
    assert "withdrawn" in events(result.err)[0]["notice"]
    provenance = json.loads(with_key("show", "2601.00001", "--provenance", "--json").out)
    assert provenance["withdrawn"] is True
    assert provenance["source_time"] == "2026-02-03T00:00:00Z"


def test_base_url_is_in_the_links(with_key: Run, papers: Run) -> None:
    [record] = with_key(
        "issue", "--json", "--metadata", papers(make_metadata()), "--base-url", "https://mirror.example/x/"
    ).lines
    assert record["links"]["html"].startswith("https://mirror.example/x/pith/")
    assert record["schema_url"] == "https://mirror.example/x/schemas/pith-number/v1.json"


def test_base_url_of_a_stored_record_stays(with_key: Run, papers: Run) -> None:
    source = papers(make_metadata())
    first = with_key("issue", "--json", "--metadata", source).out
    assert with_key("issue", "--json", "--metadata", source, "--base-url", "https://other.example").out == first


def test_store_may_be_elsewhere(with_key: Run, home: Path, papers: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/elsewhere/my.db"
    assert with_key("issue", "--metadata", papers(make_metadata()), "--store", url).code == 0
    assert not (home / "pith.db").exists()
    assert with_key("resolve", "2601.00001", "--store", url).out == f"{NUMBER}\n"


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "sqlite:///:memory:", "mysql://user:secret@host/db", "a:b:c"])
def test_store_of_an_unknown_kind_is_5_without_its_password(with_key: Run, papers: Run, url: str) -> None:
    result = with_key("issue", "--metadata", papers(make_metadata()), "--store", url)
    assert (result.code, result.out) == (5, "")
    assert "sqlite:///" in result.err
    assert "secret" not in result.err


@pytest.mark.usefixtures("at_store")
def test_real_process_issues_and_verifies(run_process: Run, papers: Run, tmp_path: Path) -> None:
    assert run_process("keys", "generate", "--unencrypted").code == 0
    issued = run_process("2601.00001", "--json", "--metadata", "-", stdin=papers(make_metadata()).read_bytes())
    assert issued.code == 0
    assert PithRecord.from_json(issued.out.encode().rstrip(b"\n")).to_json() == issued.out.encode().rstrip(b"\n")
    assert run_process("verify", "-", stdin=issued.out.encode()).code == 0
