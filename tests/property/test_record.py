"""The bytes that are hashed, against an independent RFC 8785 (PROTOCOL §2)."""

from __future__ import annotations

import hashlib

import msgspec
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pith_builder import CanonicalRecord
from pith_builder.record import CanonicalMetadata, CanonicalSource
from pith_builder.testing.strategies import canonical_records

texts = st.text(st.characters(exclude_categories=["Cs"]))
of_any_texts = st.builds(
    CanonicalRecord,
    st.builds(CanonicalSource, texts, st.just("arxiv"), st.integers(0, 2**53 - 1)),
    st.builds(CanonicalMetadata, texts, texts, texts, st.lists(texts), texts, texts),
)


@given(canonical_records() | of_any_texts)
def test_the_canonical_bytes_are_those_of_rfc_8785(record: CanonicalRecord) -> None:
    assert record.to_bytes() == rfc8785.dumps(msgspec.to_builtins(record))


@given(canonical_records())
def test_a_built_record_is_read_as_itself_with_the_same_number(built: CanonicalRecord) -> None:
    read = CanonicalRecord.from_json(built.to_bytes())
    assert read == built
    assert read.digest() == hashlib.sha256(rfc8785.dumps(msgspec.to_builtins(built))).digest()
