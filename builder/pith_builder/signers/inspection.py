"""What is wrong with a key ring and its private files, for `pith-build keys check`."""

from __future__ import annotations

import stat
from datetime import datetime, timedelta
from pathlib import Path

from pith_builder import times
from pith_builder.errors import InvalidInput, InvalidKeyRing
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.rotation import BrokenChain, follow
from pith_builder.signers.key_file import KeyFile
from pith_builder.statements import RotationBody

_SOON = timedelta(days=30)


def problems(ring: KeyRing, private: Path, now: datetime, pins: KeyRing | None) -> list[str]:
    """What is wrong, a sentence each; an empty list where nothing is."""
    found = chain_faults(ring) + _of_times(ring, now) + _of_files(ring, private)
    if ring.active() is None:
        found.append("no key is active: nothing can be signed")
    active = ring.active()
    if pins is not None:
        try:
            trusted = follow(pins, ring)
        except BrokenChain as error:
            found.append(f"from the pinned ring: {error.message}")
        else:
            if active is not None and trusted.find(active.key_id, active.fingerprint) is None:
                found.append(f"no statement leads from the pinned ring to {active.key_id}")
    return found


def chain_faults(ring: KeyRing) -> list[str]:
    """The statements, followed from the key that the first of them names, and the marks that they lead to."""
    rotations = [s.body for s in ring.statements if isinstance(s.body, RotationBody)]
    arrived = {body.to for body in rotations}
    begins = rotations[0].from_ if rotations else None
    first = [_as_it_began(key, begins) for key in ring.keys if key.key_id not in arrived]
    try:
        trusted = follow(KeyRing("1.0", first, []), ring)
    except BrokenChain as error:
        return [error.message]
    except InvalidKeyRing:
        return ["a statement is missing: no chain leads to all the keys that have signed"]
    found = []
    leaves = {body.from_ for body in rotations}
    for key in ring.keys:
        has_signed = key.use == "receipts" and key.state == "retired" and key.not_after != key.not_before
        if has_signed and key.key_id not in leaves:
            found.append(f"{key.key_id} is retired, and no statement says what came after it")
    for key in ring.keys:
        followed = trusted.by_id(key.key_id)
        unsaid = key.state == "revoked" and (followed is None or followed.state != "revoked")
        if unsaid and key.use != "verify":
            found.append(f"{key.key_id} is marked revoked, and no statement says so: others will not notice")
    return found


def _as_it_began(key: RingKey, begins: str | None) -> RingKey:
    """The entry as it was before any statement: the key that the first rotation names active, no other revoked."""
    if key.key_id == begins or key.use == "recovery":
        return RingKey.of(key.key_id, key.public_key, "active", key.use)
    if key.use == "receipts" and key.state == "revoked":
        return RingKey.of(key.key_id, key.public_key, "next", key.use)
    return key


def _of_times(ring: KeyRing, now: datetime) -> list[str]:
    found = []
    for key in ring.keys:
        end = times.parse_seconds(key.not_after) if key.not_after else None
        if key.state == "active" and end is not None and end - now < _SOON:
            found.append(f"{key.key_id} {'has expired' if end <= now else 'expires soon'}: {key.not_after}")
        begin = times.parse_seconds(key.not_before) if key.not_before else None
        if key.state == "active" and begin is not None and begin > now:
            found.append(f"{key.key_id} is active, and only valid from {key.not_before}: is the clock right?")
    return found


def _of_files(ring: KeyRing, private: Path) -> list[str]:
    found = []
    if private.is_dir() and private.stat().st_mode & 0o077:
        found.append(f"others can look into {private}: chmod 700 {private}")
    for path in sorted(private.glob("*.key")) if private.is_dir() else []:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                found.append(f"others can read or write {path} (mode {mode:04o}): chmod 600 {path}")
            content = KeyFile.from_json(path.read_bytes())
        except (InvalidInput, OSError):
            found.append(f"{path} is no key file, or a damaged one")
            continue
        if path.stem != content.key_id:
            found.append(f"{path} holds {content.key_id}: its name should be {content.key_id}.key")
        entry = ring.by_id(content.key_id)
        if entry is None:
            found.append(f"{path} holds {content.key_id}, which the ring does not list")
        elif entry.public_key_b64 != content.public_key_b64:
            found.append(f"{path} holds another key than the ring lists as {content.key_id}")
    return found
