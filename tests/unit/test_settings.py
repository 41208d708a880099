"""Settings: flag, then environment variable, then pith-build.toml in the home folder, then the default."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder.cli.settings import FLAGS, VARIABLES, Settings, resolve
from pith_builder.errors import FileFailed, InvalidSetting


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    """The settings that follow from flags, an environment and the text of pith-build.toml."""

    def call(flags: dict[str, Any] | None = None, toml: str = "", **environment: str) -> Settings:
        (tmp_path / "pith-build.toml").write_text(toml, encoding="utf-8")
        return resolve({"home": str(tmp_path), **(flags or {})}, environment)

    return call


def test_defaults_lie_in_the_home(settings: Callable[..., Settings], tmp_path: Path) -> None:
    found = settings()
    assert found == Settings(
        home=tmp_path,
        store=f"sqlite:///{tmp_path}/pith.db",
        keyring=tmp_path / "keys" / "keyring.json",
        key=None,
        catalog=[],
        base_url="https://pith.science",
    )
    assert found.cache == tmp_path / "cache"


def test_home_is_the_users_data_folder_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    assert resolve({}, {}).home == tmp_path / "data"


def test_home_of_the_user_may_be_written_as_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve({}, {"PITH_HOME": "~/pith"}).home == tmp_path / "pith"


@pytest.mark.parametrize(
    ("name", "read"),
    [("store", str), ("keyring", str), ("key", str), ("base_url", str), ("catalog", lambda paths: str(paths[0]))],
)
def test_flag_goes_before_environment_before_file(
    settings: Callable[..., Settings], name: str, read: Callable[[Any], str]
) -> None:
    def value(where: str) -> str:
        return f"https://{where}.example" if name == "base_url" else f"/{where}"

    toml = f'{name} = "{value("file")}"'
    environment = {VARIABLES[name]: value("environment")}
    flag = [value("flag")] if name == "catalog" else value("flag")
    assert read(getattr(settings(toml=toml), name)) == value("file")
    assert read(getattr(settings(toml=toml, **environment), name)) == value("environment")
    assert read(getattr(settings({name: flag}, toml, **environment), name)) == value("flag")


@pytest.mark.parametrize("name", VARIABLES)
def test_empty_variable_counts_as_none(settings: Callable[..., Settings], name: str) -> None:
    assert settings(**{VARIABLES[name]: ""}) == settings()


def test_catalogue_of_the_environment_is_a_list_of_paths(settings: Callable[..., Settings]) -> None:
    assert settings(PITH_CATALOG=f"/a{os.pathsep}/b").catalog == [Path("/a"), Path("/b")]


def test_catalogue_of_the_file_may_be_a_list(settings: Callable[..., Settings]) -> None:
    assert settings(toml='catalog = ["/a", "/b"]').catalog == [Path("/a"), Path("/b")]


def test_paths_of_the_file_are_relative_to_its_folder(settings: Callable[..., Settings], tmp_path: Path) -> None:
    found = settings(toml=f'keyring = "ring.json"\ncatalog = "a{os.pathsep}b/c{os.pathsep}/d"')
    assert found.keyring == tmp_path / "ring.json"
    assert found.catalog == [tmp_path / "a", tmp_path / "b" / "c", Path("/d")]


def test_paths_of_flags_and_environment_are_as_given(settings: Callable[..., Settings]) -> None:
    assert settings({"keyring": "ring.json", "catalog": ["a"]}).keyring == Path("ring.json")
    assert settings(PITH_KEYRING="ring.json", PITH_CATALOG="a").catalog == [Path("a")]


@pytest.mark.parametrize(
    ("flags", "toml", "environment", "named"),
    [
        ({}, "", {}, False),
        ({"keyring": "a"}, "", {}, True),
        ({}, 'keyring = "a"', {}, True),
        ({}, "", {"PITH_KEYRING": "a"}, True),
    ],
)
def test_ring_is_named_by_flag_file_or_environment(
    settings: Callable[..., Settings], flags: dict[str, Any], toml: str, environment: dict[str, str], named: bool
) -> None:
    assert settings(flags, toml, **environment).keyring_is_named is named


@pytest.mark.parametrize("given", ["https://x.example/", "https://x.example//", "https://x.example"])
def test_base_url_has_no_slash_at_the_end(settings: Callable[..., Settings], given: str) -> None:
    assert settings({"base_url": given}).base_url == "https://x.example"


@pytest.mark.parametrize("given", ["x.example", "ftp://x.example", "https://é.example", "https://x\n", "javascript:1"])
def test_base_url_that_is_none_is_refused(settings: Callable[..., Settings], given: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        settings({"base_url": given})
    assert caught.value.field == "base_url"


@pytest.mark.parametrize(
    ("toml", "field"),
    [
        ("colour = 'red'", "colour"),
        ("home = '/x'", "home"),
        ("store = 1", "store"),
        ("key = true", "key"),
        ("keyring = ['a']", "keyring"),
        ("catalog = ['a', 1]", "catalog"),
        ("[base_url]", "base_url"),
        ("store =", ""),
    ],
)
def test_wrong_setting_in_the_file_is_refused_with_its_place(
    settings: Callable[..., Settings], tmp_path: Path, toml: str, field: str
) -> None:
    with pytest.raises(InvalidSetting) as caught:
        settings(toml=toml)
    assert (caught.value.file, caught.value.field) == (str(tmp_path / "pith-build.toml"), field)


def test_file_is_looked_at_even_where_a_flag_says_all(settings: Callable[..., Settings]) -> None:
    with pytest.raises(InvalidSetting):
        settings({"base_url": "https://x.example"}, "base_url = 1")


def test_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "pith-build.toml").mkdir()
    with pytest.raises(FileFailed):
        resolve({"home": str(tmp_path)}, {})


def test_home_that_is_not_there_has_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in (tmp_path / "none", tmp_path / "file"):
        assert resolve({"home": str(home)}, {}).home == home


def test_every_setting_with_a_variable_has_a_flag_but_for_those_of_a_place() -> None:
    variables = set(VARIABLES.values()) - {"PITH_OAI_INTERVAL", "PITH_CONTACT"}
    assert set(FLAGS) == {f"--{variable.removeprefix('PITH_').lower().replace('_', '-')}" for variable in variables}


@pytest.mark.parametrize(
    "url",
    [
        "http://[:]/oai",
        "http://[::::::::::::1]/oai",
        "http://a..b/oai",
        "http://.../oai",
        "http://a:99999/oai",
        "http://a:0/oai",
        "http://" + "a" * 64 + "/oai",
        "http:///oai",
        "https://user@example.org/oai",
    ],
)
def test_url_without_a_possible_host_is_refused(settings: Callable[..., Settings], url: str) -> None:
    with pytest.raises(InvalidSetting):
        settings(PITH_OAI_URL=url)
