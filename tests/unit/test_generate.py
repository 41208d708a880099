"""The files of a folder of fixtures follow from the seed alone, and its manifest tells the truth."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pith_builder import Enrichment, KeyRing, PaperMetadata, verify
from pith_builder.rotation import follow, move
from pith_builder.signers.ceremony import read_statement
from pith_builder.signing import SeedSigner
from pith_builder.testing.generate import MANIFEST, all_names, fixtures, nearest
from pith_builder.testing.kinds import KINDS
from pith_builder.times import parse_seconds


@pytest.fixture(scope="module")
def generated() -> dict[str, bytes]:
    return dict(fixtures(4, 2))


@pytest.fixture(scope="module")
def manifest(generated: dict[str, bytes]) -> Any:
    return json.loads(generated[MANIFEST])


def checksums() -> list[Any]:
    whole: list[Any] = json.loads((Path(__file__).parents[2] / "fixtures" / "checksums.json").read_bytes())
    return whole


@pytest.mark.parametrize("wanted", checksums(), ids=lambda of: f"{of['seed']}-{of['count']}-{of['kinds']}")
def test_a_seed_gives_the_same_bytes_on_every_python(wanted: dict[str, Any]) -> None:
    *_, (name, manifest) = fixtures(wanted["seed"], wanted["count"], wanted["kinds"])
    assert name == MANIFEST
    assert hashlib.sha256(manifest).hexdigest() == wanted["manifest_sha256"]


@pytest.mark.parametrize(
    "surroundings",
    [{"PYTHONHASHSEED": "1"}, {"LC_ALL": "C"}, {"TZ": "Asia/Kathmandu"}, {"PYTHONUTF8": "0", "LC_ALL": "POSIX"}],
    ids=str,
)
def test_a_seed_gives_the_same_bytes_in_other_surroundings(surroundings: dict[str, str]) -> None:
    code = (
        "import sys; from pith_builder.testing.generate import fixtures; sys.stdout.buffer.write([*fixtures()][-1][1])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | surroundings, check=True, capture_output=True)
    assert hashlib.sha256(done.stdout).hexdigest() == checksums()[0]["manifest_sha256"]


def test_the_manifest_comes_last_and_names_every_file(generated: dict[str, bytes], manifest: Any) -> None:
    *others, last = generated
    assert last == MANIFEST
    assert {name: hashlib.sha256(generated[name]).hexdigest() for name in others} == manifest["files"]


def test_every_paper_comes_out_as_the_manifest_expects(generated: dict[str, bytes], manifest: Any) -> None:
    pins, ring = (KeyRing.from_json(generated[manifest[name]]) for name in ("pins", "keyring"))
    assert len(manifest["papers"]) == 2 * len(KINDS)
    for trusted in (ring, follow(pins, ring)):
        for paper in manifest["papers"]:
            metadata = PaperMetadata(**json.loads(generated[paper["metadata"]]))
            for expected in paper["expected"]:
                at = None if expected["at"] is None else parse_seconds(expected["at"])
                report = verify(generated[paper["record"]], trusted, metadata, at)
                assert report.ok == expected["ok"], paper
                assert [check.name for check in report.failed] == expected["failed"]
                assert report.pith_number == paper["pith_number"]


def test_enrichments_can_be_read_and_are_what_the_record_shows(generated: dict[str, bytes], manifest: Any) -> None:
    with_enrichment = [paper for paper in manifest["papers"] if "enrichment" in paper]
    assert with_enrichment
    for paper in with_enrichment:
        enrichment = Enrichment.from_json(generated[paper["enrichment"]])
        record = json.loads(generated[paper["record"]])
        assert record["paper"]["headline"] == enrichment.headline
        assert record["events"] == enrichment.events


def test_the_statements_lead_from_the_pins_to_the_ring(generated: dict[str, bytes], manifest: Any) -> None:
    pins, ring = (KeyRing.from_json(generated[manifest[name]]) for name in ("pins", "keyring"))
    moved = pins
    for name in sorted(name for name in generated if name.startswith("statements/")):
        moved = move(moved, read_statement(generated[name]))
    assert moved == follow(pins, ring)
    assert moved.statements == ring.statements
    assert moved.active() == ring.active()


def test_reports_tell_what_holds_today_and_what_held_before(generated: dict[str, bytes]) -> None:
    for name, outcomes in (
        ("retired-key", [True, True]),
        ("superseded-key", [True, True, True]),
        ("revoked-key", [False, True, False]),
    ):
        reports = json.loads(generated[f"reports/{name}-1.json"])
        assert [report["at"] is None for report in reports] == [True] + [False] * (len(outcomes) - 1)
        assert [report["ok"] for report in reports] == outcomes


def test_the_texts_of_the_manifest_are_the_seeds_of_its_keys(generated: dict[str, bytes], manifest: Any) -> None:
    ring = KeyRing.from_json(generated["keyring.json"])
    assert manifest["test_keys"].keys() == {key.key_id for key in ring.keys}
    for key_id, text in manifest["test_keys"].items():
        signer = SeedSigner(key_id, hashlib.sha256(text.encode()).digest())
        assert ring.by_public_key(signer.public_key) == ring.by_id(key_id)


def test_one_kind_comes_out_alone_as_it_does_among_all(generated: dict[str, bytes]) -> None:
    alone = dict(fixtures(4, 1, ["everything"]))
    assert "records/everything-1.json" in alone
    assert {name: generated[name] for name in alone if name != MANIFEST} == {
        name: content for name, content in alone.items() if name != MANIFEST
    }


def test_all_single_field_changes_are_told_with_whether_they_are_noticed() -> None:
    lines = dict(fixtures(0, 1, ["single-field-changes"]))["changes/single-field-changes-1.jsonl"].splitlines()
    changes = [json.loads(line) for line in lines]
    assert {change["change"] for change in changes} == {"altered", "removed", "type", "added"}
    ring = KeyRing.from_json(dict(fixtures(0, 1, []))["keyring.json"])
    for line, change in zip(lines[::97], changes[::97], strict=True):
        report = verify(json.dumps(json.loads(line)["document"]).encode(), ring)
        assert report.ok != change["noticed"], change["path"]
    added = [change for change in changes if change["change"] == "added" and not change["noticed"]]
    assert all(change["unknown_fields"] in ([change["path"]], []) for change in added)
    assert "receipt.TEST_note" not in {change["path"] for change in added}


def test_a_count_that_cannot_be_and_a_name_that_is_not_known_are_refused() -> None:
    for count in (0, 1001):
        with pytest.raises(ValueError, match="1000"):
            next(fixtures(0, count))
    with pytest.raises(KeyError, match="nimimal"):
        next(fixtures(0, 1, ["nimimal"]))
    assert nearest("nimimal") == "minimal"
    assert nearest("?") is None


def test_names_are_each_told_what_they_are_for() -> None:
    assert all(all_names().values())
    assert {"broken", "single-field-changes", *KINDS} == all_names().keys()
