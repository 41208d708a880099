"""Our own implementation behind the protocol of the vectors: a line with a question in, a line with its answer out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from pith_builder.errors import PithError, cleaned
from pith_builder.testing.vectors.operations import RULES, answer


def serve(questions: Iterable[bytes]) -> Iterator[bytes]:
    """For each line the line that answers it (docs/vectors.md). What is no question gets an error without an id."""
    for line in questions:
        yield json.dumps(_answered(line)).encode() + b"\n"


def _answered(line: bytes) -> dict[str, Any]:
    try:
        question = json.loads(line)
        number, rule, given = question["id"], question["rule"], question["input"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return {"id": None, "error": "this is no question: an object with rule, id and input is needed"}
    if rule not in RULES:
        return {"id": number, "unsupported": True}
    try:
        return {"id": number, "output": answer(rule, given)}
    except PithError as error:
        return {"id": number, "error": cleaned(f"{error.code}: {error}")}
    except (KeyError, TypeError, AttributeError, ValueError) as error:  # no input that the rule has
        return {"id": number, "error": cleaned(f"not an input of {rule}: {error!r}")}
