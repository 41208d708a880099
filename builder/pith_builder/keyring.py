"""The key ring: public keys, their states and when they hold (DESIGN "keyring.json"). No I/O, no clock."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from functools import lru_cache
from importlib import resources
from typing import ClassVar, Literal, Self

import msgspec
import nacl.bindings

from pith_builder import times
from pith_builder.documents import Document
from pith_builder.errors import InvalidInput, InvalidKeyRing, shown
from pith_builder.signing import PUBLIC_KEY_BYTES, decode_base64, encode_base64, fingerprint
from pith_builder.statements import Reason, Statement

#: Statements of a ring, at most: many times what decades of rotations need.
MAX_STATEMENTS = 1000

_KEY_ID = re.compile(r"(?!\.)[!-.0-~]{1,128}", re.ASCII)

State = Literal["next", "active", "retired", "revoked"]
Use = Literal["receipts", "recovery", "verify"]


class Revocation(msgspec.Struct, frozen=True):
    """Since when a key is revoked (`YYYY-MM-DDTHH:MM:SSZ`), and why."""

    since: str
    reason: Reason


class RingKey(msgspec.Struct, frozen=True):
    """One public key. `use` is `verify` for other people's keys; `not_after` is excluded from its time."""

    key_id: str
    algorithm: Literal["ed25519"]
    public_key_b64: str
    fingerprint: str
    state: State
    use: Use
    not_before: str | None = None
    not_after: str | None = None
    revoked: Revocation | None = None

    @classmethod
    def of(cls, key_id: str, public_key: bytes, state: State, use: Use, not_before: datetime | None = None) -> Self:
        """The entry of a raw public key (32 bytes)."""
        return cls(
            key_id,
            "ed25519",
            encode_base64(public_key),
            fingerprint(public_key),
            state,
            use,
            None if not_before is None else times.seconds(not_before),
        )

    @property
    def public_key(self) -> bytes:
        """The raw public key, 32 bytes; a ring has checked that it is there."""
        return decode_base64(self.public_key_b64, PUBLIC_KEY_BYTES) or b""

    def objection(self, signed_at: datetime, at: datetime | None = None) -> str | None:
        """Why a receipt that says it was signed at `signed_at` is not valid under this key; None if it is.

        `at` asks what held then: a revocation that began later is not looked at.
        """
        if self.use == "recovery":
            return f"{self.key_id} is a recovery key, which signs no receipts"
        if self.state == "next":
            return f"{self.key_id} is not active yet"
        if self.not_before is not None and signed_at < _time(self.not_before):
            return f"signed_at is before {self.key_id} became valid ({self.not_before})"
        if self.not_after is not None and signed_at >= _time(self.not_after):
            return f"signed_at is not before the end of {self.key_id} ({self.not_after})"
        if self.revoked is not None and (at is None or at >= _time(self.revoked.since)):
            since, reason = self.revoked.since, self.revoked.reason
            if reason == "compromised":
                return (
                    f"{self.key_id} is compromised since {since}; signed_at is not signed, so no receipt of it counts"
                )
            if signed_at >= _time(since):
                return f"signed_at is not before {self.key_id} was revoked as {reason} ({since})"
        return None

    def problem(self) -> str | None:
        """What is wrong with the entry in itself; None if nothing is."""
        return _problem(self)

    def _find_problem(self) -> str | None:
        public_key = decode_base64(self.public_key_b64, PUBLIC_KEY_BYTES)
        if not _KEY_ID.fullmatch(self.key_id):
            why = "is empty" if not self.key_id else "has a space, a slash, a first dot, or what is no printable ASCII"
            return f"key_id {why}"
        if public_key is None:
            return "public_key_b64 is not the canonical base64 of 32 bytes"
        if not nacl.bindings.crypto_core_ed25519_is_valid_point(public_key):
            return "public_key_b64 is no Ed25519 public key: not a point of the main subgroup"
        if fingerprint(public_key) != self.fingerprint:
            return "fingerprint is not that of public_key_b64"
        for text in (self.not_before, self.not_after, self.revoked.since if self.revoked else None):
            if text is not None and times.parse_seconds(text) is None:
                return f"{shown(text)} is no time of the form 2024-03-12T13:31:14Z"
        if (self.state == "revoked") != (self.revoked is not None):
            return "state and revoked don't agree"
        return None


@lru_cache(maxsize=4096)
def _problem(key: RingKey) -> str | None:
    return key._find_problem()  # remembered, since a ring is checked anew after each move


class KeyRing(Document, frozen=True):
    """Public keys with their states. Raises InvalidKeyRing with the key at fault.

    At most one key of use `receipts` is active; no id and no fingerprint stands twice.
    """

    error: ClassVar[type[InvalidInput]] = InvalidKeyRing

    keyring_version: Literal["1.0"]
    keys: list[RingKey]
    statements: list[Statement]

    def __post_init__(self) -> None:
        for key in self.keys:
            if problem := key.problem():
                raise InvalidKeyRing(problem, field=f"key {shown(key.key_id)}")
        for what, values in (
            ("key_id", [key.key_id for key in self.keys]),
            ("fingerprint", [key.fingerprint for key in self.keys]),
        ):
            if twice := [value for value, count in Counter(values).items() if count > 1]:
                raise InvalidKeyRing(f"{what} {shown(min(twice))} stands twice", field="keys")
        if len(self.statements) > MAX_STATEMENTS:
            raise InvalidKeyRing(f"more than {MAX_STATEMENTS} statements", field="statements")
        active = [key.key_id for key in self.keys if key.use == "receipts" and key.state == "active"]
        if len(active) > 1:
            raise InvalidKeyRing(f"several keys are active: {', '.join(active)}", field="keys")

    @classmethod
    def empty(cls) -> Self:
        return cls("1.0", [], [])

    @classmethod
    def registry(cls) -> Self:
        """The ring that comes with the package: the public registry's key, for verifying (PROTOCOL §6)."""
        return cls.from_json(resources.files("pith_builder").joinpath("data/registry-keyring.json").read_bytes())

    def find(self, key_id: str, key_fingerprint: str) -> RingKey | None:
        """The key with this id *and* this fingerprint; one alone is not enough to know a key."""
        return next((k for k in self.keys if k.key_id == key_id and k.fingerprint == key_fingerprint), None)

    def by_public_key(self, public_key: bytes) -> RingKey | None:
        """The key with this raw public key (32 bytes)."""
        wanted = fingerprint(public_key)
        return next((k for k in self.keys if k.fingerprint == wanted), None)

    def active(self) -> RingKey | None:
        """The key that signs receipts now."""
        return next((k for k in self.keys if k.use == "receipts" and k.state == "active"), None)

    def by_id(self, key_id: str) -> RingKey | None:
        """The key with this id; enough to name a key, not to know one."""
        return next((k for k in self.keys if k.key_id == key_id), None)

    def with_key(self, key: RingKey) -> Self:
        """The ring with one more key, or with this entry in the place of the key's earlier one."""
        others = [k for k in self.keys if k.fingerprint != key.fingerprint]
        at = next((i for i, k in enumerate(self.keys) if k.fingerprint == key.fingerprint), len(others))
        return self.replace(keys=[*others[:at], key, *others[at:]])

    def trusting(self, other: KeyRing) -> Self:
        """This ring and the keys of `other` that it doesn't list, for verifying; what this ring says goes first."""
        known = {key.fingerprint for key in self.keys} | {key.key_id for key in self.keys}
        return self.replace(
            keys=self.keys + [k for k in other.keys if k.fingerprint not in known and k.key_id not in known]
        )


def _time(text: str) -> datetime:
    time = times.parse_seconds(text)
    if time is None:
        raise InvalidKeyRing(f"{shown(text)} is no time")  # a ring has checked its times
    return time
