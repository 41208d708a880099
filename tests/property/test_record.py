"""The bytes that are hashed, against an independent RFC 8785 (PROTOCOL §2)."""

from __future__ import annotations

import hashlib

import msgspec
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pith_builder import CanonicalRecord, canonical_record
from pith_builder.record import CanonicalMetadata, CanonicalSource
from pith_builder.testing import make_metadata

texts = st.text(st.characters(exclude_categories=["Cs"]))
records = st.builds(
    CanonicalRecord,
    st.builds(CanonicalSource, texts, st.just("arxiv"), st.integers(0, 2**53 - 1)),
    st.builds(CanonicalMetadata, texts, texts, texts, st.lists(texts), texts, texts),
)
titles = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(str.strip)


@given(records)
def test_the_canonical_bytes_are_those_of_rfc_8785(record: CanonicalRecord) -> None:
    assert record.to_bytes() == rfc8785.dumps(msgspec.to_builtins(record))


@given(titles, titles)
def test_a_built_record_is_read_as_itself_with_the_same_number(title: str, abstract: str) -> None:
    built = canonical_record(make_metadata(title=title, abstract=abstract))
    read = CanonicalRecord.from_json(built.to_bytes())
    assert read == built
    assert read.digest() == hashlib.sha256(rfc8785.dumps(msgspec.to_builtins(built))).digest()
