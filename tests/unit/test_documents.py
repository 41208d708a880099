"""Strict JSON, and documents that keep what they don't know (DESIGN "closed objects")."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import Enrichment, KeyRing, PithRecord
from pith_builder.documents import MAX_DEPTH, loads
from pith_builder.errors import InvalidEnrichment, InvalidInput, InvalidJson, InvalidKeyRing, InvalidRecord
from pith_builder.testing import make_keyring, make_record


def compact(value: Any) -> bytes:
    return msgspec.json.encode(value)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.fixture
def published() -> dict[str, Any]:
    """A record as a JSON value, to be changed."""
    value: dict[str, Any] = json.loads(make_record().to_json())
    return value


# --- strict JSON ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b'{"a":1,}',
        b"{'a':1}",
        b"{a:1}",
        b"// no\n1",
        b"01",
        b"+1",
        b'"\n"',
        b'"\\x"',
        b"nul",
        b"\xef\xbb\xbf1",
        b'{"a":1,"a":2}',
        b'{"a":1,"a":1}',
        b'[{"x":{"a":1,"b":[{"c":1,"c":2}]}}]',
        b'{"a":1,"\\u0061":2}',
        b"NaN",
        b"[Infinity]",
        b'{"a":-Infinity}',
        b"1e999",
        b"[-1e999]",
        b"1" + b"0" * 400 + b".0",
        b'"\\ud800"',
        b'"\\uDC00"',
        b'"\\udc00\\ud800"',
        b'["a",{"b":"x\\uD834"}]',
        b'{"\\ud800":1}',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\xc0\xaf"',
        b'"\xe2\x82"',
        b"1 2",
        b"{} {}",
        b"[] x",
        b"1\x00",
        b"9" * 5000,
        b'{"a":-' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=lambda text: ascii(text)[:40],
)
def test_what_is_not_strict_json_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidJson):
        loads(text)


def test_a_lone_surrogate_in_a_str_is_refused() -> None:
    with pytest.raises(InvalidJson):
        loads('"\ud800"')


@pytest.mark.parametrize("leaf", ["1", '"\\ud83d\\ude00"', '"é"'], ids=ascii)
def test_nesting_near_the_limit_of_the_interpreter_is_read_or_refused(leaf: str) -> None:
    limit = sys.getrecursionlimit()
    for depth in range(limit - 150, limit + 10):
        with contextlib.suppress(InvalidJson):
            loads("[" * depth + leaf + "]" * depth)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":[1,-2.5,1e3,true,null]}', {"a": [1, -2.5, 1000.0, True, None]}),
        (b' \r\n"\\ud834\\udd1e"\n', "\U0001d11e"),
        ('"é"'.encode(), "é"),
        (b'[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
        (b"9007199254740993", 2**53 + 1),
        (b'"\\\\ud800"', "\\ud800"),
        (b'"\\u0000"', "\0"),
    ],
    ids=ascii,
)
def test_strict_json_is_read(text: bytes, value: Any) -> None:
    assert loads(text) == value


def test_a_syntax_error_says_where() -> None:
    with pytest.raises(InvalidJson, match="line 2 column 1"):
        loads(b'{"a":1\n"b":2}')


def test_a_duplicate_key_is_named() -> None:
    with pytest.raises(InvalidJson, match="'abc'"):
        loads(b'{"abc":1,"abc":2}')


# --- round trips ------------------------------------------------------------------------------------------------

Change = Callable[[dict[str, Any]], None]


def behind(name: str, key: str, value: Any) -> Change:
    """Put an unknown field behind a known one at the top level."""

    def change(record: dict[str, Any]) -> None:
        items = list(record.items())
        place = list(record).index(name) + 1
        record.clear()
        record.update([*items[:place], (key, value), *items[place:]])

    return change


@pytest.mark.parametrize(
    "path",
    ["minimal-1.json", "old-id-1.json", "everything-1.json", "2403.07648v2.json", "2407.14645v1.json"],
)
def test_a_record_is_written_as_it_was_read(root: Path, path: str) -> None:
    data = (root / "fixtures" / "records" / path).read_bytes().rstrip()
    assert PithRecord.from_json(data).to_json() == data
    assert PithRecord.from_json(msgspec.json.format(data, indent=2)).to_json() == data
    assert PithRecord.from_json(data.decode()).to_json() == data


@pytest.mark.parametrize("known", ["record_type", "source", "paper", "links", "updated_at"])
def test_an_unknown_field_stays_behind_the_field_that_it_followed(published: dict[str, Any], known: str) -> None:
    behind(known, "x_note", {"b": [1.5, None], "a": 10**30})(published)
    data = json.dumps(published, separators=(",", ":")).encode()
    record = PithRecord.from_json(data)
    assert record.to_json() == data
    assert record.unknown() == ["x_note"]


def test_an_unknown_first_field_stays_first(published: dict[str, Any]) -> None:
    data = compact({"x_first": 1, **published})
    assert PithRecord.from_json(data).to_json() == data


def test_several_unknown_fields_keep_their_order(published: dict[str, Any]) -> None:
    published["links"] = {"z": 1, "y": 2, **published["links"], "b": 3, "a": 4}
    data = compact(published)
    assert PithRecord.from_json(data).to_json() == data


def test_an_unknown_field_without_a_name_is_kept(published: dict[str, Any]) -> None:
    data = compact({**published, "": 1})
    assert PithRecord.from_json(data).to_json() == data


def test_an_unknown_field_in_a_list_is_kept_in_its_place(published: dict[str, Any]) -> None:
    published["aliases"][2]["note"] = "x"
    record = PithRecord.from_json(compact(published))
    assert record.to_json() == compact(published)
    assert record.unknown() == ["aliases[2].note"]


@pytest.mark.parametrize(
    ("block", "inside"),
    [("paper", ()), ("graph_snapshot", ()), ("graph_snapshot", ("verdict",)), ("graph_snapshot", ("paper",))],
)
def test_an_unknown_field_in_a_block_stands_in_jsonb_order(
    published: dict[str, Any], block: str, inside: tuple[str, ...]
) -> None:
    target = published[block]
    for name in inside:
        target = target[name]
    target |= {"notes": {"bb": 1, "a": 2}, "x": 3}
    written = json.loads(PithRecord.from_json(compact(published)).to_json())
    assert written == published
    found = written[block]
    for name in inside:
        found = found[name]
    assert list(found) == sorted(found, key=lambda key: (len(key.encode()), key.encode()))
    assert list(found["notes"]) == ["a", "bb"]


def test_a_field_of_unknown_rows_is_not_reported_as_unknown(published: dict[str, Any]) -> None:
    published |= {"events": [{"event_type": "x", "more": 1}], "event_summary": {"x": 1}}
    assert PithRecord.from_json(compact(published)).unknown() == []


def test_replace_keeps_unknown_fields(published: dict[str, Any]) -> None:
    record = PithRecord.from_json(compact({**published, "x_note": 1}))
    assert json.loads(record.replace(updated_at="later").to_json()) == {
        **published,
        "x_note": 1,
        "updated_at": "later",
    }


def test_replace_leaves_the_record_as_it_was(published: dict[str, Any]) -> None:
    data = compact({**published, "x_note": 1})
    record = PithRecord.from_json(data)
    record.replace(updated_at="later")
    assert record.to_json() == data


def test_a_key_ring_keeps_unknown_fields() -> None:
    value = json.loads(make_keyring().to_json())
    value["keys"][0]["comment"] = "x"
    assert KeyRing.from_json(compact({**value, "note": 1})).to_json() == compact({**value, "note": 1})


# --- closed objects ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [("canonical_record",), ("canonical_record", "source"), ("canonical_record", "metadata"), ("receipt",)],
    ids=".".join,
)
def test_a_closed_object_refuses_an_unknown_field_and_names_it(
    published: dict[str, Any], path: tuple[str, ...]
) -> None:
    target = published
    for name in path:
        target = target[name]
    target["x_note"] = 1
    with pytest.raises(InvalidRecord, match="x_note") as caught:
        PithRecord.from_json(compact(published))
    assert caught.value.field == ".".join(path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("canonical_sha256", 5),
        ("paper.title", None),
        ("receipt.key_id", 1),
        ("receipt.algorithm", "rsa"),
        ("receipt.receipt_version", "0.4"),
        ("schema_version", "2.0"),
        ("record_type", "other"),
        ("canonical_record.source.version", "1"),
        ("graph_snapshot.claims.count", True),
        ("verification_status.pith_receipt", 1),
    ],
)
def test_a_field_of_another_kind_is_named(published: dict[str, Any], path: str, value: Any) -> None:
    *inside, last = path.split(".")
    target = published
    for name in inside:
        target = target[name]
    target[last] = value
    with pytest.raises(InvalidRecord) as caught:
        PithRecord.from_json(compact(published))
    assert caught.value.field == path


@pytest.mark.parametrize("name", list(PithRecord.__struct_fields__))
def test_a_missing_field_is_named(published: dict[str, Any], name: str) -> None:
    del published[name]
    with pytest.raises(InvalidRecord, match=name):
        PithRecord.from_json(compact(published))


@pytest.mark.parametrize(
    ("document", "error"),
    [(PithRecord, InvalidRecord), (KeyRing, InvalidKeyRing), (Enrichment, InvalidEnrichment)],
)
@pytest.mark.parametrize("text", [b"[]", b"null", b'"x"', b"5"])
def test_a_document_that_is_no_object_is_refused_as_what_it_should_be(
    document: type[PithRecord | KeyRing | Enrichment], error: type[InvalidInput], text: bytes
) -> None:
    with pytest.raises(error):
        document.from_json(text)


@pytest.mark.parametrize("document", [PithRecord, KeyRing, Enrichment])
@pytest.mark.parametrize("text", [b"", b"{", b'{"a":1,"a":2}', b"\xff", '{"a":"\ud800"}', b'{"a":NaN}'])
def test_a_document_is_read_strictly(document: type[PithRecord | KeyRing | Enrichment], text: bytes | str) -> None:
    with pytest.raises(InvalidJson):
        document.from_json(text)


def test_a_key_that_stands_twice_is_refused_wherever_it_stands(published: dict[str, Any]) -> None:
    data = compact(published)
    for name in ("source", "paper", "events", "updated_at"):
        twice = data.replace(f'"{name}":'.encode(), f'"{name}":0,"{name}":'.encode(), 1)
        with pytest.raises(InvalidJson, match=name):
            PithRecord.from_json(twice)


@pytest.mark.parametrize("layout", [None, 1], ids=["compact", "indented"])
def test_a_document_nested_too_deeply_is_refused_however_it_is_laid_out(
    published: dict[str, Any], layout: int | None
) -> None:
    published |= {"events": [{"event_type": "x", "deep": nested(MAX_DEPTH)}], "event_summary": {"x": 1}}
    separators = (",", ":") if layout is None else None
    data = json.dumps(published, indent=layout, separators=separators).encode()
    with pytest.raises(InvalidJson, match="deeper"):
        PithRecord.from_json(data)


def test_unknown_fields_nested_within_the_limit_are_kept(published: dict[str, Any]) -> None:
    data = compact({**published, "x_note": nested(MAX_DEPTH - 1)})
    assert PithRecord.from_json(data).to_json() == data
