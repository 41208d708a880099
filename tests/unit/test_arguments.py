"""The order of arguments: settings first, then the command, `issue` where none is named."""

from __future__ import annotations

import pytest

from pith_builder.cli.arguments import UnknownCommand, arranged

COMMANDS = ("issue", "compute", "verify", "show", "resolve", "keys")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "--help"),
        ("--help", "--help"),
        ("--version", "--version"),
        ("--help compute", "--help compute"),
        ("compute --help", "compute --help"),
        ("compute 2601.00001", "compute 2601.00001"),
        ("2601.00001", "issue 2601.00001"),
        ("hep-th/9901001v3", "issue hep-th/9901001v3"),
        ("2601.00001 2601.00002", "issue 2601.00001 2601.00002"),
        ("2601.00001 --json", "issue 2601.00001 --json"),
        ("--json 2601.00001", "issue --json 2601.00001"),
        ("2601.00001 compute", "issue 2601.00001 compute"),
        ("--json compute 2601.00001", "--json compute 2601.00001"),
        ("--home h compute x", "--home h compute x"),
        ("compute --home h x", "--home h compute x"),
        ("compute x --home h", "--home h compute x"),
        ("compute x --home=h", "--home=h compute x"),
        ("--home h 2601.00001", "--home h issue 2601.00001"),
        ("2601.00001 --home h", "--home h issue 2601.00001"),
        ("compute --offline x", "--offline compute x"),
        ("compute x --catalog a --catalog b", "--catalog a --catalog b compute x"),
        ("keys generate --keyring r --unencrypted", "--keyring r keys generate --unencrypted"),
        ("--home issue compute x", "--home issue compute x"),
        ("compute -- --home h", "compute -- --home h"),
        ("compute --home a -- --store b", "--home a compute -- --store b"),
        ("compute --homes h", "compute --homes h"),
    ],
)
def test_arguments_are_arranged(given: str, expected: str) -> None:
    assert arranged(given.split(), COMMANDS) == expected.split()


def test_value_with_blanks_stays_one_argument() -> None:
    assert arranged(["compute", "--home", "a b", "arXiv:2601.00001 [cs.DL]"], COMMANDS) == [
        "--home",
        "a b",
        "compute",
        "arXiv:2601.00001 [cs.DL]",
    ]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("isue", "did you mean: pith-build issue"),
        ("Compute", "did you mean: pith-build compute"),
        ("resolv", "did you mean: pith-build resolve"),
        ("xyzzy", "pith-build --help lists the commands"),
        ("2613.00001", "pith-build --help lists the commands"),
        ("", "pith-build --help lists the commands"),
    ],
)
def test_word_that_is_neither_command_nor_id_suggests_what_to_do(word: str, hint: str) -> None:
    with pytest.raises(UnknownCommand) as caught:
        arranged(["--home", "h", word, "--json"], COMMANDS)
    assert caught.value.hint == hint
    assert repr(word) in caught.value.message


@pytest.mark.parametrize(
    "arguments",
    [
        ["postgresql://u:s3cret@h/db"],
        ["store", "backup", "postgresql://u:s3cret@h/db"],
        ["store", "copy", "a", "postgresql://u:s3cret@h/db"],
        ["store", "copy", "postgresql://u:s3cret@h/db", "b"],
        ["issue", "--metadata", "postgresql://u:s3cret@h/db"],
    ],
)
def test_password_in_the_wrong_place_is_refused_and_not_repeated(arguments: list[str]) -> None:
    with pytest.raises(UnknownCommand) as caught:
        arranged(arguments, ["issue", "store"])
    assert "s3cret" not in f"{caught.value}{caught.value.hint}"


def test_password_goes_with_the_store_and_with_a_copy() -> None:
    given = ["store", "copy", "--json", "postgresql://u:s3cret@h/b", "--store", "postgresql://u:s3cret@h/a"]
    assert arranged(given, ["store"])[-4:] == ["store", "copy", "--json", "postgresql://u:s3cret@h/b"]
