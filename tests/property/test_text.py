"""The text rules over all texts (PROTOCOL §1, §4)."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pith_builder import unicode14
from pith_builder.testing.strategies import abstracts, author_lists, texts
from pith_builder.text import EXCERPT_LENGTH, authors_text, canonical_text, excerpt, unwrap
from pith_builder.unicode14 import lower

WRAP = re.compile(r"(\n {2,})|[ \t]*\n(?! {2})[ \t]*")  # PROTOCOL §4

every_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ascii_texts = st.text(st.characters(min_codepoint=1, max_codepoint=127))
wrapped = st.text("ab \n\t\r\v\u00a0", max_size=40)
names = st.text("aBz .'-\u00e9\u0301\u03a3(", min_size=1, max_size=6)


def unwrapped_by_pattern(abstract: str) -> str:
    text = abstract.replace("\r\n", "\n").replace("\r", "\n").strip()
    return WRAP.sub(lambda match: match[1] or " ", text)


@given(ascii_texts)
def test_the_short_way_of_ascii_text_is_the_general_way(text: str) -> None:
    assert canonical_text(text) == " ".join(lower(text).split())


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="this interpreter has another Unicode")
@given(every_text | texts())
def test_canonical_text_is_what_python_3_11_does(text: str) -> None:
    assert canonical_text(text) == " ".join(text.lower().split())


@given(st.text("aA1.'\u0301\u00ad\u0391\u03a3\u0378\U0001171e", max_size=12))
def test_canonical_text_around_a_sigma_is_idempotent(text: str) -> None:
    assert canonical_text(canonical_text(text)) == canonical_text(text)


@given(every_text | texts())
def test_canonical_text_has_no_blanks_but_single_spaces_inside(text: str) -> None:
    assert canonical_text(text).split(" ") == (canonical_text(text).split() or [""])


@given(wrapped | abstracts())
def test_unwrap_is_the_pattern_of_the_protocol(abstract: str) -> None:
    assert unwrap(abstract) == unwrapped_by_pattern(abstract)


@given(wrapped | abstracts())
def test_unwrap_is_idempotent(abstract: str) -> None:
    assert unwrap(unwrap(abstract)) == unwrap(abstract)


@given(abstracts())
def test_excerpt_is_what_the_pattern_of_the_protocol_leaves(abstract: str) -> None:
    assert excerpt(abstract) == unwrapped_by_pattern(abstract)[:EXCERPT_LENGTH]


@given(st.integers(590, 603), wrapped)
def test_excerpt_is_the_start_of_the_unwrapped_abstract(filler: int, rest: str) -> None:
    abstract = "x" * filler + rest + "end"
    assert excerpt(abstract) == unwrapped_by_pattern(abstract)[:EXCERPT_LENGTH]


@given(st.integers(594, 600), st.integers(0, 9), st.sampled_from(["\n", "\r\n", "\n  ", "\t\n"]))
def test_excerpt_unwraps_blanks_that_reach_over_the_cut(filler: int, blanks: int, wrap: str) -> None:
    abstract = "x" * filler + " " * blanks + wrap + "end"
    assert excerpt(abstract) == unwrapped_by_pattern(abstract)[:EXCERPT_LENGTH]


@given(st.lists(names).map(", ".join) | author_lists())
def test_authors_text_is_a_fixed_point_of_the_author_rule(raw: str) -> None:
    published = authors_text(raw)
    assert authors_text(published) == published


@given(st.lists(names, unique=True).flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_the_order_in_which_authors_stand_does_not_matter(orders: tuple[list[str], list[str]]) -> None:
    one, other = orders
    assert authors_text(", ".join(one)) == authors_text(" and ".join(other).replace(" and ", " , "))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cn"]), max_size=40))
def test_marks_never_count_in_the_order_of_authors(text: str) -> None:
    """Taking them out first, which is quick, gives what the definition gives (PROTOCOL §4)."""
    decomposed = unicodedata.normalize("NFKD", unicode14._UNASSIGNED.sub("", text))
    kept = (c for c in decomposed if unicodedata.category(c)[0] in "LN")
    assert unicode14.letters_and_digits(text) == unicode14.lower("".join(kept))


def test_author_of_nothing_but_marks_takes_no_longer_than_its_length() -> None:
    """Putting a million marks in order would take longer than the test does."""
    assert authors_text("a" + "\u0301\u0316" * 500_000 + ", b").startswith("a")
