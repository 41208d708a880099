"""`pith-build keys`: the key ring."""

from __future__ import annotations

from datetime import UTC, datetime
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
    as_json: Annotated[bool, typer.Option("--json", help="Print the key's entry in the ring as JSON.")] = False,
) -> None:
    """Make an Ed25519 key: the private half in an encrypted file, the public half in the key ring.

    The passphrase is PITH_KEY_PASSPHRASE, or stands in the file PITH_KEY_PASSPHRASE_FILE, or is asked for.
    """
    from pith_builder.cli import output, passphrase
    from pith_builder.signers import key_file, ring_file

    if level not in key_file.LEVELS:
        raise typer.BadParameter(f"{level} is none of {', '.join(key_file.LEVELS)}", param_hint="--kdf")
    secret = None if unencrypted else passphrase.new()
    entry = ring_file.generate(
        ctx.obj.keyring,
        ctx.obj.home,
        issuer=issuer,
        passphrase=secret,
        level=level,
        clock=lambda: datetime.now(UTC),
    )
    output.print_data(output.to_json(entry) if as_json else entry.key_id)
    output.print_note(f"private key: {ring_file.key_path(ctx.obj.home, entry.key_id)}")
    if entry.state == "next":
        output.print_note("the ring has an active key already; this one is next, for a rotation")


@keys.command("list")
def list_(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line a key.")] = False,
) -> None:
    """List the keys that are known: those of the ring and the public registry's."""
    from pith_builder.cli import output, rings

    for key in rings.trusted(ctx.obj).keys:
        text = f"{key.key_id}  {key.fingerprint}  {key.state}  {key.use}"
        output.print_data(output.to_json(key) if as_json else text)


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
) -> None:
    """Print a public key as JSON, as the registry publishes its own."""
    from pith_builder.cli import output, rings
    from pith_builder.keyring import published_key

    output.print_data(output.to_json(published_key(rings.one(ctx.obj, key_id))))
