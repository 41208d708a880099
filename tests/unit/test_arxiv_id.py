"""What people paste as an arXiv id, and what is refused (PROTOCOL §2)."""

from __future__ import annotations

import pytest

from pith_builder import ArxivId
from pith_builder.errors import InvalidArxivId


@pytest.mark.parametrize(
    ("pasted", "id_", "version"),
    [
        ("2403.07648", "2403.07648", None),
        ("2403.07648v2", "2403.07648", 2),
        ("2403.07648v9999", "2403.07648", 9999),
        (" 2403.07648\n", "2403.07648", None),
        ("arXiv:2403.07648", "2403.07648", None),
        ("arxiv: 2403.07648v2", "2403.07648", 2),
        ("arXiv:2403.07648v2 [cs.DC]", "2403.07648", 2),
        ("arXiv:2403.07648v2 [cs.DC] 12 Mar 2024", "2403.07648", 2),
        ("arXiv:2403.07648v2  [cs.DC]  3 Mar 2024", "2403.07648", 2),
        ("2403.07648 [astro-ph.CO]", "2403.07648", None),
        ("https://arxiv.org/abs/2403.07648v2", "2403.07648", 2),
        ("http://arxiv.org/abs/2403.07648", "2403.07648", None),
        ("https://www.arxiv.org/abs/2403.07648", "2403.07648", None),
        ("arxiv.org/abs/2403.07648", "2403.07648", None),
        ("https://arxiv.org/pdf/2403.07648v2", "2403.07648", 2),
        ("https://arxiv.org/pdf/2403.07648v2.pdf", "2403.07648", 2),
        ("https://arxiv.org/pdf/2403.07648v2.pdf#page=3", "2403.07648", 2),
        ("https://arxiv.org/html/2403.07648v2", "2403.07648", 2),
        ("https://arxiv.org/html/2403.07648v2/", "2403.07648", 2),
        ("https://arxiv.org/abs/2403.07648?context=cs.LG", "2403.07648", None),
        ("https://export.arxiv.org/abs/2403.07648v1", "2403.07648", 1),
        ("http://export.arxiv.org/pdf/hep-th/9901001v3", "hep-th/9901001", 3),
        ("https://arxiv.org/abs/math.GT/0309136", "math/0309136", None),
        ("10.48550/arXiv.2403.07648", "2403.07648", None),
        ("10.48550/arxiv.2403.07648", "2403.07648", None),
        ("doi:10.48550/arXiv.2403.07648", "2403.07648", None),
        ("https://doi.org/10.48550/arXiv.2403.07648", "2403.07648", None),
        ("http://dx.doi.org/10.48550/arXiv.hep-th/9901001", "hep-th/9901001", None),
        ("math.GT/0309136", "math/0309136", None),
        ("math/0309136v1", "math/0309136", 1),
        ("arXiv:math.GT/0309136v2 [math.GT]", "math/0309136", 2),
        ("hep-th/9901001v3", "hep-th/9901001", 3),
        ("HEP-TH/9901001", "hep-th/9901001", None),
        ("cond-mat.stat-mech/0309136", "cond-mat/0309136", None),
        ("0704.0001", "0704.0001", None),
        ("1412.8764", "1412.8764", None),
        ("1501.00001", "1501.00001", None),
        ("hep-th/9108001", "hep-th/9108001", None),
        ("math/0703999", "math/0703999", None),
    ],
)
def test_what_people_paste_is_read(pasted: str, id_: str, version: int | None) -> None:
    assert ArxivId.parse(pasted) == ArxivId(id_, version)


@pytest.mark.parametrize(
    ("pasted", "reason"),
    [
        ("", "not of the form"),
        (" ", "not of the form"),
        ("a paper", "not of the form"),
        ("2403", "not of the form"),
        ("arXiv:", "not of the form"),
        ("2413.00001", "no month 13"),
        ("2400.00001", "no month 00"),
        ("hep-th/9913001", "no month 13"),
        ("hep-th/9900001", "no month 00"),
        ("2403.076", "not of the form"),
        ("2403.076481", "stands after the id"),
        ("1412.00001", "4 digits"),
        ("1501.0001", "5 digits"),
        ("0704.00001", "4 digits"),
        ("2403.00000", "start at 1"),
        ("0703.0001", "0704"),
        ("0001.0001", "0704"),
        ("math/0704001", "0703"),
        ("hep-th/9901", "not of the form"),
        ("hep-th/99010010", "stands after the id"),
        ("nosuch/9901001", "no archive nosuch"),
        ("stat/9901001", "no archive stat"),
        ("2403.07648v0", "'v0' stands after the id"),
        ("2403.07648v", "'v' stands after the id"),
        ("2403.07648v01", "stands after the id"),
        ("2403.07648v-1", "stands after the id"),
        ("2403.07648v10000", "stands after the id"),
        ("2403.07648v2 and more", "' and more' stands after the id"),
        ("2403.07648v2.pdf", "stands after the id"),
        ("2403.07648,2403.07649", "stands after the id"),
        ("2403.07648\n2403.07649", "stands after the id"),
        ("https://arxiv.org/abs/2403.07648v2x", "stands after the id"),
        ("https://arxiv.org/abs/2403.07648/extra", "stands after the id"),
        ("https://arxiv.org/list/cs.DC/2403", "not of the form"),
        ("https://example.org/abs/2403.07648", "not of the form"),
        ("https://arxiv.org.example.org/abs/2403.07648", "not of the form"),
        ("x2403.07648", "not of the form"),
        ("10.1000/arXiv.2403.07648", "not of the form"),
        ("２４０３.07648", "not of the form"),
        ("2403.0764\u0668", "no arXiv id"),
        ("\u0662403.07648", "not of the form"),
        ("2403.07648v\u0662", "stands after the id"),
        ("hep\u2010th/9901001", "not of the form"),
        ("phy\u017fics/9901001", "not of the form"),
        ("2403.07648 [cs.DC] 12 Mar 2024 and more", "stands after the id"),
    ],
    ids=ascii,
)
def test_what_is_no_id_is_refused_with_the_reason(pasted: str, reason: str) -> None:
    with pytest.raises(InvalidArxivId) as caught:
        ArxivId.parse(pasted)
    assert reason in caught.value.message
    assert caught.value.hint


def test_a_flood_of_text_is_cut_in_the_message() -> None:
    with pytest.raises(InvalidArxivId) as caught:
        ArxivId.parse("x" * 1_000_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("arxiv_id", "versioned", "doi"),
    [
        (ArxivId("2403.07648", 2), "2403.07648v2", "10.48550/arxiv.2403.07648"),
        (ArxivId("hep-th/9901001"), "hep-th/9901001", "10.48550/arxiv.hep-th/9901001"),
    ],
)
def test_an_id_prints_its_version_and_its_doi_none(arxiv_id: ArxivId, versioned: str, doi: str) -> None:
    assert (str(arxiv_id), arxiv_id.versioned, arxiv_id.doi) == (versioned, versioned, doi)
