"""Running another implementation over the vectors, and counting what it gets right (docs/vectors.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import msgspec

from pith_builder.errors import cut
from pith_builder.testing.conversation import Conversation, Fault
from pith_builder.testing.vectors.model import VectorFile, VectorTest

Outcome = Literal["passed", "failed", "unsupported"]

#: How much of a value is shown.
_SHOWN = 300


class Failure(msgspec.Struct, frozen=True):
    """A test that did not pass: what was expected and what came, as JSON that is cut, or why nothing came."""

    id: int
    comment: str
    expected: str
    got: str


class RuleReport(msgspec.Struct, frozen=True):
    """How the tests of one rule came out."""

    rule: str
    passed: int
    failed: int
    unsupported: int
    failures: list[Failure]


def check(files: Iterable[VectorFile], command: list[str], timeout: float) -> Iterator[RuleReport]:
    """Ask `command` for every test, and report rule by rule; `timeout` is in seconds, for each answer.

    Raises CommandFailed where the command can't be started at all.
    """
    with Conversation(command, timeout) as conversation:
        for file in files:
            yield _checked(file, conversation.ask)


def _checked(file: VectorFile, ask: Callable[[dict[str, Any]], dict[str, Any]]) -> RuleReport:
    counts: dict[Outcome, int] = {"passed": 0, "failed": 0, "unsupported": 0}
    failures = []
    for test in file.tests:
        try:
            reply = ask({"rule": file.rule, "id": test.id, "input": test.input})
            outcome, got = judged(test, reply), _brief(reply)
        except Fault as fault:
            outcome, got = "failed", str(fault)
        counts[outcome] += 1
        if outcome == "failed":
            failures.append(Failure(test.id, test.comment, _expected(test), got))
    return RuleReport(file.rule, counts["passed"], counts["failed"], counts["unsupported"], failures)


def judged(test: VectorTest, reply: dict[str, Any]) -> Outcome:
    """How a reply of the protocol's form comes out."""
    if "unsupported" in reply:
        return "unsupported"
    refused = "error" in reply
    if test.result == "valid":
        right = not refused and _same(reply["output"], test.expected)
    elif test.result == "invalid":
        right = refused
    else:
        right = refused or test.expected is None or _same(reply["output"], test.expected)
    return "passed" if right else "failed"


def _same(output: Any, expected: Any) -> bool:
    return _written(output) == _written(expected)  # so that 1, 1.0 and true are three things


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _expected(test: VectorTest) -> str:
    return "refused" if test.expected is None else _brief({"output": test.expected})


def _brief(reply: dict[str, Any]) -> str:
    if "error" in reply:
        return cut(f"refused: {reply['error']}", _SHOWN)
    return cut(_written(reply.get("output")), _SHOWN)
