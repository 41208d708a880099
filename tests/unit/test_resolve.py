"""All numbers of a paper in their order, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pith_builder import Issuer, Provenance
from pith_builder.errors import StoreFailed
from pith_builder.store import Store
from pith_builder.store.resolve import Resolved, resolve
from pith_builder.testing import FrozenClock, make_metadata, make_signer

Issue = Callable[..., str]


@pytest.fixture
def store(store_url: str) -> Store:
    return Store(store_url)


@pytest.fixture
def issue(store: Store) -> Issue:
    """Issue a paper as its source described it at a time; its number."""

    def call(said_at: str | None = None, **changes: Any) -> str:
        issuer = Issuer(make_signer(), clock=FrozenClock())
        return store.issue(make_metadata(**changes), Provenance("test", said_at), issuer).record.pith_number

    return call


def numbers(found: Resolved) -> list[str]:
    return [number.pith_number for number in found.all]


def test_order_is_by_version_then_by_what_the_source_said_last(store: Store, issue: Issue) -> None:
    timeless = issue(title="No time is known")
    late, early = issue("2026-02-01T00:00:00Z"), issue("2026-01-01T00:00:00Z", title="Another")
    newest = issue(version=2)
    assert numbers(resolve(store, "2601.00001")) == [newest, late, early, timeless]
    assert resolve(store, "2601.00001v1").meant.pith_number == late


def test_others_are_all_but_the_one_that_is_meant(store: Store, issue: Issue) -> None:
    first, second, third = (issue(version=version) for version in (1, 2, 3))
    found = resolve(store, second)
    assert found.meant.pith_number == second
    assert [number.pith_number for number in found.others] == [third, first]


def test_other_papers_are_none_of_it(store: Store, issue: Issue) -> None:
    number = issue()
    issue(arxiv_id="2601.00002")
    assert numbers(resolve(store, "2601.00001")) == [number]


def test_damaged_row_is_not_resolved(store: Store, issue: Issue, sql: Any) -> None:
    number = issue()
    sql("UPDATE records SET canonical = :canonical", canonical=b"{}")
    with pytest.raises(StoreFailed, match="don't give its digest"):
        resolve(store, number.rpartition(":")[2])
