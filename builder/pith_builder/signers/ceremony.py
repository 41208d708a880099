"""The ceremonies of a key ring: read the ring, ask the signers, put the changed ring in the place of the old.

The moves themselves are the pure functions of `rotation.py`. Nothing is held locked while a signer is asked; whoever
comes second to a ring that has changed meanwhile is told so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from pith_builder import files, public_keys, times
from pith_builder.documents import loads, typed
from pith_builder.errors import InvalidInput, InvalidSetting, KeyMissing, KeyUnfit, shown
from pith_builder.keyring import KeyRing, RingKey, State, Use
from pith_builder.rotation import IllegalMove, move, rotation_body
from pith_builder.signers import GENERATE, key_file, ring_file
from pith_builder.signers.inspection import chain_faults
from pith_builder.signing import SeedSigner, Signer
from pith_builder.statements import Reason, RevocationBody, RotationBody, Statement
from pith_builder.times import Clock

_KEY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,126}", re.ASCII)
_LONGEST_WAIT = timedelta(minutes=1)

_ISSUER = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}", re.ASCII)


class Ceremony:
    """A key ring's file, the home folder of the private keys, and a clock."""

    def __init__(self, ring_path: Path, home: Path, clock: Clock) -> None:
        self.ring_path, self.home, self.clock = ring_path, home, clock
        self.seen = ring_file.load(ring_path)

    def generate(
        self,
        *,
        issuer: str,
        passphrase: bytes | None,
        level: str,
        recovery: bool = False,
        state: State | None = None,
    ) -> RingKey:
        """Make a key: active where the ring has no active one, else `next` (or in `state`); or a recovery key.

        The private half is on the disk before the ring names the key; without a passphrase it stays unencrypted.
        Raises InvalidSetting for an issuer's name that can't be one.
        """
        if not _ISSUER.fullmatch(issuer):
            raise InvalidSetting(
                f"{shown(issuer)} can't be an issuer's name",
                field="issuer",
                hint="letters, digits, dots and hyphens, at most 63",
            )
        files.make_folder(ring_file.private_folder(self.home))
        made: list[RingKey] = []

        def step(ring: KeyRing) -> KeyRing:
            now = self.clock()
            key_id = self._new_id(ring, f"{issuer}-recovery" if recovery else issuer, now)
            seed = key_file.new_seed()
            signer = SeedSigner(key_id, seed)
            usual: State = "next" if ring.active() and not recovery else "active"
            use: Use = "recovery" if recovery else "receipts"
            entry = RingKey.of(key_id, signer.public_key, state or usual, use, now)
            key_file.write(ring_file.key_path(self.home, key_id), signer, seed, passphrase, level)
            made.append(entry)
            return ring.with_key(entry)

        self.seen = ring_file.change(self.ring_path, step)
        return made[0]

    def next_key(self) -> RingKey | None:
        """The key that waits to become active."""
        return next((key for key in self.seen.keys if key.use == "receipts" and key.state == "next"), None)

    def prepare_rotation(self, to: RingKey, reason: str, effective_at: datetime | None = None) -> Statement:
        """The unsigned statement of a rotation. It takes effect with the next full second, where no time is named."""
        effective_at = effective_at or self.clock().replace(microsecond=0) + timedelta(seconds=1)
        return Statement(rotation_body(self.seen, to, effective_at, reason), [])

    def end_active(self, at: datetime | None) -> None:
        """Let the active key sign until `at` only, when a prepared rotation takes effect; None takes that back."""
        active = self.seen.active()
        if active is None:
            raise IllegalMove("no key is active")
        ended = msgspec.structs.replace(active, not_after=None if at is None else times.seconds(at))
        self.change(lambda ring: ring.with_key(ended))

    def abandon(self) -> None:
        """Take a preparation back. Raises IllegalMove where there is none."""
        active = self.seen.active()
        if active is None or active.not_after is None:
            raise IllegalMove("no rotation is prepared")
        self.end_active(None)

    def check_prepared(self, statement: Statement) -> None:
        """Raise IllegalMove for a statement that was not prepared last: its time would void receipts made since."""
        active, body = self.seen.active(), statement.body
        if active is not None and isinstance(body, RotationBody) and active.not_after != body.effective_at:
            raise IllegalMove(
                "this is not the statement that was prepared last, or it was taken back",
                hint="prepare it anew: pith-build keys rotate --prepare FILE",
            )

    def prepare_revocation(self, key_id: str, since: datetime, reason: Reason) -> Statement:
        """The unsigned statement of a revocation."""
        active = self.seen.active()
        if active is not None and active.key_id == key_id and reason == "superseded":
            raise IllegalMove(f"{key_id} is the active key", hint="pith-build keys rotate puts another in its place")
        return Statement(RevocationBody(key_id, times.seconds(since), reason), [])

    def carry_out(self, statement: Statement, wait_until: Callable[[datetime], None] = lambda _: None) -> KeyRing:
        """Move the ring by a signed statement. Raises IllegalMove, also where the ring has changed meanwhile."""
        self.check_chain()
        body = statement.body
        effective_at = None if isinstance(body, RevocationBody) else times.parse_seconds(body.effective_at)
        if effective_at is not None and effective_at - self.clock() > _LONGEST_WAIT:
            raise IllegalMove(f"it takes effect at {times.seconds(effective_at)}: carry it out then")
        ring = self.change(lambda ring: move(ring, statement))
        if effective_at is not None:  # switched first: from then on nobody signs with the old key
            wait_until(effective_at)
        return ring

    def check_chain(self) -> None:
        """Raise IllegalMove where the ring's statements don't hold together: a move would make that last."""
        if faults := chain_faults(self.seen):
            raise IllegalMove(
                f"the ring's statements don't hold together: {faults[0]}", hint="restore the ring from its backup"
            )

    def change(self, step: Callable[[KeyRing], KeyRing]) -> KeyRing:
        """Put `step(ring)` in the place of the ring that we have seen. Raises IllegalMove where it has changed."""

        def checked(ring: KeyRing) -> KeyRing:
            if ring != self.seen:
                raise IllegalMove("another process changed the key ring meanwhile", hint="look at it, and try again")
            return step(ring)

        self.seen = ring_file.change(self.ring_path, checked)
        return self.seen

    def take_in(self, data: bytes, *, use: Use, key_id: str | None) -> RingKey:
        """Add a public key: of others to verify with, of a recovery key, or the next of our own made elsewhere."""
        public_key, named = public_keys.read(data)
        name = key_id or named
        if not name or not _KEY_ID.fullmatch(name):
            raise InvalidSetting(
                f"{shown(name)} can't be a key's id",
                field="id",
                hint="letters, digits, . _ @ and -; name one with --id",
            )
        if self.seen.by_id(name) or self.seen.by_public_key(public_key):
            raise IllegalMove(f"{name}, or its key under another id, is in the ring already")
        state: State = "next" if use == "receipts" else "active"
        entry = RingKey.of(name, public_key, state, use, None if use == "verify" else self.clock())
        self.change(lambda ring: ring.with_key(entry))
        return entry

    def _new_id(self, ring: KeyRing, issuer: str, now: datetime) -> str:
        names = [key.key_id for key in ring.keys]
        names += [path.stem for path in ring_file.private_folder(self.home).glob("*.key")]
        form = re.compile(rf"{re.escape(issuer)}-v(\d+)-\d{{4}}-\d\d", re.ASCII)
        version = 1 + max((int(match[1]) for name in names if (match := form.fullmatch(name))), default=0)
        return f"{issuer}-v{version}-{now:%Y-%m}"


def active_authority(ring: KeyRing, open_key: Callable[[RingKey], Signer]) -> Signer:
    """Who signs for the old side of a move in good order: the active key."""
    if (key := ring.active()) is None:
        raise KeyMissing("the key ring has no active key", hint=GENERATE)
    return open_key(key)


def recovery_authority(ring: KeyRing, signer: Signer | None, open_key: Callable[[RingKey], Signer]) -> Signer:
    """Who signs after compromise or loss: a recovery key of the ring, `signer` where one is named."""
    known = [key for key in ring.keys if key.use == "recovery" and key.state == "active"]
    if not known:
        raise KeyMissing(
            "the ring has no recovery key, and after compromise or loss only that can sign",
            hint="make a new ring with a recovery key, publish it by a way that people trust, and have them pin it",
        )
    if signer is None:
        return open_key(known[0])
    if signer.public_key not in [key.public_key for key in known]:
        raise KeyUnfit(f"{signer.key_id} is no recovery key of the ring", hint="name it with --recovery URI")
    return signer


class InvalidStatement(InvalidInput):
    code = "invalid_statement"


def read_statement(data: bytes) -> Statement:
    """A statement from its file. Raises InvalidJson or InvalidStatement with the field at fault."""
    return typed(Statement, loads(data), InvalidStatement)


def write_statement(statement: Statement) -> bytes:
    """A statement as its file holds it."""
    return msgspec.json.format(msgspec.json.encode(statement), indent=1) + b"\n"


#: Why a key is rotated, as the command line takes it; a verifier takes any text.
ROTATION_REASONS = ("scheduled", "superseded", "compromised", "lost")

FORMS = ("json", "pem", "ssh")


def exported(key: RingKey, form: str) -> bytes:
    """A public key in one of the forms that others read."""
    if form == "pem":
        return public_keys.to_pem(key.public_key).rstrip("\n").encode()
    if form == "ssh":
        return public_keys.to_ssh(key.public_key, key.key_id).encode()
    return msgspec.json.encode(public_keys.published(key))
