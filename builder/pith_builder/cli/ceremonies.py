"""`pith-build keys rotate|sign|retire|revoke`: the moves of the key ring."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from pith_builder.cli.settings import Settings

if TYPE_CHECKING:
    from pith_builder.keyring import KeyRing, RingKey
    from pith_builder.signers.ceremony import Ceremony
    from pith_builder.signing import Signer
    from pith_builder.statements import Statement


def rotate(
    ctx: typer.Context,
    reason: Annotated[
        str, typer.Option(help="scheduled, superseded; or compromised, lost, which need a recovery key.")
    ] = "scheduled",
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Since when the old key is compromised or lost; now without it.")
    ] = None,
    issuer: Annotated[str, typer.Option(help="First part of the new key's id.")] = "local",
    level: Annotated[
        str, typer.Option("--kdf", help="Cost of unlocking the new key: interactive, moderate or sensitive.")
    ] = "interactive",
    unencrypted: Annotated[bool, typer.Option("--unencrypted", help="Keep the new key without a passphrase.")] = False,
    next_key: Annotated[str | None, typer.Option(metavar="URI", help="Signer of the next key.")] = None,
    recovery: Annotated[str | None, typer.Option(metavar="URI", help="Signer of the recovery key.")] = None,
    prepare: Annotated[
        str | None, typer.Option(metavar="FILE", help="Only write the statement, signed by our side, for the next key.")
    ] = None,
    effective_at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --prepare: when it takes effect; the old key signs until then."),
    ] = None,
    complete: Annotated[
        str | None, typer.Option(metavar="FILE", help="Carry out a statement that the next key has signed.")
    ] = None,
    abandon: Annotated[bool, typer.Option("--abandon", help="Take a preparation back.")] = False,
) -> None:
    """Rotate to the next key: make one if there is none, sign the statement with both keys, and switch.

    A next key made elsewhere is taken in with keys import --use receipts; then --prepare writes the statement, keys
    sign adds the next key's signature where that is, and --complete switches.
    """
    from pathlib import Path

    from pith_builder import files
    from pith_builder.cli import output, passphrase
    from pith_builder.signers.ceremony import ROTATION_REASONS, read_statement, write_statement
    from pith_builder.statements import EMERGENCIES, RotationBody
    from pith_builder.times import parse_seconds

    rites = ceremony(ctx.obj)
    if abandon:
        rites.abandon()
        return
    if complete is not None:
        statement = read_statement(files.read(Path(complete)))
        rites.check_prepared(statement)
        rites.carry_out(statement, _wait_until)
        _tell_what_comes_next(rites, ctx.obj)
        return
    if reason not in ROTATION_REASONS:
        raise typer.BadParameter(f"{reason} is none of {', '.join(ROTATION_REASONS)}", param_hint="--reason")
    emergency = reason in EMERGENCIES
    begun = None if since is None else _past(since, rites, "--since")
    if begun is not None and not emergency:
        raise typer.BadParameter("goes with --reason compromised or lost", param_hint="--since")
    when = None if effective_at is None else parse_seconds(effective_at)
    if effective_at is not None and (when is None or when <= rites.clock() or prepare is None):
        raise typer.BadParameter(
            "takes a time to come, such as 2026-11-30T12:00:00Z, with --prepare", param_hint="--effective-at"
        )
    if begun is not None and rites.seen.active() is None:
        raise typer.BadParameter(
            "the key is revoked already; keys revoke tells of an earlier time", param_hint="--since"
        )
    rites.check_chain()
    ours = _authority(ctx.obj, rites, recovery, emergency=emergency)
    to = rites.next_key()
    if to is None and prepare is None:
        secret = None if unencrypted else passphrase.new()
        rites.generate(issuer=issuer, passphrase=secret, level=level, state="next")
        to = rites.next_key()
    if to is None:
        raise typer.BadParameter(
            "there is no next key: keys import --use receipts takes one in", param_hint="--prepare"
        )
    theirs = None if prepare is not None else open_key(ctx.obj, rites, to, next_key)
    old = rites.seen.active()
    if begun is not None and old is not None:
        revocation = rites.prepare_revocation(old.key_id, begun, "lost" if reason == "lost" else "compromised")
        rites.carry_out(revocation.signed_by(ours))
    statement = rites.prepare_rotation(to, reason, when).signed_by(ours)
    if theirs is not None:
        rites.carry_out(statement.signed_by(theirs), _wait_until)
        _tell_what_comes_next(rites, ctx.obj)
    elif prepare is not None:
        files.replace(Path(prepare), write_statement(statement))
        if isinstance(statement.body, RotationBody) and rites.seen.active() is not None:
            rites.end_active(parse_seconds(statement.body.effective_at))
            output.print_note(f"{statement.body.from_} signs until {statement.body.effective_at}")
        output.print_note(f"{to.key_id} signs it with: pith-build keys sign {prepare} --key URI")


def sign(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A statement of keys rotate --prepare.")],
) -> None:
    """Add the signature of --key to a prepared statement, in its file."""
    from pathlib import Path

    from pith_builder import files
    from pith_builder.cli import output, passphrase
    from pith_builder.errors import KeyMissing
    from pith_builder.rotation import IllegalMove
    from pith_builder.signers import Opening, open_signer, ring_file
    from pith_builder.signers.ceremony import read_statement, write_statement
    from pith_builder.statements import canonical_body

    if not ctx.obj.key:
        raise KeyMissing("no signer is named", hint="name the key that signs with --key URI")
    statement = read_statement(files.read(Path(file)))
    ring = ring_file.load(ctx.obj.keyring)
    signer = open_signer(ctx.obj.key, Opening(ring, passphrase.existing))
    output.print_note(f"the statement: {canonical_body(statement.body).decode()}")
    if signer.key_id in [signature.key_id for signature in statement.signatures]:
        raise IllegalMove(f"{signer.key_id} has signed it already")
    if not _is_party(signer.key_id, statement, ring):
        raise IllegalMove(
            f"{signer.key_id} has no part in it", hint="name the key that it rotates from or to with --key"
        )
    files.replace(Path(file), write_statement(statement.signed_by(signer)))
    output.print_note(f"signed by {signer.key_id}")


def retire(
    ctx: typer.Context,
    key_id: Annotated[str, typer.Argument(help="A key that isn't the active one.")],
) -> None:
    """Retire a key: it stays in the ring, for what it has signed."""
    from pith_builder.rotation import retire as retired

    rites = ceremony(ctx.obj)
    rites.change(lambda ring: retired(ring, key_id, rites.clock()))


def revoke(
    ctx: typer.Context,
    key_id: Annotated[str, typer.Argument(help="The key to revoke.")],
    reason: Annotated[str, typer.Option(help="superseded, compromised or lost.")],
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Since when; now without it.")] = None,
    recovery: Annotated[
        str | None, typer.Option(metavar="URI", help="Sign with the recovery key, as revoking the active key needs.")
    ] = None,
) -> None:
    """Revoke a key by a signed statement. What that means for its receipts depends on the reason (docs/keys.md)."""
    from typing import get_args

    from pith_builder.cli import output
    from pith_builder.statements import Reason

    if reason not in get_args(Reason):
        raise typer.BadParameter(f"{reason} is none of {', '.join(get_args(Reason))}", param_hint="--reason")
    rites = ceremony(ctx.obj)
    time_ = rites.clock() if since is None else _past(since, rites, "--since")
    active = rites.seen.active()
    emergency = recovery is not None or active is None or active.key_id == key_id
    statement = rites.prepare_revocation(key_id, time_, reason)  # type: ignore[arg-type]  # checked above
    rites.carry_out(statement.signed_by(_authority(ctx.obj, rites, recovery, emergency=emergency)))
    output.print_note("publish the ring: pith-build keys export --ring")
    if active is not None and active.key_id == key_id:
        output.print_note(f"then put another key in its place: pith-build keys rotate --reason {reason} --recovery URI")
    else:
        output.print_note("then see what it still carries: pith-build keys list; pith-build reissue")


def ceremony(settings: Settings) -> Ceremony:
    """The ceremonies of the run's ring."""
    from pith_builder.cli.papers import now
    from pith_builder.signers.ceremony import Ceremony

    return Ceremony(settings.keyring, settings.home, now)


def open_key(settings: Settings, rites: Ceremony, key: RingKey, uri: str | None) -> Signer:
    """The signer of one key of the ring, from its URI or its file in the home folder. Raises KeyUnusable."""
    from pith_builder.cli import passphrase
    from pith_builder.errors import KeyUnfit
    from pith_builder.signers import Opening, open_signer, ring_file

    where = uri or f"file:{ring_file.key_path(settings.home, key.key_id)}"
    signer = open_signer(where, Opening(rites.seen, passphrase.existing))
    if signer.public_key != key.public_key:
        raise KeyUnfit(f"{where} is {signer.key_id}, and {key.key_id} has to sign", hint="name the right signer's URI")
    return signer


def _authority(settings: Settings, rites: Ceremony, recovery: str | None, *, emergency: bool) -> Signer:
    from pith_builder.cli import passphrase
    from pith_builder.signers import Opening, open_signer
    from pith_builder.signers.ceremony import active_authority, recovery_authority

    if not emergency:
        return active_authority(rites.seen, lambda key: open_key(settings, rites, key, settings.key))
    named = None if recovery is None else open_signer(recovery, Opening(rites.seen, passphrase.existing))
    return recovery_authority(rites.seen, named, lambda key: open_key(settings, rites, key, None))


def _past(text: str, rites: Ceremony, option: str) -> datetime:
    from pith_builder.times import parse_seconds

    time_ = parse_seconds(text)
    if time_ is None or time_ > rites.clock():
        raise typer.BadParameter(f"{text} is no past time such as 2026-11-30T12:00:00Z", param_hint=option)
    return time_


def _is_party(key_id: str, statement: Statement, ring: KeyRing) -> bool:
    from pith_builder.statements import RotationBody

    body = statement.body
    key = ring.by_id(key_id)
    is_recovery = key is not None and key.use == "recovery"
    if not isinstance(body, RotationBody):
        return is_recovery or (key is not None and key.state == "active")
    return key_id == body.to or (is_recovery if body.is_emergency else key_id == body.from_)


def _wait_until(time_: datetime) -> None:
    from pith_builder.cli.papers import now

    while (left := (time_ - now()).total_seconds()) > 0:
        time.sleep(min(left, 1))


def _tell_what_comes_next(rites: Ceremony, settings: Settings) -> None:
    from pith_builder.cli import output

    active = rites.seen.active()
    output.print_data(active.key_id if active else "")
    output.print_note(f"publish the ring, {settings.keyring}: pith-build keys export --ring")
    output.print_note("then make new receipts: pith-build reissue")
