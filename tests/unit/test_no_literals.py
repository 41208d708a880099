"""Tests make their documents with the factories, so that a change of the record's shape is written down once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Keys that together are those of a document, each with what makes one.
SHAPES = {
    "make_record": {"canonical_sha256", "pith_number"},
    "make_metadata": {"arxiv_id", "title", "abstract", "authors"},
    "make_record().receipt": {"key_id", "signed_at", "signature_b64"},
    "canonical_record": {"metadata", "schema_version", "source"},
    "make_keyring": {"key_id", "public_key_b64", "state"},
    "make_keyring, once more": {"keyring_version", "keys"},
    "make_rotation or make_revocation": {"body", "signatures"},
}


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Line and factory of each dict that has the keys of a document; what an assertion compares with is its point."""
    tree = ast.parse(source)
    asserted = {id(node) for claim in ast.walk(tree) if isinstance(claim, ast.Assert) for node in ast.walk(claim)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and id(node) not in asserted:
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            yield from ((node.lineno, factory) for factory, shape in SHAPES.items() if shape <= keys)


def test_no_test_writes_a_document_by_hand(root: Path) -> None:
    files = sorted((root / "tests").rglob("*.py"))
    found = [(str(path.relative_to(root)), *literal) for path in files for literal in literals(path.read_text())]
    assert found == [], "use the factory"


@pytest.mark.parametrize(
    "source", ['x = {"body": 1, "signatures": []}', 'f([{"canonical_sha256": "", "pith_number": ""}])']
)
def test_a_document_by_hand_is_found(source: str) -> None:
    assert list(literals(source)) != []


@pytest.mark.parametrize("source", ['assert x == {"body": 1, "signatures": []}', 'x = {"canonical_sha256": ""}'])
def test_what_is_compared_and_what_is_no_document_is_let_be(source: str) -> None:
    assert list(literals(source)) == []
