"""Where the papers of a command come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pith_builder import ArxivId, PaperMetadata, Provenance
from pith_builder.errors import (
    ConflictingMetadata,
    InvalidArxivId,
    NotFound,
    PithError,
    SourceUnreachable,
    VersionMismatch,
)
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.lookup import Item, papers, with_license
from pith_builder.sources.papers import FoundPaper, PaperFile
from pith_builder.testing import FrozenClock, make_metadata

Papers = Callable[..., Path]


@pytest.fixture
def write_papers(request: pytest.FixtureRequest) -> Papers:
    """The shared fixture `papers`, whose name the function under test has too."""
    writer: Papers = request.getfixturevalue("papers")
    return writer


def file_of(path: Path) -> PaperFile:
    return PaperFile(str(path), FrozenClock())


def catalog_of(path: Path) -> Catalog:
    return Catalog([path], None, FrozenClock())


def error(item: Item) -> PithError:
    assert isinstance(item.found, PithError)
    return item.found


def test_without_ids_all_papers_of_the_file_come_in_one_group(write_papers: Papers) -> None:
    path = write_papers(make_metadata(), make_metadata(version=2))
    items = list(papers([], file_of(path), None))
    assert [(item.input, item.group) for item in items] == [(f"{path}:1", str(path)), (f"{path}:2", str(path))]


def test_each_id_is_an_item_of_its_own_as_it_was_given(write_papers: Papers) -> None:
    given = ["arXiv:2601.00001v1", "https://arxiv.org/abs/2601.00001", "2601.00001"]
    items = list(papers(given, file_of(write_papers(make_metadata())), None))
    assert [item.input for item in items] == given
    assert all(isinstance(item.found, FoundPaper) for item in items)


@pytest.mark.parametrize("source", ["file", "catalogue"])
def test_ids_are_in_the_group_of_the_place_that_was_looked_at(write_papers: Papers, source: str) -> None:
    path = write_papers(make_metadata())
    file, catalog = (file_of(path), None) if source == "file" else (None, catalog_of(path))
    assert {item.group for item in papers(["2601.00001", "2601.00009"], file, catalog)} == {str(path)}


def test_text_that_is_no_id_is_a_group_of_its_own(write_papers: Papers) -> None:
    [bad, good] = papers(["2613.00001", "2601.00001"], file_of(write_papers(make_metadata())), None)
    assert bad.group == "2613.00001" != good.group


def test_file_that_is_given_goes_before_the_catalogue(write_papers: Papers) -> None:
    file = file_of(write_papers(make_metadata(title="In the file")))
    catalog = catalog_of(write_papers(make_metadata(title="In the catalogue"), name="catalog.jsonl"))
    [item] = papers(["2601.00001"], file, catalog)
    assert isinstance(item.found, FoundPaper)
    assert item.found.metadata.title == "In the file"


def test_catalogue_is_not_even_opened_beside_a_file(write_papers: Papers, tmp_path: Path) -> None:
    [item] = papers(["2601.00009"], file_of(write_papers(make_metadata())), catalog_of(tmp_path / "none"))
    assert isinstance(item.found, NotFound)


def test_text_that_is_no_id_is_an_item_that_failed(write_papers: Papers) -> None:
    items = list(papers(["2613.00001", "2601.00001"], file_of(write_papers(make_metadata())), None))
    assert isinstance(items[0].found, InvalidArxivId)
    assert isinstance(items[1].found, FoundPaper)


def test_nothing_is_read_for_ids_that_are_none(tmp_path: Path) -> None:
    [item] = papers(["2613.00001"], file_of(tmp_path / "none"), None)
    assert isinstance(item.found, InvalidArxivId)


def test_paper_that_is_not_in_the_file_says_that_only_the_file_was_looked_at(write_papers: Papers) -> None:
    path = write_papers(make_metadata())
    [item] = papers(["2601.00009v2"], file_of(path), None)
    assert error(item).message == f"2601.00009v2 is not in {path}"
    assert "--metadata" in error(item).hint


@pytest.mark.parametrize("with_catalog", [True, False])
def test_paper_that_is_nowhere_says_where_was_looked(write_papers: Papers, with_catalog: bool) -> None:
    path = write_papers(make_metadata())
    [item] = papers(["2601.00009"], None, catalog_of(path) if with_catalog else None)
    assert isinstance(item.found, NotFound)
    assert (f"not in the catalogue ({path})" if with_catalog else "there is no catalogue") in item.found.message


def test_paper_that_is_nowhere_says_what_of_the_catalogue_cannot_be_read(write_papers: Papers) -> None:
    path = write_papers({"title": "of no paper"}, make_metadata(), [])
    [item] = papers(["2601.00009"], None, catalog_of(path))
    assert "of which 2 places can't be read" in error(item).message
    assert f"the first: {path}:1" in error(item).message


def test_paper_that_is_there_says_nothing_of_unreadable_places(write_papers: Papers) -> None:
    [item] = papers(["2601.00001"], None, catalog_of(write_papers({}, make_metadata())))
    assert isinstance(item.found, FoundPaper)


# --- arXiv, where the catalogue doesn't know ------------------------------------------------------------------------


class Arxiv:
    """An arXiv that knows these papers, and counts the questions."""

    def __init__(self, *known: PaperMetadata, error: PithError | None = None) -> None:
        self.known = {metadata.arxiv_id: FoundPaper(metadata, Provenance("test")) for metadata in known}
        self.error = error
        self.asked: list[str] = []

    def find(self, asked: ArxivId) -> FoundPaper:
        self.asked.append(str(asked))
        if self.error is not None:
            raise self.error
        if asked.id not in self.known:
            raise NotFound(f"arXiv has no paper {asked}")
        return self.known[asked.id]


def test_arxiv_is_asked_only_for_what_the_catalogue_does_not_have(write_papers: Papers) -> None:
    arxiv = Arxiv(make_metadata(arxiv_id="2601.00002"))
    items = list(papers(["2601.00001", "2601.00002"], None, catalog_of(write_papers(make_metadata())), arxiv))
    assert [isinstance(item.found, FoundPaper) for item in items] == [True, True]
    assert arxiv.asked == ["2601.00002"]
    assert items[1].group == "2601.00002"


def test_arxiv_is_asked_when_the_turn_of_the_paper_comes() -> None:
    arxiv = Arxiv(make_metadata())
    items = papers(["2601.00001", "2601.00002"], None, None, arxiv)
    next(items)
    assert arxiv.asked == ["2601.00001"]


def test_paper_named_several_times_is_asked_for_once() -> None:
    arxiv = Arxiv(make_metadata())
    items = list(papers(["2601.00001", "arXiv:2601.00001", "https://arxiv.org/abs/2601.00001"], None, None, arxiv))
    assert all(isinstance(item.found, FoundPaper) for item in items)
    assert arxiv.asked == ["2601.00001"]


def test_arxiv_is_never_asked_beside_a_metadata_file(write_papers: Papers) -> None:
    arxiv = Arxiv(make_metadata(arxiv_id="2601.00002"))
    [item] = papers(["2601.00002"], file_of(write_papers(make_metadata())), None, arxiv)
    assert isinstance(item.found, NotFound)
    assert arxiv.asked == []


def test_newer_version_than_the_catalogues_is_asked_of_arxiv(write_papers: Papers) -> None:
    arxiv = Arxiv(make_metadata(version=3))
    [item] = papers(["2601.00001v3"], None, catalog_of(write_papers(make_metadata(version=2))), arxiv)
    assert isinstance(item.found, FoundPaper)


def test_older_version_than_the_catalogues_is_not_asked_of_arxiv(write_papers: Papers) -> None:
    arxiv = Arxiv(make_metadata(version=3))
    [item] = papers(["2601.00001v1"], None, catalog_of(write_papers(make_metadata(version=2))), arxiv)
    assert isinstance(item.found, VersionMismatch)
    assert arxiv.asked == []


def test_row_of_the_catalogue_that_can_not_be_read_is_told_and_not_passed_over(write_papers: Papers) -> None:
    arxiv = Arxiv(make_metadata())
    [item] = papers(["2601.00001"], None, catalog_of(write_papers({"arxiv_id": "2601.00001"})), arxiv)
    assert error(item).code == "invalid_metadata"
    assert arxiv.asked == []


@pytest.mark.parametrize("failure", [NotFound("arXiv has no such version"), SourceUnreachable("arXiv is down")])
def test_version_that_neither_has_is_told_of_both(write_papers: Papers, failure: PithError) -> None:
    catalog = catalog_of(write_papers(make_metadata(version=2)))
    [item] = papers(["2601.00001v3"], None, catalog, Arxiv(error=failure))
    assert isinstance(item.found, VersionMismatch)
    assert "describes v2 of 2601.00001, not v3" in item.found.message
    assert item.found.message.endswith(failure.message)


def test_paper_that_neither_has_is_told_of_both(write_papers: Papers) -> None:
    path = write_papers(make_metadata())
    [item] = papers(["2601.00009"], None, catalog_of(path), Arxiv())
    assert isinstance(item.found, NotFound)
    assert f"not in the catalogue ({path}), and arXiv has no paper 2601.00009" in item.found.message


def test_failure_of_arxiv_is_the_items_own() -> None:
    arxiv = Arxiv(error=SourceUnreachable("arXiv is down"))
    items = list(papers(["2601.00001", "x"], None, None, arxiv))
    assert [(item.group, error(item).code) for item in items] == [
        ("2601.00001", "source_unreachable"),
        ("x", "invalid_arxiv_id"),
    ]


# --- a licence given by hand ----------------------------------------------------------------------------------------

CC0 = "http://creativecommons.org/publicdomain/zero/1.0/"


def licensed(known: str | None, given: str) -> FoundPaper | PithError:
    items = papers(["2601.00001"], None, None, Arxiv(make_metadata(license=known)))
    [item] = with_license(items, given)
    return item.found


@pytest.mark.parametrize("given", [CC0, ""])
def test_licence_given_fills_in_where_it_is_unknown_and_the_provenance_says_so(given: str) -> None:
    found = licensed(None, given)
    assert isinstance(found, FoundPaper)
    assert (found.metadata.license, found.provenance.license_given) == (given, True)


@pytest.mark.parametrize("given", [CC0, ""])
def test_licence_that_the_source_knows_too_is_the_sources(given: str) -> None:
    found = licensed(given, given)
    assert isinstance(found, FoundPaper)
    assert found.provenance.license_given is False


@pytest.mark.parametrize(("known", "given"), [(CC0, ""), ("", CC0), (CC0, CC0.replace("http:", "https:"))])
def test_licence_against_the_sources_word_is_refused(known: str, given: str) -> None:
    found = licensed(known, given)
    assert isinstance(found, ConflictingMetadata)
    assert found.field == "license"


def test_failures_pass_by_the_licence() -> None:
    [item] = with_license(papers(["x"], None, None), CC0)
    assert error(item).code == "invalid_arxiv_id"
