"""From one JSON object to metadata: our own form, or a snapshot row (PROTOCOL §2)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pith_builder.documents import loads
from pith_builder.errors import InvalidInput, InvalidMetadata
from pith_builder.metadata import FIELDS
from pith_builder.sources.rows import is_withdrawn, parse_created, read_metadata, source_time
from pith_builder.testing import make_metadata

V1, V2, V3 = "Mon, 2 Apr 2007 19:18:42 GMT", "Tue, 24 Jul 2007 20:10:27 GMT", "Wed, 25 Jul 2007 00:00:00 GMT"


@pytest.fixture
def row(registry: Path) -> dict[str, Any]:
    """A real row, to be changed."""
    found: dict[str, Any] = json.loads((registry / "snapshot_rows.jsonl").read_bytes().splitlines()[0])
    return found


def versions(**created: str) -> list[dict[str, str]]:
    return [version(name, time) for name, time in created.items()]


def version(name: Any, created: Any = V1) -> dict[str, Any]:
    return {"version": name, "created": created}


def test_a_row_is_read_as_it_is(row: dict[str, Any]) -> None:
    metadata = read_metadata(row)
    assert (metadata.arxiv_id, metadata.version, metadata.submitted_at) == ("0704.0001", 2, "2007-04-02T19:18:42Z")
    for name in ("title", "abstract", "authors", "categories"):
        assert getattr(metadata, name) == row[name]


def test_our_own_form_is_told_by_its_fields() -> None:
    metadata = make_metadata()
    assert read_metadata({name: getattr(metadata, name) for name in FIELDS}) == metadata


@pytest.mark.parametrize(
    ("given", "version"),
    [
        (versions(v1=V1), 1),
        (versions(v1=V1, v2=V2), 2),
        (versions(v2=V2, v1=V1), 2),
        (versions(v1=V1, v9=V2, v10=V3), 10),
        (versions(v10=V3, v1=V1, v9=V2), 10),
        (versions(v3=V3, v1=V1), 3),
    ],
)
def test_the_version_is_the_highest_number_and_the_time_that_of_v1(
    row: dict[str, Any], given: list[dict[str, str]], version: int
) -> None:
    metadata = read_metadata({**row, "versions": given})
    assert (metadata.version, metadata.submitted_at) == (version, "2007-04-02T19:18:42Z")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "no v1"),
        (versions(v2=V2), "no v1"),
        ([*versions(v1=V1), *versions(v1=V1)], "v1 stands twice"),
        ([*versions(v1=V1), *versions(v2=V2), *versions(v2=V3)], "v2 stands twice"),
        ([version("V1")], "no version such as v1"),
        ([version("v01")], "no version such as v1"),
        ([version("v0")], "no version such as v1"),
        ([version("1")], "no version such as v1"),
        ([version("v1\n")], "no version such as v1"),
        ([version("v\u0661")], "no version such as v1"),
        ([version(1)], "no version such as v1"),
        ([{"version": "v1"}], "not a list of objects"),
        ([{"created": V1}], "not a list of objects"),
        (["v1"], "not a list of objects"),
        ([None], "not a list of objects"),
        ({"v1": V1}, "not a list of objects"),
        (None, "not a list of objects"),
        ("v1", "not a list of objects"),
        ([version("v1", None)], "no time such as"),
    ],
    ids=ascii,
)
def test_a_row_with_wrong_versions_is_refused(row: dict[str, Any], given: Any, reason: str) -> None:
    with pytest.raises(InvalidMetadata, match=reason) as caught:
        read_metadata({**row, "versions": given})
    assert caught.value.field == "versions"


@pytest.mark.parametrize(
    ("given", "license_"), [(None, ""), ("", ""), ("http://example.org/l", "http://example.org/l")]
)
def test_a_null_licence_of_a_row_is_none(row: dict[str, Any], given: str | None, license_: str) -> None:
    assert read_metadata({**row, "license": given}).license == license_


def test_an_absent_licence_of_a_row_is_unknown(row: dict[str, Any]) -> None:
    del row["license"]
    assert read_metadata(row).license is None


def test_a_null_licence_of_our_own_form_is_unknown() -> None:
    values = {name: getattr(make_metadata(), name) for name in FIELDS}
    assert read_metadata({**values, "license": None}).license is None


@pytest.mark.parametrize("name", ["title", "abstract", "authors", "categories"])
def test_a_row_without_a_field_is_refused_and_the_field_is_named(row: dict[str, Any], name: str) -> None:
    del row[name]
    with pytest.raises(InvalidMetadata) as caught:
        read_metadata(row)
    assert caught.value.field == name


@pytest.mark.parametrize("id_", [None, 704.0001, "", "0713.0001"])
def test_a_row_with_a_wrong_id_is_refused(row: dict[str, Any], id_: Any) -> None:
    with pytest.raises(InvalidMetadata) as caught:
        read_metadata({**row, "id": id_})
    assert caught.value.field == "arxiv_id"


@pytest.mark.parametrize("value", [None, [], "x", 5, {}, {"id": "0704.0001"}, {"versions": []}])
def test_what_has_neither_form_is_refused(value: Any) -> None:
    with pytest.raises(InvalidMetadata):
        read_metadata(value)


def test_a_field_nested_near_the_limit_of_the_interpreter_is_refused(row: dict[str, Any]) -> None:
    limit = sys.getrecursionlimit()
    text = json.dumps({**row, "title": 0})
    for depth in range(limit - 150, limit + 10):
        with pytest.raises(InvalidInput):
            read_metadata(loads(text.replace('"title": 0', f'"title": {"[" * depth}{"]" * depth}')))


# --- dates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("created", "submitted_at"),
    [
        ("Mon, 2 Apr 2007 19:18:42 GMT", "2007-04-02T19:18:42Z"),
        ("Mon, 02 Apr 2007 19:18:42 GMT", "2007-04-02T19:18:42Z"),
        ("02 Apr 2007 19:18:42 GMT", "2007-04-02T19:18:42Z"),
        ("2 Apr 2007 19:18:42 GMT", "2007-04-02T19:18:42Z"),
        ("Thu, 29 Feb 2024 23:59:59 GMT", "2024-02-29T23:59:59Z"),
        ("Sat, 31 Dec 2016 00:00:00 GMT", "2016-12-31T00:00:00Z"),
        ("Fri, 30 Aug 1991 12:00:00 GMT", "1991-08-30T12:00:00Z"),
    ],
)
def test_a_date_of_arxiv_is_read(created: str, submitted_at: str) -> None:
    assert parse_created(created) == submitted_at


@pytest.mark.parametrize(
    ("created", "reason"),
    [
        ("Tue, 2 Apr 2007 19:18:42 GMT", "that day was a Mon"),
        ("Wed, 29 Feb 2023 12:00:00 GMT", "no such day"),
        ("29 Feb 1900 12:00:00 GMT", "no such day"),
        ("31 Apr 2007 12:00:00 GMT", "no such day"),
        ("0 Apr 2007 12:00:00 GMT", "no such day"),
        ("1 Apr 0000 12:00:00 GMT", "no such day"),
        ("Mon, 2 Apr 2007 19:18:42", "no time such as"),
        ("Mon, 2 Apr 2007 19:18:42 ", "no time such as"),
        ("Mon, 2 Apr 2007 19:18:42 UTC", "no time such as"),
        ("Mon, 2 Apr 2007 19:18:42 EST", "no time such as"),
        ("Mon, 2 Apr 2007 19:18:42 +0000", "no time such as"),
        ("Mon, 2 Apr 2007 19:18:42 gmt", "no time such as"),
        ("Mon, 2 Apr 2007 19:18:42 GMT\n", "no time such as"),
        ("Mon, 2 Apr 2007 24:00:00 GMT", "no time such as"),
        ("Mon, 2 Apr 2007 19:60:00 GMT", "no time such as"),
        ("Mon, 2 Apr 2007 19:18:60 GMT", "no time such as"),
        ("Mon, 2 Apr 2007 19:18 GMT", "no time such as"),
        ("Mon, 2 April 2007 19:18:42 GMT", "no time such as"),
        ("Mon 2 Apr 2007 19:18:42 GMT", "no time such as"),
        ("Mon,  2 Apr 2007 19:18:42 GMT", "no time such as"),
        ("Mon, 002 Apr 2007 19:18:42 GMT", "no time such as"),
        ("Mon, 2 Apr 07 19:18:42 GMT", "no time such as"),
        ("Mon, \u0662 Apr 2007 19:18:42 GMT", "no time such as"),
        ("2007-04-02T19:18:42Z", "no time such as"),
        ("", "no time such as"),
        (None, "no time such as"),
        (1175541522, "no time such as"),
    ],
    ids=ascii,
)
def test_any_other_date_is_refused(created: Any, reason: str) -> None:
    with pytest.raises(InvalidMetadata, match=reason):
        parse_created(created)


# --- what a row says besides ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("update_date", "time"),
    [
        ("2008-11-26", "2008-11-26T00:00:00Z"),
        ("2008-02-30", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (5, None),
    ],
)
def test_the_time_of_a_row_is_its_update_date(update_date: Any, time: str | None) -> None:
    assert source_time(update_date) == time


@pytest.mark.parametrize(
    ("comments", "withdrawn"),
    [
        ("This paper has been withdrawn by the author", True),
        ("Withdrawn: an error in Lemma 2", True),
        ("37 pages, 15 figures", False),
        ("About withdrawnness", False),
        ("", False),
        (None, False),
        (5, False),
    ],
)
def test_a_row_is_withdrawn_by_its_comment(comments: Any, withdrawn: bool) -> None:
    assert is_withdrawn(comments) is withdrawn
