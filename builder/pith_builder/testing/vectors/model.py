"""What a vector file is, and how one is written (docs/vectors.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from pith_builder import __version__
from pith_builder.errors import PithError
from pith_builder.testing.vectors.operations import answer

Result = Literal["valid", "invalid", "implementation-defined"]


class VectorTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One test. `expected` is None where the input must be refused; `error` then tells our code, and binds nobody."""

    id: int
    comment: str
    input: dict[str, Any]
    expected: dict[str, Any] | None
    result: Result
    flags: list[str]
    error: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class VectorFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"schema_": "schema"}):
    """All tests of one rule, ids ascending from 1; a test keeps its id for ever."""

    schema_: Literal["pith-vectors/1"]
    generator: str
    rule: str
    section: str
    about: str
    tests: list[VectorTest]


class Case(NamedTuple):
    """A test as it is written down here, without its answer."""

    result: Result
    comment: str
    flags: tuple[str, ...]
    input: dict[str, Any]


def valid(comment: str, /, *flags: str, **values: Any) -> Case:
    """A test that must be answered. Without a mark among its flags the rule is ours."""
    return Case("valid", comment, _marked(flags), values)


def invalid(comment: str, /, *flags: str, **values: Any) -> Case:
    """A test that must be refused."""
    return Case("invalid", comment, _marked(flags), values)


def undecided(comment: str, /, *flags: str, **values: Any) -> Case:
    """A test that may be refused, or else must be answered as we do; where we refuse, any answer will do."""
    return Case("implementation-defined", comment, _marked(flags), values)


_MARKS = frozenset({"Proven", "Seen", "Ours"})


def _marked(flags: tuple[str, ...]) -> tuple[str, ...]:
    return flags if _MARKS.intersection(flags) else ("Ours", *flags)


class NotAsWritten(Exception):
    """A test that is written down as valid and is refused, or the other way round."""


def vector_file(rule: str, section: str, about: str, cases: Iterable[Case]) -> bytes:
    """The file of a rule, with the answers of this implementation. Raises NotAsWritten."""
    tests = [_test(rule, number, case) for number, case in enumerate(cases, 1)]
    file = VectorFile("pith-vectors/1", f"pith-build {__version__}", rule, section, about, tests)
    return json.dumps(msgspec.to_builtins(file), indent=1).encode() + b"\n"


def _test(rule: str, number: int, case: Case) -> VectorTest:
    given = json.loads(json.dumps(case.input))  # as another implementation gets it
    try:
        expected, error = answer(rule, given), None
    except PithError as refusal:
        expected, error = None, refusal
    if (case.result == "valid" and error) or (case.result == "invalid" and not error):
        raise NotAsWritten(f"{rule} {number} ({case.comment}) is not {case.result}: {error or expected}")
    test = VectorTest(number, case.comment, given, expected, case.result, list(case.flags))
    return test if error is None else msgspec.structs.replace(test, error=_told(error))


def _told(error: PithError) -> dict[str, Any]:
    index = getattr(error, "index", None)
    return {"code": error.code} | ({} if index is None else {"index": index})
