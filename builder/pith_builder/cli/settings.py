"""Settings: flag, then environment variable, then `pith-build.toml` in the home folder, then the default.

The file is looked for in the home folder alone: what a verifier trusts must not change with the folder it is
started in (docs/decisions/0003).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from pith_builder.errors import FileFailed, InvalidSetting, shown

_BASE_URL = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?(?:/[A-Za-z0-9._~/-]*)?", re.ASCII)

_SECONDS = re.compile(r"\d{1,4}(?:\.\d{1,6})?", re.ASCII)
_CONTACT = re.compile(r"[!-'*-~](?:[ -'*-~]{0,198}[!-'*-~])?", re.ASCII)  # no parentheses: it stands between some
_WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}

FILE_NAME = "pith-build.toml"

#: Setting -> its environment variable. The flag is the name with hyphens.
VARIABLES = {
    "home": "PITH_HOME",
    "store": "PITH_STORE",
    "keyring": "PITH_KEYRING",
    "key": "PITH_KEY",
    "catalog": "PITH_CATALOG",
    "base_url": "PITH_BASE_URL",
    "oai_url": "PITH_OAI_URL",
    "atom_url": "PITH_ATOM_URL",
    "oai_interval": "PITH_OAI_INTERVAL",
    "contact": "PITH_CONTACT",
    "offline": "PITH_OFFLINE",
}

_WITHOUT_FLAG = ("oai_interval", "contact")
_WITHOUT_VALUE = ("offline",)

#: Flag -> whether a value follows it.
FLAGS = {f"--{name.replace('_', '-')}": name not in _WITHOUT_VALUE for name in VARIABLES if name not in _WITHOUT_FLAG}


class Settings(msgspec.Struct, frozen=True):
    """The settings of one run. `key` is a signer's URI, None for the ring's active key in the home folder.

    `oai_interval` is in seconds, `contact` what arXiv may write to, as it stands in the User-Agent.
    """

    home: Path
    store: str
    keyring: Path
    key: str | None
    catalog: list[Path]
    base_url: str
    oai_url: str = "https://oaipmh.arxiv.org/oai"
    atom_url: str = "https://export.arxiv.org/api/query"
    oai_interval: float = 3.0
    contact: str = "https://pith.science"
    offline: bool = False
    keyring_is_named: bool = False

    @property
    def cache(self) -> Path:
        return self.home / "cache"


def resolve(flags: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """The settings that follow from flags and environment. Raises InvalidSetting or FileFailed."""
    given = {name: flags.get(name) or environment.get(variable) for name, variable in VARIABLES.items()}
    try:
        home = Path(given["home"] or _default_home()).expanduser()
    except RuntimeError:
        raise InvalidSetting("names the folder of a user that isn't known", field="home") from None
    from_file = _read(home / FILE_NAME)
    for name in ("keyring", "catalog"):  # paths in the file are relative to its folder
        if name in from_file:
            from_file[name] = _beside(home, from_file[name])
    values = {name: given[name] or from_file.get(name) for name in VARIABLES}
    network = _network(values)
    for name, value in (values | {"home": str(home)}).items():
        if value is not None and not str(value).isprintable():
            raise InvalidSetting("holds control characters, or bytes that are no UTF-8", field=name)
    catalog = values["catalog"] or []
    if isinstance(catalog, str):
        catalog = [path for path in catalog.split(os.pathsep) if path]
    base_url = _url("base_url", values["base_url"] or "https://pith.science")
    return Settings(
        home=home,
        store=values["store"] or f"sqlite:///{quote(str((home / 'pith.db').absolute()))}",
        keyring=Path(values["keyring"] or home / "keys" / "keyring.json"),
        key=values["key"],
        catalog=[Path(path) for path in catalog],
        base_url=base_url.rstrip("/"),
        keyring_is_named=values["keyring"] is not None,
        **network,
    )


def _network(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the network that are given, checked."""
    found: dict[str, Any] = {}
    for name in ("oai_url", "atom_url"):
        if value := values[name]:
            found[name] = _url(name, value)
    if value := values["oai_interval"]:
        if not _SECONDS.fullmatch(value):
            raise InvalidSetting(f"{shown(value)} is no number of seconds up to 9999", field="oai_interval")
        found["oai_interval"] = float(value)
    if value := values["contact"]:
        if not _CONTACT.fullmatch(value):
            raise InvalidSetting(
                f"{shown(value)} can't stand in a User-Agent", field="contact", hint="as mailto:registry@example.org"
            )
        found["contact"] = value
    if value := values["offline"]:
        if (word := str(value).lower()) not in _WORDS:
            raise InvalidSetting(f"{shown(value)} is none of {', '.join(_WORDS)}", field="offline")
        found["offline"] = _WORDS[word]
    return found


def _url(name: str, value: str) -> str:
    if not _BASE_URL.fullmatch(value) or not _has_host(value):
        raise InvalidSetting(
            f"{shown(value)} is no http(s) URL of host and path alone", field=name, hint="as https://example.org"
        )
    return value


def _has_host(url: str) -> bool:
    """Whether its host and port are such, as far as that can be told without asking."""
    try:
        parts = urlsplit(url)
        labels = (parts.hostname or "").split(".")
        return parts.port != 0 and (":" in labels[0] or all(0 < len(label) < 64 for label in labels))
    except ValueError:
        return False


def _beside(folder: Path, paths: str | list[str]) -> str | list[str]:
    if isinstance(paths, list):
        return [str(folder / path) for path in paths]
    return os.pathsep.join(str(folder / path) for path in paths.split(os.pathsep))


def _default_home() -> str:
    import platformdirs

    return platformdirs.user_data_dir("pith-build", appauthor=False)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise FileFailed(f"can't read the settings: {error.strerror}").at(file=str(path)) from None
    import tomllib

    try:
        values = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidSetting(str(error)).at(file=str(path)) from None
    for name, value in values.items():
        if name == "home" or name not in VARIABLES:
            raise InvalidSetting(
                "is no setting of this file", field=name, hint=f"it may hold: {', '.join(list(VARIABLES)[1:])}"
            ).at(file=str(path))
        listed = name == "catalog" and isinstance(value, list) and all(isinstance(item, str) for item in value)
        plain = (name == "oai_interval" and type(value) in (int, float)) or (name == "offline" and type(value) is bool)
        if plain:
            values[name] = str(value)
        elif not isinstance(value, str) and not listed:
            raise InvalidSetting("is not a string", field=name).at(file=str(path))  # which may hold a password
    return values
