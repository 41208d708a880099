"""A record keeps whatever it is given beyond what we know, and any bytes are read or refused."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pith_builder import PithRecord
from pith_builder.documents import loads
from pith_builder.errors import InvalidInput, InvalidJson
from pith_builder.testing import make_record
from pith_builder.testing.strategies import json_values

PUBLISHED = make_record().to_json()
OPEN_OBJECTS = ("", "source", "verification_status", "inbound_citations", "links", "agent_actions")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
values = json_values(floats=True) | st.integers()
additions = st.lists(
    st.tuples(st.integers(0, 30), texts.filter(bool).map("x_".__add__), values), unique_by=lambda field: field[1]
)


def inserted(target: dict[str, Any], fields: list[tuple[int, str, Any]]) -> dict[str, Any]:
    items = list(target.items())
    for place, key, value in fields:
        items.insert(place, (key, value))
    return dict(items)


@given(st.sampled_from(OPEN_OBJECTS), additions)
def test_unknown_fields_of_an_open_object_come_back_byte_for_byte(
    path: str, fields: list[tuple[int, str, Any]]
) -> None:
    record = json.loads(PUBLISHED)
    if path:
        record[path] = inserted(record[path], fields)
    else:
        record = inserted(record, fields)
    data = msgspec.json.encode(record)
    assert PithRecord.from_json(data).to_json() == msgspec.json.encode(loads(data))
    assert len(PithRecord.from_json(data).unknown()) == len(fields)


@given(st.sampled_from(["paper", "graph_snapshot"]), additions)
def test_unknown_fields_of_a_block_come_back_with_their_values(block: str, fields: list[tuple[int, str, Any]]) -> None:
    record = json.loads(PUBLISHED)
    record[block] = inserted(record[block], fields)
    data = msgspec.json.encode(record)
    once = PithRecord.from_json(data).to_json()
    assert json.loads(once) == json.loads(data)
    assert PithRecord.from_json(once).to_json() == once


@given(values)
def test_a_json_value_is_read_as_json_reads_it(value: Any) -> None:
    text = json.dumps(value)
    assert loads(text) == json.loads(text)


@given(st.binary(max_size=40) | st.text('{}[]":,1e9.\\ud8 NaInfty', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(InvalidJson):
        loads(data)


@given(st.integers(0, len(PUBLISHED) - 1), st.binary(max_size=3), st.integers(0, 3))
def test_a_damaged_record_is_read_or_refused(place: int, put: bytes, cut: int) -> None:
    with contextlib.suppress(InvalidInput):
        PithRecord.from_json(PUBLISHED[:place] + put + PUBLISHED[place + cut :])
