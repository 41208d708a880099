"""Errors keep what they say on their way from one process to another."""

from __future__ import annotations

import pickle

import pytest

from pith_builder.errors import Ambiguous, FileFailed, InvalidMetadata, KeyLocked, PithError, VersionMismatch


@pytest.mark.parametrize(
    "error",
    [
        KeyLocked("no passphrase", hint="set one"),
        FileFailed("can't read the file").at(file="a.jsonl", line=7),
        InvalidMetadata([("title", "is empty"), ("version", "is missing")], hint="look at it"),
        VersionMismatch("that is not v3", 2),
        Ambiguous("two of them", ["pith:A", "pith:B"]),
    ],
    ids=lambda error: error.code,
)
def test_an_error_comes_out_of_another_process_as_it_was(error: PithError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))
    assert again.to_dict() == error.to_dict()
