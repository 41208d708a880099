"""What people call a paper or a record."""

from __future__ import annotations

import pytest

from pith_builder import ArxivId, PithNumber
from pith_builder.alias import InvalidAlias, parse_alias

SUFFIX = "BMWHAH2DRYP4HKSVZEJ4AAHEZE"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2403.07648v2", ArxivId("2403.07648", 2)),
        ("math.GT/0309136", ArxivId("math/0309136")),
        ("https://doi.org/10.48550/arXiv.2403.07648", ArxivId("2403.07648")),
        ("https://arxiv.org/abs/2403.07648", ArxivId("2403.07648")),
        (f"pith:2024:{SUFFIX}", PithNumber(SUFFIX, 2024)),
        ("pith:BMWHAH2D", PithNumber("BMWHAH2D")),
        (SUFFIX, PithNumber(SUFFIX)),
        (f"https://pith.science/pith/{SUFFIX}.json", PithNumber(SUFFIX)),
        ("1CP-707-T3H-RFW-7AJ-NS4-9W0-074-S4N", PithNumber(SUFFIX)),
    ],
)
def test_an_alias_means_a_paper_or_a_number(text: str, meant: ArxivId | PithNumber) -> None:
    assert parse_alias(text) == meant


@pytest.mark.parametrize("text", ["", "nothing", "2413.00001", "1CP-707-T3H-RFW-7AJ-NS4-9W0-074-S4M", "pith:\u0415"])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(InvalidAlias):
        parse_alias(text)


def test_a_refused_alias_says_why_it_is_no_id() -> None:
    with pytest.raises(InvalidAlias, match="no month 13"):
        parse_alias("2413.00001")


def test_long_link_takes_no_longer_than_its_length() -> None:
    """A pattern that goes back would take longer than the test does."""
    link = "https://pith.science/resolve?" + "&arxiv=a" * 100_000
    with pytest.raises(InvalidAlias):
        parse_alias(link)
    assert parse_alias("https://pith.science/api/pith-number/resolve?json=true&arxiv=hep-th/9901001") == ArxivId(
        "hep-th/9901001"
    )
