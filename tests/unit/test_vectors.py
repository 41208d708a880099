"""Every vector, and what of the expected values can be known from elsewhere (docs/vectors.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pith_builder import KeyRing
from pith_builder.errors import PithError
from pith_builder.testing import make_record
from pith_builder.testing.vectors import RULES
from pith_builder.testing.vectors.model import Case, NotAsWritten, invalid, valid, vector_file
from pith_builder.testing.vectors.operations import answer
from pith_builder.testing.vectors.verification import altered

VECTORS = Path(__file__).parents[2] / "fixtures" / "vectors"


def read(rule: str) -> list[dict[str, Any]]:
    return list(json.loads((VECTORS / f"{rule}.json").read_bytes())["tests"])


ALL = [pytest.param(rule, test, id=f"{rule}-{test['id']}") for rule in RULES for test in read(rule)]


@pytest.mark.parametrize(("rule", "test"), ALL)
def test_every_vector_is_answered_as_it_says(rule: str, test: dict[str, Any]) -> None:
    if test["expected"] is None:
        with pytest.raises(PithError) as caught:
            answer(rule, test["input"])
        assert caught.value.code == test["error"]["code"]
        assert test["result"] != "valid"
    else:
        assert json.dumps(answer(rule, test["input"]), sort_keys=True) == json.dumps(test["expected"], sort_keys=True)
        assert test["result"] != "invalid"


@pytest.mark.parametrize(
    "case", [valid("not so", json="{"), invalid("not so", json="{}")], ids=["refused", "not refused"]
)
def test_a_test_that_the_code_does_not_answer_as_written_is_never_published(case: Case) -> None:
    with pytest.raises(NotAsWritten, match=r"canonical-json 1 .not so. is not (in)?valid"):
        vector_file("canonical-json", "", "", [case])


def test_a_record_that_fails_elsewhere_than_written_is_never_published() -> None:
    no_keys = KeyRing.empty().to_json().decode()
    with pytest.raises(NotAsWritten, match="key_known"):
        altered("a ring without the key", "signature", make_record().to_json().decode(), keyring=no_keys)
