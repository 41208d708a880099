"""The JSON Schemas accept what we publish and refuse what is broken in its form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pith_builder import KeyRing, verify
from pith_builder.schemas import NAMES, schema
from pith_builder.testing import make_keyring, make_metadata, make_record, make_revocation, make_rotation, make_signer
from pith_builder.testing.vectors import RULES

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
VALIDATORS = {name: jsonschema.Draft202012Validator(json.loads(schema(name))) for name in NAMES}


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def vectors(rule: str) -> list[dict[str, Any]]:
    return list(read(FIXTURES / "vectors" / f"{rule}.json")["tests"])


def answered(rule: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for test in vectors(rule):
        if test["expected"] is not None:
            yield f"{rule} {test['id']}", test["input"], test["expected"]


def published() -> Iterator[tuple[str, str, Any]]:
    """Schema, what it is, a document: the files of the checkout."""
    seeds = FIXTURES / "registry" / "seeds"
    for path in [*(FIXTURES / "records").glob("*.json"), *seeds.glob("*.record.json")]:
        record = read(path)
        yield "record", path.name, record
        yield "canonical-record", path.name, record["canonical_record"]
        yield "receipt", path.name, record["receipt"]
    for path in [*(FIXTURES / "metadata").glob("*.json"), *seeds.glob("*.metadata.json")]:
        yield "metadata", path.name, read(path)
    for row in read(FIXTURES / "registry" / "canonical_records.json"):
        yield "canonical-record", row["pith_number"], row["canonical_record"]
    yield "keyring", "of the checkout", read(ROOT / "keys" / "keyring.json")
    yield "keyring", "of the registry", json.loads(KeyRing.registry().to_json())
    yield "enrichment", "with everything", read(FIXTURES / "enrichment.json")
    for rule in RULES:
        yield "vectors", rule, read(FIXTURES / "vectors" / f"{rule}.json")


def in_vectors() -> Iterator[tuple[str, str, Any]]:
    """The same of what vectors hold and call valid."""
    for what, given, expected in answered("record"):
        yield "record", what, json.loads(expected["record"])
        yield "metadata", what, json.loads(given["metadata"])
        yield "enrichment", what, json.loads(given["enrichment"] or "{}")
    for test in vectors("reissue"):
        if test["expected"] and "NotJudged" not in test["flags"]:  # a reissue keeps what it doesn't look at
            yield "record", f"reissue {test['id']}", json.loads(test["expected"]["record"])
    for what, given, _ in answered("keyring"):
        yield "keyring", what, json.loads(given["keyring"])
    for what, given, _ in answered("rotation"):
        for statement in json.loads(given["ring"])["statements"]:
            yield "statement", what, statement


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_one_of_2020_12(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema(name)))


def test_everything_that_we_publish_is_valid() -> None:
    wrong = [
        f"{name}: {what}: {error.json_path}: {error.message[:100]}"
        for name, what, document in chain(published(), in_vectors())
        for error in VALIDATORS[name].iter_errors(document)
    ]
    assert wrong == []


def test_a_report_of_the_command_line_is_valid(run: Any) -> None:
    record = FIXTURES / "registry" / "seeds" / "2403.07648v2.record.json"
    (line,) = run("verify", "--json", record).lines
    VALIDATORS["report"].validate(line)


def test_a_report_of_what_is_no_record_is_valid(run: Any) -> None:
    (line,) = run("verify", "--json", "-", stdin=b"{}").lines
    VALIDATORS["report"].validate(line)
    assert not verify(b"{}", make_keyring()).ok


def documents() -> dict[str, Any]:
    ring = make_keyring()
    statements = [make_rotation(ring, make_signer(1), make_signer(2)), make_revocation("x", make_signer(1))]
    record = json.loads(make_record().to_json())
    return {
        "record": record,
        "canonical-record": record["canonical_record"],
        "receipt": record["receipt"],
        "keyring": json.loads(ring.replace(statements=statements).to_json()),
        "metadata": {name: getattr(make_metadata(), name) for name in make_metadata().__struct_fields__},
        "enrichment": read(FIXTURES / "enrichment.json"),
        "vectors": read(FIXTURES / "vectors" / "number.json"),
    } | {"statement": json.loads(ring.replace(statements=statements).to_json())["statements"][0]}


def changed(value: Any, place: str, new: Any) -> Any:
    head, _, rest = place.partition(".")
    if isinstance(value, list):
        return [changed(item, rest, new) if str(i) == head else item for i, item in enumerate(value)]
    if not rest:
        return {**value, head: new} if new is not KeyError else {k: v for k, v in value.items() if k != head}
    return {**value, head: changed(value[head], rest, new)}


CLOSED = [
    ("record", "canonical_record.note"),
    ("record", "canonical_record.source.note"),
    ("record", "canonical_record.metadata.note"),
    ("record", "receipt.note"),
    ("canonical-record", "note"),
    ("receipt", "note"),
    ("keyring", "statements.0.note"),
    ("keyring", "statements.0.body.note"),
    ("keyring", "statements.1.body.note"),
    ("keyring", "statements.0.signatures.0.note"),
    ("statement", "note"),
    ("vectors", "note"),
    ("vectors", "tests.0.note"),
]
OPEN = [
    ("record", "note"),
    ("record", "paper.note"),
    ("record", "source.note"),
    ("record", "graph_snapshot.claims.note"),
    ("record", "links.note"),
    ("record", "aliases.0.note"),
    ("keyring", "note"),
    ("keyring", "keys.0.note"),
    ("metadata", "note"),
    ("enrichment", "note"),
    ("enrichment", "references.0.note"),
]
BROKEN = [
    ("record", "links", KeyError),
    ("record", "record_type", "another"),
    ("record", "schema_version", "1.1"),
    ("record", "canonical_sha256", "A" * 64),
    ("record", "pith_number", "pith:2024:01"),
    ("record", "created_at", "2026-01-02T03:04:05.678901Z"),
    ("record", "receipt.signed_at", "2026-01-02T03:04:05.678901+00:00"),
    ("record", "receipt.signature_b64", "A" * 86),
    ("record", "canonical_record.source.version", 0),
    ("record", "canonical_record.metadata.submitted_at", "2026-01-01"),
    ("record", "canonical_record.metadata.cross_cats_sorted", ["?"]),
    ("record", "events", None),
    ("record", "graph_snapshot.integrity", None),
    ("canonical-record", "metadata.license", None),
    ("receipt", "algorithm", "rsa"),
    ("keyring", "keys.0.state", "expired"),
    ("keyring", "keys.0.key_id", "a b"),
    ("keyring", "keys.0.public_key_b64", "A" * 43),
    ("keyring", "keys.0.not_before", "2026"),
    ("keyring", "statements.0.body.previous_sha256", KeyError),
    ("statement", "body.type", "another"),
    ("metadata", "title", " \n"),
    ("metadata", "version", 10000),
    ("metadata", "license", "CC-BY"),
    ("metadata", "authors", KeyError),
    ("enrichment", "author_claims.0.strength", "medium"),
    ("enrichment", "events.0.event_type", KeyError),
    ("enrichment", "references.0.resolved", 1),
    ("enrichment", "verdict.one_line_summary", 1),
    ("enrichment", "inbound_citations", {"total": 1}),
    ("vectors", "schema", "pith-vectors/2"),
    ("vectors", "tests.0.result", "perhaps"),
    ("vectors", "tests.0.expected", KeyError),
]


@pytest.mark.parametrize(("name", "place"), CLOSED)
def test_closed_objects_take_no_further_field(name: str, place: str) -> None:
    assert not VALIDATORS[name].is_valid(changed(documents()[name], place, 1))


@pytest.mark.parametrize(("name", "place"), OPEN)
def test_open_objects_take_further_fields(name: str, place: str) -> None:
    assert VALIDATORS[name].is_valid(changed(documents()[name], place, 1))


@pytest.mark.parametrize(("name", "place", "value"), BROKEN)
def test_what_is_broken_in_its_form_is_not_valid(name: str, place: str, value: Any) -> None:
    assert VALIDATORS[name].is_valid(documents()[name])
    assert not VALIDATORS[name].is_valid(changed(documents()[name], place, value))


def test_a_licence_that_is_not_known_may_be_absent_or_null() -> None:
    for value in (None, KeyError):
        assert VALIDATORS["metadata"].is_valid(changed(documents()["metadata"], "license", value))


def test_a_record_of_the_may_shape_is_valid() -> None:
    assert VALIDATORS["record"].is_valid(changed(documents()["record"], "graph_snapshot.integrity", KeyError))
