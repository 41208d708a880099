"""Short forms that stand for several numbers; real ones are rare, so the suffixes here are put in past the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pith_builder import Issuer, Provenance
from pith_builder.errors import Ambiguous
from pith_builder.store import Store, collisions
from pith_builder.testing import FrozenClock, make_metadata, make_signer

Make = Callable[..., Store]


@pytest.fixture
def make(store_url: str, sql: Callable[..., list[Any]]) -> Make:
    """A store of records with these beginnings of their suffixes, of the papers 2601.00001 and on."""

    def call(*beginnings: str) -> Store:
        store, issuer = Store(store_url), Issuer(make_signer(), clock=FrozenClock())
        for n, beginning in enumerate(beginnings, 1):
            store.issue(make_metadata(arxiv_id=f"2601.{n:05}", version=n), Provenance("test"), issuer)
            sql("UPDATE records SET suffix = :new WHERE version = :n", new=beginning.ljust(26, "A"), n=n)
        return store

    return call


def found(store: Store) -> dict[str, list[str]]:
    return {
        one.short_form: [f"{meant.arxiv_id}v{meant.version}" for meant in one.numbers]
        for one in collisions.collisions(store)
    }


def test_numbers_that_share_their_first_eight_symbols_are_listed_with_their_papers(make: Make) -> None:
    store = make("BMWHAH2DZ", "AAAAAAAA2", "BMWHAH2D7", "BMWHAH2CZ", "BMWHAH2D5")
    assert found(store) == {"pith:BMWHAH2D": ["2601.00005v5", "2601.00003v3", "2601.00001v1"]}


def test_several_short_forms_come_in_their_order(make: Make) -> None:
    store = make("ZZZZZZZZ3", "7777777723", "ZZZZZZZZ2", "7777777722", "22222222")
    assert list(found(store)) == ["pith:77777777", "pith:ZZZZZZZZ"]


def test_what_is_listed_is_what_can_not_be_resolved(make: Make) -> None:
    store = make("BMWHAH2D2", "BMWHAH2D3", "BMWHAH2E")
    [listed] = found(store)
    with pytest.raises(Ambiguous):
        store.get(listed)
    assert store.get("pith:BMWHAH2E").record.source.id == "2601.00003"


def test_two_numbers_of_one_paper_are_ambiguous_too(make: Make, sql: Callable[..., list[Any]]) -> None:
    store = make("BMWHAH2D2", "BMWHAH2D3")
    sql("UPDATE records SET arxiv_id = '2601.00001'")
    assert found(store) == {"pith:BMWHAH2D": ["2601.00001v1", "2601.00001v2"]}


def test_store_without_any_lists_none(make: Make) -> None:
    assert found(make()) == {}
    assert found(make("BMWHAH2D", "BMWHAH2E")) == {}


def test_scan_goes_on_over_what_is_read_ahead(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collisions, "_AHEAD", 2)
    store = make("AAAAAAAA", "BBBBBBBB2", "BBBBBBBB3", "CCCCCCCC", "DDDDDDDD2", "DDDDDDDD3", "EEEEEEEE")
    assert list(found(store)) == ["pith:BBBBBBBB", "pith:DDDDDDDD"]
