"""The shelf, tested with the fixtures of pith-build's pytest plugin, its factories and its strategies."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from paper_shelf import Shelf
from pith_builder import Issuer, KeyRing, PithError, PithNumber, PithRecord
from pith_builder.testing import make_keyring, make_metadata
from pith_builder.testing.strategies import records


@pytest.fixture
def shelf(tmp_path: Path, pith_keyring: KeyRing) -> Shelf:
    return Shelf(tmp_path, pith_keyring)


def test_a_record_comes_back_as_it_was_put(shelf: Shelf, pith_record: PithRecord) -> None:
    number = shelf.put(pith_record.to_json())
    assert shelf.get(number) == pith_record.to_json()


def test_two_papers_lie_side_by_side(shelf: Shelf, pith_issuer: Issuer) -> None:
    one, other = (pith_issuer.issue(make_metadata(arxiv_id=name)) for name in ("2601.00001", "hep-th/9901001"))
    assert shelf.get(shelf.put(one.to_json())) != shelf.get(shelf.put(other.to_json()))


def test_a_short_form_finds_its_record(shelf: Shelf, pith_record: PithRecord) -> None:
    number = shelf.put(pith_record.to_json())
    assert [str(found) for found in shelf.find(PithNumber.parse(pith_record.short_pith_number))] == [
        f"pith:{number.suffix}"
    ]


def test_a_record_of_an_unknown_key_is_refused(tmp_path: Path, pith_record: PithRecord) -> None:
    with pytest.raises(PithError, match="key_known"):
        Shelf(tmp_path, KeyRing.registry()).put(pith_record.to_json())
    assert list(tmp_path.iterdir()) == []


def test_a_record_with_another_title_is_refused(shelf: Shelf, pith_record: PithRecord) -> None:
    altered = pith_record.replace(paper=msgspec.structs.replace(pith_record.paper, title="Another Paper"))
    with pytest.raises(PithError, match=r"paper\.title"):
        shelf.put(altered.to_json())


@settings(deadline=None)
@given(records())
def test_whatever_verifies_comes_back_byte_for_byte(record: PithRecord) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder), make_keyring())
        assert shelf.get(shelf.put(record.to_json())) == record.to_json()
