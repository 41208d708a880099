"""Every id of arXiv's two forms comes back from what is written of it (PROTOCOL §2)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pith_builder import ArxivId
from pith_builder.errors import InvalidArxivId
from pith_builder.testing.strategies import arxiv_ids


@given(arxiv_ids())
def test_the_versioned_form_of_an_id_is_read_as_that_id(arxiv_id: ArxivId) -> None:
    assert ArxivId.parse(arxiv_id.versioned) == arxiv_id


@given(arxiv_ids())
def test_the_doi_of_an_id_is_read_as_that_paper(arxiv_id: ArxivId) -> None:
    assert ArxivId.parse(arxiv_id.doi) == ArxivId(arxiv_id.id)


@pytest.mark.parametrize("form", ["arXiv:{}", "https://arxiv.org/abs/{}", "https://export.arxiv.org/pdf/{}.pdf"])
@given(arxiv_id=arxiv_ids())
def test_a_listing_and_a_url_of_an_id_are_read_as_that_id(form: str, arxiv_id: ArxivId) -> None:
    assert ArxivId.parse(form.format(arxiv_id)) == arxiv_id


@given(st.text(max_size=20) | st.text("0123456789.v/arxiv:-[] ", max_size=20))
def test_any_text_is_read_or_refused_and_what_is_read_is_canonical(text: str) -> None:
    with contextlib.suppress(InvalidArxivId):
        found = ArxivId.parse(text)
        assert ArxivId.parse(found.versioned) == found
