"""`pith-build keys`: the key ring."""

from __future__ import annotations

from typing import Annotated

import typer

keys = typer.Typer(help="Make signing keys, and look at the key ring.", no_args_is_help=True)


@keys.command()
def generate(
    ctx: typer.Context,
    issuer: Annotated[str, typer.Option(help="First part of the key's id.")] = "local",
    level: Annotated[
        str, typer.Option("--kdf", help="Cost of unlocking: interactive, moderate or sensitive.")
    ] = "interactive",
    unencrypted: Annotated[bool, typer.Option("--unencrypted", help="Keep the key without a passphrase.")] = False,
    recovery: Annotated[
        bool, typer.Option("--recovery", help="A recovery key, for rotations after compromise or loss.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the key's entry in the ring as JSON.")] = False,
) -> None:
    """Make an Ed25519 key: the private half in an encrypted file, the public half in the key ring.

    The passphrase is PITH_KEY_PASSPHRASE, or stands in the file PITH_KEY_PASSPHRASE_FILE, or is asked for.
    """
    from pith_builder.cli import output, passphrase
    from pith_builder.cli.ceremonies import ceremony
    from pith_builder.signers import key_file, ring_file

    if level not in key_file.LEVELS:
        raise typer.BadParameter(f"{level} is none of {', '.join(key_file.LEVELS)}", param_hint="--kdf")
    secret = None if unencrypted else passphrase.new()
    entry = ceremony(ctx.obj).generate(issuer=issuer, passphrase=secret, level=level, recovery=recovery)
    output.print_data(output.to_json(entry) if as_json else entry.key_id)
    output.print_note(f"private key: {ring_file.key_path(ctx.obj.home, entry.key_id)}")
    if recovery:
        output.print_note(
            "keep it offline: move the file away, or print it; publish the ring so that others pin this key"
        )
    elif entry.state == "next":
        output.print_note("the ring has an active key already; this one is next: pith-build keys rotate")


@keys.command("list")
def list_(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a key.")] = False,
) -> None:
    """List the keys that are known, those of the ring and the public registry's, and what each still carries.

    The last column counts the records of the store whose newest receipt is under the key.
    """
    from pith_builder.cli import output, rings

    carried = rings.carried(ctx.obj)
    for key in rings.trusted(ctx.obj).keys:
        count = carried.get(key.fingerprint, 0)
        text = f"{key.key_id}  {key.fingerprint}  {key.state}  {key.use}  {count}"
        text += f"  until {key.not_after}" if key.state == "active" and key.not_after else ""
        line = {**{name: getattr(key, name) for name in key.__struct_fields__}, "receipts": count}
        output.print_data(output.to_json(line) if as_json else text)


@keys.command()
def show(
    ctx: typer.Context,
    key_id: Annotated[str, typer.Argument(help="Id or fingerprint of a key.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show one key."""
    from pith_builder.cli import output, rings

    key = rings.one(ctx.obj, key_id)
    if as_json:
        output.print_data(output.to_json(key))
        return
    for name in key.__struct_fields__:
        value = getattr(key, name)
        if value is not None:
            output.print_data(f"{name}: {value if isinstance(value, str) else f'{value.reason} since {value.since}'}")


@keys.command()
def export(
    ctx: typer.Context,
    key_id: Annotated[str | None, typer.Argument(help="Id or fingerprint; the active key without it.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="json as the registry publishes its own, pem, or ssh.")
    ] = "json",
    ring: Annotated[
        bool, typer.Option("--ring", help="The whole ring with its statements, for others to pin.")
    ] = False,
) -> None:
    """Print a public key, or the ring, for others."""
    from pith_builder.cli import output, rings
    from pith_builder.signers import ring_file
    from pith_builder.signers.ceremony import FORMS, exported

    if form not in FORMS:
        raise typer.BadParameter(f"{form} is none of {', '.join(FORMS)}", param_hint="--format")
    if ring and form != "json":
        raise typer.BadParameter("a ring is only exported as json", param_hint="--format")
    if ring:
        output.print_data(ring_file.load(ctx.obj.keyring).to_json())
    else:
        output.print_data(exported(rings.one(ctx.obj, key_id), form))


@keys.command("import")
def import_(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON, PEM or an ssh-ed25519 line.")],
    key_id: Annotated[str | None, typer.Option("--id", help="The key's id, where the file gives none.")] = None,
    use: Annotated[
        str, typer.Option(help="verify: others' key; receipts: our next key, made elsewhere; recovery.")
    ] = "verify",
) -> None:
    """Take a public key into the ring."""
    import sys
    from pathlib import Path
    from typing import get_args

    from pith_builder.cli import output
    from pith_builder.cli.ceremonies import ceremony
    from pith_builder.errors import InvalidInput
    from pith_builder.files import read
    from pith_builder.keyring import Use

    if use not in get_args(Use):
        raise typer.BadParameter(f"{use} is none of {', '.join(get_args(Use))}", param_hint="--use")
    try:
        data = sys.stdin.buffer.read() if file == "-" else read(Path(file))
        entry = ceremony(ctx.obj).take_in(data, use=use, key_id=key_id)  # type: ignore[arg-type]  # checked above
    except InvalidInput as error:
        raise error.at(file=file) from None
    output.print_data(entry.key_id)


@keys.command()
def check(
    ctx: typer.Context,
    pin: Annotated[str | None, typer.Option(metavar="FILE", help="A key ring that you pinned earlier.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a problem.")] = False,
) -> None:
    """Check the ring: its statements, its marks, the private key files, what expires soon, and a pinned ring."""
    from pith_builder.cli import output, rings
    from pith_builder.cli.papers import now
    from pith_builder.signers import ring_file
    from pith_builder.signers.inspection import problems

    ring = rings.own(ctx.obj)
    pins = None if pin is None else rings.pinned(pin)
    found = problems(ring, ring_file.private_folder(ctx.obj.home), now(), pins)
    for problem in found:
        output.print_data(output.to_json({"problem": problem}) if as_json else problem)
    if not found:
        output.print_note(f"{len(ring.keys)} keys, {len(ring.statements)} statements: all in order")
    raise typer.Exit(1 if found else 0)
