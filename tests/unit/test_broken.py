"""For every check and every code there is a broken document, and each fails just where it says."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import pith_builder
from pith_builder.checks import CHECKS
from pith_builder.errors import PithError
from pith_builder.testing.broken import NO_DOCUMENT, Broken, broken
from pith_builder.testing.operations import OPERATIONS

CASES = dict(broken(0))
CHECK_NAMES = [check.name for check in CHECKS]


def codes() -> set[str]:
    """The codes of all errors that the package has."""
    for module in pkgutil.walk_packages(pith_builder.__path__, "pith_builder."):
        if ".migrations" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def below(error: type[PithError]) -> Iterator[type[PithError]]:
        yield error
        for child in error.__subclasses__():
            yield from below(child)

    return {error.code for error in below(PithError) if error.__module__.startswith("pith_builder.")}


def test_every_check_has_a_broken_record() -> None:
    assert set(CHECK_NAMES) <= {case.breaks for case in CASES.values()}


def test_every_code_has_a_broken_document_or_a_reason_why_not() -> None:
    broken_codes = {case.breaks for case in CASES.values()} - set(CHECK_NAMES)
    assert broken_codes | NO_DOCUMENT.keys() == codes()
    assert not broken_codes & NO_DOCUMENT.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_broken_document_fails_just_there(name: str) -> None:
    case = CASES[name]
    outcome = case.outcome()
    if case.breaks in CHECK_NAMES:
        statuses = {check["name"]: check["status"] for check in outcome["report"]["checks"]}
        assert [check for check, status in statuses.items() if status == "failed"] == [case.breaks]
    else:
        assert outcome["error"]["code"] == case.breaks
        assert outcome["error"]["message"]


@pytest.mark.parametrize("name", CASES)
def test_the_document_beside_its_expected_report_is_the_committed_one(name: str, root: Path) -> None:
    expected = json.loads((root / "fixtures" / "broken" / f"{name}.report.json").read_bytes())
    document = (root / "fixtures" / expected["document"]).read_bytes()
    given = expected["metadata"] and (root / "fixtures" / expected["metadata"]).read_bytes()
    case = Broken(
        expected["breaks"], expected["about"], expected["operation"], document, given, expected["at"], expected["asked"]
    )
    outcome = case.outcome()
    assert outcome == {part: expected[part] for part in outcome}


def test_no_two_broken_documents_are_the_same() -> None:
    situations = [(case.operation, case.document, case.metadata, case.at, case.asked) for case in CASES.values()]
    assert len(set(situations)) == len(situations)


def test_every_operation_is_used() -> None:
    assert {case.operation for case in CASES.values()} == set(OPERATIONS)


def test_broken_documents_of_another_seed_fail_there_too() -> None:
    for case in dict(broken(8)).values():
        outcome = case.outcome(8)
        failed = [check["name"] for check in outcome.get("report", {}).get("checks", ()) if check["status"] == "failed"]
        assert [case.breaks] == (failed or [outcome["error"]["code"]]), case.about
