"""What two canonical records differ in, and how it is told."""

from __future__ import annotations

from typing import Any

import pytest

from pith_builder import canonical_record
from pith_builder.diff import Difference, differences, differing_fields
from pith_builder.testing import make_metadata, make_record

OTHERS: dict[str, Any] = {
    "id": {"arxiv_id": "2601.00002"},
    "version": {"version": 2},
    "license": {"license": ""},
    "primary_cat": {"categories": "cs.AI cs.CR"},
    "submitted_at": {"submitted_at": "2025-12-31T23:59:59Z"},
    "cross_cats_sorted": {"categories": "cs.DL"},
    "title_canon_sha256": {"title": "Another"},
    "abstract_canon_sha256": {"abstract": "Something is shown."},
}


def lines(**changes: Any) -> list[str]:
    found = differences(make_record(), make_record(make_metadata(**changes)))
    return [line for difference in found for line in difference.lines()]


def test_the_same_record_differs_in_nothing() -> None:
    assert differences(make_record(), make_record()) == []


def test_what_no_number_covers_is_not_compared() -> None:
    assert differences(make_record(), make_record(make_metadata(authors="Grace Hopper"))) == []


@pytest.mark.parametrize("field", OTHERS)
def test_each_field_is_named(field: str) -> None:
    assert differing_fields(canonical_record(make_metadata()), canonical_record(make_metadata(**OTHERS[field]))) == (
        field,
    )


def test_fields_come_in_the_order_of_the_record() -> None:
    changes = {name: value for of_field in OTHERS.values() for name, value in of_field.items()}
    others = canonical_record(make_metadata(**changes | {"categories": "cs.AI"}))
    assert differing_fields(canonical_record(make_metadata()), others) == tuple(OTHERS)


def test_a_difference_holds_both_values() -> None:
    assert differences(make_record(), make_record(make_metadata(version=3))) == [Difference("version", 1, 3)]


def test_the_texts_behind_a_hash_are_those_of_the_records() -> None:
    [difference] = differences(make_record(), make_record(make_metadata(title="Another")))
    assert (difference.a_text, difference.b_text) == ("A Made-Up Paper", "Another")


def test_a_line_a_field() -> None:
    assert lines(version=2, categories="cs.DL") == ["version: 1 -> 2", 'cross_cats_sorted: ["cs.CR"] -> []']


def test_no_licence_can_be_seen() -> None:
    assert lines(license="") == ['license: http://creativecommons.org/licenses/by/4.0/ -> ""']


def test_titles_stand_under_their_hash() -> None:
    hashes, titles = lines(title="Another")
    assert hashes.startswith("title_canon_sha256: ")
    assert titles == "  title: A Made-Up Paper -> Another"


def test_long_texts_are_shown_from_shortly_before_they_part() -> None:
    same = "word " * 60
    a, b = make_metadata(abstract=same + "old " * 40), make_metadata(abstract=same + "new " * 40)
    [difference] = differences(make_record(a), make_record(b))
    _, excerpts = difference.lines()
    old, new = excerpts.removeprefix("  abstract_excerpt: ").split(" -> ")
    before = "…" + "word " * 6
    assert old.startswith(f"{before}old old")
    assert new.startswith(f"{before}new new")
    assert old.endswith("…")


def test_abstracts_that_part_behind_the_excerpt_are_the_same_as_far_as_shown() -> None:
    same = "x" * 700
    a, b = make_metadata(abstract=f"{same} old"), make_metadata(abstract=f"{same} new")
    [difference] = differences(make_record(a), make_record(b))
    assert list(difference.lines())[1] == "  abstract_excerpt: the same as far as it is shown"


def test_a_text_that_goes_on_where_the_other_ends() -> None:
    a, b = make_metadata(abstract="x" * 200), make_metadata(abstract="x" * 200 + " and more")
    [difference] = differences(make_record(a), make_record(b))
    _, excerpts = difference.lines()
    assert excerpts == f"  abstract_excerpt: …{'x' * 30} -> …{'x' * 30} and more"
