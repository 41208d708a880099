"""The command line as a whole: words, settings anywhere, help, and what the world around can do to it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import __version__
from pith_builder.testing import make_metadata

Run = Callable[..., Any]
COMMANDS = ("issue", "compute", "verify", "show", "resolve", "reissue", "keys")
KEY_COMMANDS = (
    *("generate", "list", "show", "export", "import", "check"),
    *("rotate", "sign", "retire", "revoke"),
)


def test_no_argument_prints_help(run: Run) -> None:
    result = run()
    assert result.code == 0
    assert "Usage: pith-build" in result.out
    assert all(command in result.out for command in COMMANDS)


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_that_of_the_program(run: Run, flag: str) -> None:
    assert run(flag).out == run().out


@pytest.mark.parametrize("command", [(c,) for c in COMMANDS] + [("keys", c) for c in KEY_COMMANDS])
def test_each_command_explains_itself(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert result.code == 0
    assert f"Usage: pith-build {' '.join(command)}" in result.out


@pytest.mark.parametrize("arguments", [("--version",), ("--offline", "--version"), ("--version", "--home", "x")])
def test_version_is_that_of_the_package(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (0, f"pith-build {__version__}\n")


@pytest.mark.parametrize(
    ("word", "nearest"), [("isue", "issue"), ("computee", "compute"), ("verfy", "verify"), ("key", "keys")]
)
def test_unknown_word_suggests_the_nearest_command(run: Run, word: str, nearest: str) -> None:
    result = run(word)
    assert (result.code, result.out) == (2, "")
    assert f"did you mean: pith-build {nearest}\n" in result.err


def test_unknown_word_near_to_nothing_points_at_the_help(run: Run) -> None:
    result = run("qqqqqqqq")
    assert result.code == 2
    assert "pith-build --help" in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("compute",),
        ("issue",),
        ("verify",),
        ("show",),
        ("resolve", "2601.00001", "2601.00002"),
        ("compute", "--no-such-option"),
        ("--no-such-option", "compute"),
        ("keys", "no-such-command"),
        ("keys", "generate", "--kdf", "absurd"),
        ("compute", "--metadata"),
        ("compute", "--metadata", "a", "--metadata", "b"),
        ("issue", "--metadata", "a", "--metadata", "b"),
        ("--jsn",),
        ("keys", "revoke", "k"),
        ("keys", "revoke", "k", "--reason", "bored"),
        ("keys", "revoke", "k", "--reason", "lost", "--since", "yesterday"),
        ("keys", "import", "-", "--use", "all"),
        ("keys", "export", "--format", "der"),
        ("compute", "2601.00001", "--home"),
        ("verify", "-", "--at", "yesterday"),
        ("compute", "2601.00001", "--base-url", "ftp://x"),
    ],
)
def test_wrong_usage_is_2_with_nothing_on_standard_output(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err


def test_id_alone_means_issue(with_key: Run, papers: Run) -> None:
    result = with_key("2601.00001", "--metadata", papers(make_metadata()))
    assert result.code == 0
    assert result.out.startswith("pith:2026:")
    assert "record_issued" in result.err


@pytest.mark.parametrize(
    "spelling", ["arXiv:2601.00001v1", "https://arxiv.org/abs/2601.00001", "10.48550/arXiv.2601.00001"]
)
def test_whatever_people_paste_as_an_id_means_issue(with_key: Run, papers: Run, spelling: str) -> None:
    assert with_key(spelling, "--metadata", papers(make_metadata())).code == 0


def test_options_may_stand_before_the_id(with_key: Run, papers: Run) -> None:
    result = with_key("--json", "2601.00001", "--metadata", papers(make_metadata()))
    assert result.lines[0]["record_type"] == "pith_number_record"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--home", "HOME", "keys", "generate", "--unencrypted"),
        ("keys", "--home", "HOME", "generate", "--unencrypted"),
        ("keys", "generate", "--unencrypted", "--home", "HOME"),
        ("--home=HOME", "keys", "generate", "--unencrypted"),
        ("keys", "generate", "--unencrypted", "--home=HOME"),
    ],
)
def test_settings_may_stand_before_and_behind_the_command(run: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    there = tmp_path / "there"
    assert run(*(argument.replace("HOME", str(there)) for argument in arguments)).code == 0
    assert (there / "keys" / "keyring.json").is_file()


def test_home_may_have_any_name(run: Run, papers: Run, tmp_path: Path) -> None:
    there = tmp_path / "a b é %41 #?&x=1"
    assert run("keys", "generate", "--unencrypted", "--home", there).code == 0
    assert run("issue", "--metadata", papers(make_metadata()), "--home", there).code == 0
    assert (there / "pith.db").is_file()


def test_module_is_the_same_command(run_process: Run) -> None:
    assert run_process("--version").out == f"pith-build {__version__}\n"


_PLAIN = {"LC_ALL": "C"}


# --- streams --------------------------------------------------------------------------------------------------


def test_names_of_files_are_utf8_in_any_locale(run_process: Run, papers: Run) -> None:
    source = papers({}, make_metadata(), name="é.jsonl")
    result = run_process("compute", "--json", "--metadata", source, env=_PLAIN)
    assert result.lines[0]["input"] == f"{source}:1"


def test_record_is_utf8_in_any_locale(run_process: Run, papers: Run) -> None:
    assert run_process("keys", "generate", "--unencrypted", env=_PLAIN).code == 0
    source = papers(make_metadata(title="Über alles", authors="Émilie du Châtelet"))
    result = run_process("issue", "--json", "--metadata", source, env=_PLAIN)
    assert "Émilie du Châtelet" in result.out


def _on_terminal(start: Run, *arguments: str | Path, env: dict[str, str]) -> str:
    controller, terminal = pty.openpty()
    process = start(*arguments, env={"TERM": "xterm-256color", **env}, stdout=terminal)
    os.close(terminal)
    out = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        out += part
    os.close(controller)
    process.wait(timeout=60)
    return out.decode()


def test_terminal_gets_colours(start: Run, registry: Path) -> None:
    record = registry / "seeds" / "2403.07648v2.record.json"
    assert "\x1b[" in _on_terminal(start, "verify", record, env={"NO_COLOR": ""})


def test_no_color_is_honoured(start: Run, registry: Path) -> None:
    out = _on_terminal(start, "verify", registry / "seeds" / "2403.07648v2.record.json", env={"NO_COLOR": "1"})
    assert "passed" in out
    assert "\x1b[" not in out


@pytest.mark.parametrize("command", [("--help",), ("verify", "RECORD"), ("nonsense",)])
def test_without_terminal_there_are_no_escape_codes(run_process: Run, registry: Path, command: tuple[str, ...]) -> None:
    record = str(registry / "seeds" / "2403.07648v2.record.json")
    result = run_process(*(word.replace("RECORD", record) for word in command), env={"TERM": "xterm-256color"})
    assert result.out + result.err
    assert "\x1b[" not in result.out + result.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("rows", [1, 100])
def test_full_output_is_5_with_a_reason(run_process: Run, registry: Path, papers: Run, rows: int) -> None:
    source = papers(*(make_metadata(arxiv_id=f"2601.{n:05}") for n in range(1, rows + 1)))
    with open("/dev/full", "wb") as full:
        result = run_process("compute", "--json", "--metadata", source, stdout=full)
    assert result.code == 5
    assert result.err == "pith-build: No space left on device\n"


@pytest.mark.parametrize("rows", [1, 100])
def test_reader_that_went_away_interrupts_without_traceback(start: Run, papers: Run, rows: int) -> None:
    source = papers(*(make_metadata(arxiv_id=f"2601.{n:05}") for n in range(1, rows + 1)))
    reader, writer = os.pipe()
    os.close(reader)
    process = start("compute", "--json", "--metadata", source, stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")


def test_interrupt_is_130_without_traceback(start: Run, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = start("compute", "--metadata", fifo)
    with open(fifo, "wb"):  # waits until the command has opened its side, and is reading
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_unexpected_failure_of_the_system_is_5(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr("pith_builder.cli.papers.asked_for", fail)
    result = run("compute", "2601.00001")
    assert (result.code, result.err) == (5, "pith-build: Permission denied: /some/file\n")


def test_lack_of_memory_is_5_with_a_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("pith_builder.cli.papers.asked_for", fail)
    result = run("compute", "2601.00001")
    assert result.code == 5
    assert "out of memory" in result.err


def test_nothing_reaches_the_network_offline(home: Path) -> None:
    """Sockets are forbidden to the process; whatever it does without them, it does offline."""
    program = (
        "import socket, sys\n"
        "def refuse(*_): raise SystemExit('a socket was opened')\n"
        "socket.socket = socket.create_connection = refuse\n"
        "from pith_builder.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, "compute", "2601.00009", "--offline"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "--offline forbids to ask arXiv" in result.stderr
