"""Every id of arXiv's two forms comes back from what is written of it (PROTOCOL §2)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pith_builder import ArxivId
from pith_builder.arxiv_id import ARCHIVES
from pith_builder.errors import InvalidArxivId

versions = st.none() | st.integers(1, 9999)
four_digits = st.builds("{:02}{:02}.{:04}".format, st.integers(8, 14), st.integers(1, 12), st.integers(1, 9999))
five_digits = st.builds("{:02}{:02}.{:05}".format, st.integers(15, 90), st.integers(1, 12), st.integers(1, 99999))
old = st.builds(
    "{}/{:02}{:02}{:03}".format,
    st.sampled_from(sorted(ARCHIVES)),
    st.sampled_from([*range(91, 100), *range(7)]),
    st.integers(1, 12),
    st.integers(1, 999),
)
ids = st.builds(ArxivId, four_digits | five_digits | old, versions)


@given(ids)
def test_the_versioned_form_of_an_id_is_read_as_that_id(arxiv_id: ArxivId) -> None:
    assert ArxivId.parse(arxiv_id.versioned) == arxiv_id


@given(ids)
def test_the_doi_of_an_id_is_read_as_that_paper(arxiv_id: ArxivId) -> None:
    assert ArxivId.parse(arxiv_id.doi) == ArxivId(arxiv_id.id)


@pytest.mark.parametrize("form", ["arXiv:{}", "https://arxiv.org/abs/{}", "https://export.arxiv.org/pdf/{}.pdf"])
@given(arxiv_id=ids)
def test_a_listing_and_a_url_of_an_id_are_read_as_that_id(form: str, arxiv_id: ArxivId) -> None:
    assert ArxivId.parse(form.format(arxiv_id)) == arxiv_id


@given(st.text(max_size=20) | st.text("0123456789.v/arxiv:-[] ", max_size=20))
def test_any_text_is_read_or_refused_and_what_is_read_is_canonical(text: str) -> None:
    with contextlib.suppress(InvalidArxivId):
        found = ArxivId.parse(text)
        assert ArxivId.parse(found.versioned) == found
