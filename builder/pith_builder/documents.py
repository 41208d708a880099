"""Reading JSON that comes from outside, and writing it again without losing what we don't know.

Strict (DESIGN "closed objects"): duplicate keys, NaN and infinities, lone surrogates, invalid UTF-8, trailing
data and nesting beyond `MAX_DEPTH` are errors. Open objects keep unknown fields on a round trip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import msgspec

from pith_builder.canonical import jsonb_order
from pith_builder.errors import InvalidInput, InvalidJson, cut, shown

#: Objects and lists inside each other, at most.
MAX_DEPTH = 64

#: A document, or a line of a JSON Lines file, at most (bytes).
MAX_DOCUMENT = 16 * 2**20

T = TypeVar("T")


# --- strict JSON ---------------------------------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidJson(f"the key {shown(key)} stands twice in one object", hint="keep one of the two")
            seen.add(key)
    return found


def _constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise InvalidJson(f"the number {shown(text)} is out of range")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_float)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def loads(data: bytes | str) -> Any:
    """The value of one strict JSON text. Raises InvalidJson, with the line if there are several."""
    if len(data) > MAX_DOCUMENT:
        raise InvalidJson(f"longer than {MAX_DOCUMENT} bytes")
    if isinstance(data, bytes) and (value := _without_repeated_keys(data)) is not None:
        return value
    try:
        text = data if isinstance(data, str) else data.decode()
        value = _DECODER.decode(text)
        if _SURROGATE_ESCAPE.search(text) or not text.isascii():
            _check_surrogates(value)
        if text.count("[") + text.count("{") > MAX_DEPTH:
            check_depth(value)
    except UnicodeDecodeError as error:
        packed = data[:2] == b"\x1f\x8b" or data[:4] == b"\x28\xb5\x2f\xfd"
        hint = "unpack it first" if packed else "save the file as UTF-8"
        raise InvalidJson(f"invalid UTF-8 at byte {error.start}", hint=hint) from None
    except json.JSONDecodeError as error:
        raise InvalidJson(f"{error.msg.removesuffix(' at')} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:  # Python refuses to read an integer of more than 4,300 digits
        raise InvalidJson("a number has too many digits") from None
    return value


def _without_repeated_keys(data: bytes) -> Any:
    """The short way, several times faster: the value of JSON in which no key stands twice, else None.

    Bytes that come out again when their value is written have lost nothing. In other spellings the colons tell: each
    key has one, and those in strings stay. A key that stands twice is read once, and so is its colon, unless a colon
    of a string was spelled as an escape.
    """
    try:
        value = msgspec.json.decode(data)
        compact = msgspec.json.encode(value)
        usual = data == compact or data == msgspec.json.format(compact, indent=0)
        if not usual and (compact.count(b":") != data.count(b":") or b"\\u003" in data):
            return None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        check_depth(value)
    return value


def check_depth(value: Any, limit: int = MAX_DEPTH) -> None:
    """Raise InvalidJson for objects and lists nested deeper than `limit`, before anything recurses into them."""
    level = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> InvalidJson:
    return InvalidJson(f"nested deeper than {MAX_DEPTH}")


def _children(value: Any) -> list[Any]:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [child for child in children if isinstance(child, dict | list)]


def _check_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InvalidJson(f"lone surrogate {shown(error.object[error.start])}") from None


# --- typed documents -------------------------------------------------------------------------------------------


class Document(msgspec.Struct, frozen=True, dict=True):
    """A typed JSON document with open objects: what its Structs don't name is kept, and reported by `unknown`.

    `error` is what reading raises; `jsonb_blocks` are the top-level fields that are written in JSONB order.
    """

    error: ClassVar[type[InvalidInput]] = InvalidInput
    jsonb_blocks: ClassVar[tuple[str, ...]] = ()
    max_depth: ClassVar[int] = MAX_DEPTH
    #: Opening brackets that every document has, and that don't stand inside each other beyond a few.
    own_brackets: ClassVar[int] = 0

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read one document. Raises InvalidJson, or the document's own error with the field at fault."""
        if (document := cls._from_own_form(data)) is not None:
            return document
        return cls.from_value(loads(data))

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """Read a document from what `loads` gave."""
        check_depth(value, cls.max_depth)
        if cls.jsonb_blocks and isinstance(value, dict):
            value = {key: jsonb_order(part) if key in cls.jsonb_blocks else part for key, part in value.items()}
        document = typed(cls, value, cls.error)
        has_unknown = next(_unknown(msgspec.to_builtins(document), value, ""), None) is not None
        return document.with_layout(value if has_unknown else None)

    @classmethod
    def _from_own_form(cls, data: bytes | str) -> Self | None:
        """The short way: bytes that we would write ourselves hold nothing twice and nothing unknown."""
        try:
            raw = data if isinstance(data, bytes) else data.encode()
            document = msgspec.json.decode(raw, type=cls)
            is_own = msgspec.json.encode(document) == raw and document.is_ordered() and not document.may_be_deep(raw)
            return document if is_own else None
        except (msgspec.MsgspecError, UnicodeError, RecursionError, InvalidInput):
            return None

    def is_ordered(self) -> bool:
        """Whether what the Structs don't order is in JSONB order, where it has to be."""
        return True

    def may_be_deep(self, raw: bytes) -> bool:
        """Whether this document, written as `raw`, could be nested too deeply; the long way then looks closer."""
        return raw.count(b"{") + raw.count(b"[") > self.max_depth + self.own_brackets

    @property
    def layout(self) -> dict[str, Any] | None:
        """The document as it was read, if it had fields that the Structs don't name."""
        return self.__dict__.get("layout")

    def with_layout(self, layout: dict[str, Any] | None) -> Self:
        """The same document, written with the unknown fields of `layout`."""
        copy = msgspec.structs.replace(self)
        if layout is not None:
            copy.__dict__["layout"] = layout
        return copy

    def replace(self, **changes: Any) -> Self:
        """A copy with other values in some fields; unknown fields stay."""
        return msgspec.structs.replace(self, **changes).with_layout(self.layout)

    def to_json(self) -> bytes:
        """The document as compact JSON, non-ASCII unescaped, UTF-8."""
        if self.layout is None:
            return msgspec.json.encode(self)
        whole = _laid_out(msgspec.to_builtins(self), self.layout)
        for name in self.jsonb_blocks:
            if name in whole:
                whole[name] = jsonb_order(whole[name])
        return msgspec.json.encode(whole)

    def unknown(self) -> list[str]:
        """Paths of the fields that the Structs don't name, as `paper.note` or `aliases[0].note`."""
        return [] if self.layout is None else list(_unknown(msgspec.to_builtins(self), self.layout, ""))


def typed(cls: type[T], value: Any, error: type[InvalidInput]) -> T:
    """`value` as a `cls`; raises `error` with the field at fault."""
    try:
        return msgspec.convert(value, cls)
    except msgspec.ValidationError as failure:
        message, _, path = str(failure).partition(" - at `$")
        raise error(cut(message.replace("Object ", "")), field=cut(path.strip("`."))) from None


def _laid_out(known: Any, layout: Any) -> Any:
    """`known` with what only `layout` has, each unknown field behind the field that it followed there."""
    if isinstance(known, dict) and isinstance(layout, dict):
        followers: dict[str | None, dict[str, Any]] = {}
        last = None
        for key, value in layout.items():
            if key in known:
                last = key
            else:
                followers.setdefault(last, {})[key] = value
        merged = followers.get(None, {})
        for key, value in known.items():
            merged[key] = _laid_out(value, layout.get(key))
            merged |= followers.get(key, {})
        return merged
    if isinstance(known, list) and isinstance(layout, list) and len(known) == len(layout):
        return [_laid_out(item, other) for item, other in zip(known, layout, strict=True)]
    return known


def _unknown(known: Any, layout: Any, path: str) -> Iterator[str]:
    if isinstance(known, dict) and isinstance(layout, dict):
        for key, value in layout.items():
            place = f"{path}.{key}" if path else key
            if key in known:
                yield from _unknown(known[key], value, place)
            else:
                yield place
    elif isinstance(known, list) and isinstance(layout, list):
        for i, (item, other) in enumerate(zip(known, layout, strict=False)):
            yield from _unknown(item, other, f"{path}[{i}]")
