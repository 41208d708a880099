"""The two orders of JSON: canonical JSON for hashing, PostgreSQL's JSONB order for publishing (PROTOCOL §2, §4)."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from pith_builder.errors import InvalidInput, shown

#: The first integer beyond what every language's JSON reads exactly (PROTOCOL §2).
INTEGER_LIMIT = 2**53


class NotCanonical(InvalidInput):
    """A value that has no canonical form: a float, a large integer, a lone surrogate, a key that is no string."""

    code = "not_canonical"


def canonical_bytes(obj: object) -> bytes:
    """The canonical JSON of `obj`, UTF-8: RFC 8785 for what the protocol hashes (PROTOCOL §2).

    Takes dicts with string keys, lists, tuples, strings, booleans, None and integers between -2^53 and 2^53
    (both excluded). Raises NotCanonical for anything else, so that the form can't differ between languages.
    """
    try:
        return msgspec.json.encode(_ordered(obj, ""))
    except UnicodeEncodeError as error:
        raise NotCanonical(f"lone surrogate {shown(error.object[error.start])}") from None
    except RecursionError:
        raise NotCanonical("nested too deeply") from None


def digest(obj: object) -> bytes:
    """SHA-256 of `canonical_bytes(obj)`, 32 bytes (PROTOCOL §2)."""
    return hashlib.sha256(canonical_bytes(obj)).digest()


def _ordered(value: object, path: str) -> object:
    if isinstance(value, str) or value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        if -INTEGER_LIMIT < value < INTEGER_LIMIT:
            return value
        raise NotCanonical("integer of 2^53 or more", field=path, hint="give it as a string")
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise NotCanonical(f"key {shown(key)} is not a string", field=path)
        return {key: _ordered(value[key], f"{path}.{key}" if path else key) for key in sorted(value, key=_utf16)}
    if isinstance(value, list | tuple):
        return [_ordered(item, f"{path}[{i}]") for i, item in enumerate(value)]
    hint = "give it as a string or an integer" if isinstance(value, float) else ""
    raise NotCanonical(f"{type(value).__name__} has no canonical form", field=path, hint=hint)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def jsonb_order(value: Any) -> Any:
    """`value` with the keys of all objects in JSONB order: by length in bytes, then by bytes (PROTOCOL §4)."""
    if isinstance(value, dict):
        return {key: jsonb_order(value[key]) for key in sorted(value, key=_jsonb)}
    if isinstance(value, list):
        return [jsonb_order(item) for item in value]
    return value


def _jsonb(key: str) -> tuple[int, bytes]:
    encoded = key.encode()
    return len(encoded), encoded
