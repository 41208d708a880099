"""A record under verification, and what a check is made of. The checks themselves are in `checks.py`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec

from pith_builder import times
from pith_builder.errors import InvalidInput, cut
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.metadata import PaperMetadata
from pith_builder.number import PithNumber
from pith_builder.published import PithRecord

Status = Literal["passed", "failed", "not_checked"]


class Check(msgspec.Struct, frozen=True):
    """The outcome of one check; `reason` is empty where it passed."""

    name: str
    status: Status
    reason: str = ""


class Case:
    """One record under verification, with what several checks need."""

    def __init__(
        self, record: PithRecord, keyring: KeyRing, metadata: PaperMetadata | None, at: datetime | None
    ) -> None:
        self.record = record
        self.keyring = keyring
        self.metadata = metadata
        self.at = at
        self.digest = record.canonical_record.digest()
        self.key: RingKey | None = keyring.find(record.receipt.key_id, record.receipt.public_key_fingerprint)

    @cached_property
    def signed_at(self) -> datetime:
        return parsed_time("receipt.signed_at", self.record.receipt.signed_at, times.parse_receipt_time)

    @cached_property
    def number(self) -> PithNumber:
        """The number that the canonical record has."""
        return PithNumber.from_digest(self.digest, self.record.canonical_record.year)


class Failed(Exception):
    pass


class NotChecked(Exception):
    pass


class NamedCheck(NamedTuple):
    """A check in the report's order; `passed` is its outcome where all is well.

    `without_metadata` is the outcome of one that needs metadata where none are given.
    """

    name: str
    function: Callable[[Case], None]
    passed: Check
    without_metadata: Check | None = None


CHECKS: list[NamedCheck] = []


def check(function: Callable[[Case], None]) -> Callable[[Case], None]:
    CHECKS.append(NamedCheck(function.__name__, function, Check(function.__name__, "passed")))
    return function


def check_with_metadata(function: Callable[[Case, PaperMetadata], None]) -> None:
    """A check that compares the record with the paper's metadata, where they are given."""
    name = function.__name__

    def with_metadata(case: Case) -> None:
        if case.metadata is not None:
            function(case, case.metadata)

    without = Check(name, "not_checked", "no metadata of this paper were given")
    CHECKS.append(NamedCheck(name, with_metadata, Check(name, "passed"), without))


def run(check_: NamedCheck, case: Case) -> Check:
    if case.metadata is None and check_.without_metadata is not None:
        return check_.without_metadata
    try:
        check_.function(case)
    except Failed as failed:
        return Check(check_.name, "failed", str(failed))
    except NotChecked as not_checked:
        return Check(check_.name, "not_checked", str(not_checked))
    except InvalidInput as error:  # a part of the record that can't be hashed or counted
        return Check(check_.name, "failed", str(error))
    return check_.passed


def expect(what: str, found: object, expected: object) -> None:
    """Fail unless two values are equal, naming the first field that differs."""
    if found == expected:
        return
    if isinstance(found, msgspec.Struct) and isinstance(expected, msgspec.Struct):
        for name in expected.__struct_fields__:
            expect(f"{what}.{name}", getattr(found, name), getattr(expected, name))
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for i, (item, other) in enumerate(zip(found, expected, strict=True)):
            expect(f"{what}[{i}]", item, other)
    raise Failed(f"{what} is {brief(found)}, expected {brief(expected)}")


def brief(value: object) -> str:
    return cut(msgspec.json.encode(value).decode(), 80)


def parsed_time(name: str, value: str, parse: Callable[[str], datetime | None]) -> datetime:
    if (time := parse(value)) is None:
        raise Failed(f"{name} is {brief(value)}, no UTC time with six digits in the form of its place")
    return time
