"""The table of commands, and what becomes of an error that ends one."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import typer

from pith_builder import __version__
from pith_builder.cli import settings as settings_
from pith_builder.cli.arguments import arranged
from pith_builder.cli.ceremonies import retire, revoke, rotate, sign
from pith_builder.cli.compute import compute
from pith_builder.cli.copies import backup, copy
from pith_builder.cli.corpus import corpus
from pith_builder.cli.diff import diff
from pith_builder.cli.exports import corpus_verify, export
from pith_builder.cli.fixtures import fixtures
from pith_builder.cli.imports import import_records
from pith_builder.cli.issue import issue
from pith_builder.cli.keys import keys
from pith_builder.cli.reissue import reissue
from pith_builder.cli.resolve import resolve
from pith_builder.cli.schema import schema
from pith_builder.cli.show import show
from pith_builder.cli.store import store
from pith_builder.cli.sync import sync
from pith_builder.cli.vectors import vectors
from pith_builder.cli.verify import verify
from pith_builder.cli.withdraw import withdraw
from pith_builder.errors import PithError

app = typer.Typer(
    name="pith-build",
    help="Build content-addressed, signed records of papers (pith numbers), and check them offline.",
    epilog="pith-build 2403.07648 alone issues that paper. The settings above may stand anywhere, or in the "
    "environment as PITH_HOME, PITH_STORE and so on, or in pith-build.toml in the home folder.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(issue)
app.command()(compute)
app.command()(verify)
app.command()(show)
app.command()(resolve)
app.command()(diff)
app.command()(reissue)
app.command()(sync)
app.command()(schema)
for move in (rotate, sign, retire, revoke):
    keys.command()(move)
for command in (backup, copy, withdraw):
    store.command()(command)
store.command("import")(import_records)
corpus.command()(export)
corpus.command("verify")(corpus_verify)
app.add_typer(keys, name="keys")
app.add_typer(corpus, name="corpus")
app.add_typer(store, name="store")
app.add_typer(fixtures, name="fixtures")
app.add_typer(vectors, name="vectors")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pith-build {__version__}")
        raise typer.Exit


@app.callback()
def _settings(
    ctx: typer.Context,
    home: Annotated[str | None, typer.Option(metavar="DIR", help="Folder of keys, store and cache.")] = None,
    store: Annotated[str | None, typer.Option(metavar="URL", help="Store; default sqlite in the home.")] = None,
    keyring: Annotated[str | None, typer.Option(metavar="FILE", help="Key ring; default in the home.")] = None,
    key: Annotated[
        str | None, typer.Option(metavar="URI", help="Signer: file:PATH, env:NAME, agent:KEY, pkcs11:…")
    ] = None,
    catalog: Annotated[
        list[str] | None, typer.Option(metavar="FILE|DIR", help="Metadata to find papers in; may be repeated.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Base of the links in records.")] = None,
    oai_url: Annotated[str | None, typer.Option(metavar="URL", help="arXiv's OAI-PMH interface.")] = None,
    atom_url: Annotated[str | None, typer.Option(metavar="URL", help="arXiv's Atom interface.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Never use a network.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version
    flags = {
        "home": home,
        "store": store,
        "keyring": keyring,
        "key": key,
        "catalog": catalog,
        "base_url": base_url,
        "oai_url": oai_url,
        "atom_url": atom_url,
        "offline": "1" if offline else None,
    }
    ctx.obj = settings_.resolve(flags, os.environ)


COMMANDS = (
    "issue",
    "compute",
    "verify",
    "show",
    "resolve",
    "diff",
    "reissue",
    "sync",
    "keys",
    "corpus",
    "store",
    "fixtures",
    "vectors",
    "schema",
)


def run(arguments: list[str]) -> int:
    """Run a command line; every exception becomes a message and an exit code."""
    from pith_builder.cli import output

    try:
        app(arranged(arguments, COMMANDS), prog_name="pith-build")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except PithError as error:
        code = output.exit_code(error)
        with contextlib.suppress(output.ReaderGone):
            output.print_failure(error, json="--json" in arguments)
    except (KeyboardInterrupt, output.ReaderGone):
        code = 130
    except MemoryError:
        output.print_note("pith-build: out of memory; nothing was half-written")
        code = 5
    except OSError as error:
        code = _os_error(error)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = 130  # and keep the interpreter from trying again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        code = _os_error(error)
    return code


def _os_error(error: OSError) -> int:
    """A failure of the world around that no module expected, such as a full disk behind standard output."""
    from pith_builder.cli import output

    output.print_note(f"pith-build: {error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    return 5
