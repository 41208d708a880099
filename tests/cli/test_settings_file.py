"""pith-build.toml in the home folder, and the order of flag, environment, file and default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.testing import make_metadata

Run = Callable[..., Any]


@pytest.fixture
def toml(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write pith-build.toml into the home, with no variable before it."""
    monkeypatch.delenv("PITH_OFFLINE")

    def write(content: str) -> Path:
        home.mkdir(exist_ok=True)
        path = home / "pith-build.toml"
        path.write_text(content, encoding="utf-8")
        return path

    return write


def base_url(run: Run, source: Path, *arguments: str) -> str:
    [record] = run("issue", "--json", "--metadata", source, *arguments).lines
    return record["links"]["html"].partition("/pith/")[0]


def test_file_in_the_home_is_read(with_key: Run, papers: Run, toml: Callable[[str], Path]) -> None:
    toml('base_url = "https://file.example"')
    assert base_url(with_key, papers(make_metadata())) == "https://file.example"


def test_environment_goes_before_the_file(
    with_key: Run, papers: Run, toml: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    toml('base_url = "https://file.example"')
    monkeypatch.setenv("PITH_BASE_URL", "https://environment.example")
    assert base_url(with_key, papers(make_metadata())) == "https://environment.example"


def test_flag_goes_before_the_environment(with_key: Run, papers: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITH_BASE_URL", "https://environment.example")
    assert base_url(with_key, papers(make_metadata()), "--base-url", "https://flag.example") == "https://flag.example"


def test_file_in_the_current_folder_is_not_read(
    with_key: Run, papers: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "pith-build.toml").write_text('base_url = "https://evil.example"')
    monkeypatch.chdir(tmp_path / "here")
    assert base_url(with_key, papers(make_metadata())) == "https://pith.science"


@pytest.mark.parametrize("form", ['"{0}"', '["{0}"]'])
def test_catalogue_in_the_file_is_a_path_or_a_list(
    run: Run, papers: Run, toml: Callable[[str], Path], form: str
) -> None:
    toml(f"catalog = {form.format(papers(make_metadata()))}")
    assert run("compute", "2601.00001").code == 0


@pytest.mark.parametrize("form", ['"papers.jsonl"', '["papers.jsonl"]'])
def test_catalogue_in_the_file_is_relative_to_the_home(
    run: Run, home: Path, papers: Run, toml: Callable[[str], Path], form: str
) -> None:
    toml(f"catalog = {form}")
    papers(make_metadata()).rename(home / "papers.jsonl")
    assert run("compute", "2601.00001").code == 0


def test_ring_in_the_file_is_relative_to_the_home(run: Run, home: Path, toml: Callable[[str], Path]) -> None:
    toml('keyring = "mine/ring.json"')
    assert run("keys", "generate", "--unencrypted").code == 0
    assert (home / "mine" / "ring.json").is_file()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ('colour = "red"', "colour"),
        ('home = "/elsewhere"', "home"),
        ("[store]\nurl = 'x'", "store"),
        ("base_url = 7", "base_url"),
        ('keyring = ["a"]', "keyring"),
        ("catalog = [1]", "catalog"),
        ('base_url = "ftp://x"', "base_url"),
        ('offline = "perhaps"', "offline"),
        ("offline = 1", "offline"),
        ('oai_interval = "fast"', "oai_interval"),
        ("oai_interval = -1", "oai_interval"),
        ("oai_interval = true", "oai_interval"),
        ('contact = "a (b)"', "contact"),
        ('oai_url = "file:///etc/passwd"', "oai_url"),
        ('atom_url = "https://user:password@example.org/"', "atom_url"),
        ("this is no TOML", "pith-build.toml"),
    ],
)
def test_wrong_setting_is_2_and_named(
    run: Run, toml: Callable[[str], Path], papers: Run, content: str, named: str
) -> None:
    toml(content)
    result = run("compute", "--metadata", papers(make_metadata()))
    assert (result.code, result.out) == (2, "")
    assert named in result.err


@pytest.mark.parametrize("setting", ["store", "keyring", "key", "catalog"])
def test_path_that_no_file_can_have_ends_with_a_message(
    with_key: Run, toml: Callable[[str], Path], setting: str
) -> None:
    toml(f'{setting} = "sqlite:///a\\u0000b"')
    result = with_key("issue", "2601.00001")
    assert (result.code, result.out) != (0, "")
    assert result.err.startswith("pith-build: ")


def test_file_that_is_not_utf8_is_2(run: Run, home: Path) -> None:
    home.mkdir()
    (home / "pith-build.toml").write_bytes(b'base_url = "\xff"')
    assert run("keys", "list").code == 2


def test_file_that_cannot_be_read_is_5(run: Run, home: Path) -> None:
    (home / "pith-build.toml").mkdir(parents=True)
    assert run("keys", "list").code == 5
