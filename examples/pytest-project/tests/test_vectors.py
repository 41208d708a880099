"""What the project computes itself, tested with the conformance vectors."""

from __future__ import annotations

from typing import Any

from paper_shelf import number_of


def test_numbers_are_those_of_the_vectors(pith_vectors: dict[str, Any]) -> None:
    tests = [
        test
        for test in pith_vectors["number"]["tests"]
        if test["result"] == "valid" and test["input"].keys() == {"sha256", "year"}
    ]
    assert tests
    for test in tests:
        digest, year = bytes.fromhex(test["input"]["sha256"]), test["input"]["year"]
        assert number_of(digest, year) == test["expected"]["number"], test["comment"]
