"""Every error that the builder raises on purpose: one tree, a stable code each, and a next step.

The four families say what went wrong for the caller: the input can't be read (`InvalidInput`), the input is
readable but this item is refused (`Refused`), there is no fit signing key (`KeyUnusable`), or the world around
the builder failed (`StorageFailed`). Only `pith_builder.cli` turns families into exit codes.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self


class PithError(Exception):
    """The root of the tree. `code` is stable; `message` says what and why, `hint` what to do next."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, field: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.hint = hint
        self.file = ""
        self.line = 0
        self.input: str | None = None  # what was asked about, where a command line says so

    def at(self, *, file: str = "", line: int = 0) -> Self:
        """Say where the input stood; a place that is already known is kept."""
        self.file = self.file or file
        self.line = self.line or line
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)  # between processes; some take more than a message

    def __str__(self) -> str:
        place = ":".join(part for part in (self.file, str(self.line or "")) if part)
        return ": ".join(part for part in (place, self.field, self.message) if part)

    def to_dict(self) -> dict[str, Any]:
        """The error as the command line prints it with `--json`; what is not known is null."""
        return {
            "code": self.code,
            "message": cleaned(self.message),
            "field": cleaned(self.field) or None,
            "file": cleaned(self.file) or None,
            "line": self.line or None,
            "hint": self.hint or None,
        }


def _again(cls: type[PithError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> PithError:
    error = cls.__new__(cls, *arguments)
    error.__dict__.update(attributes)
    return error


def shown(value: object, limit: int = 60) -> str:
    """`repr(value)` for a message, cut to `limit` characters so that a hostile value can't flood a log."""
    try:
        return cut(repr(value[: limit + 1] if isinstance(value, str | bytes) else value), limit)
    except (RecursionError, ValueError):  # nested deeply, or an integer of very many digits
        return f"a {type(value).__name__}"


def cleaned(text: str) -> str:
    """`text` without what can't be encoded or printed, such as bytes of another encoding or terminal escapes."""
    if text.isprintable() and text.isascii():
        return text
    encodable = text.encode(errors="backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in encodable)


def cut(text: str, limit: int = 200) -> str:
    """`text`, or its first `limit` characters and an ellipsis."""
    return text if len(text) <= limit else text[:limit] + "…"


# --- the input can't be read -------------------------------------------------------------------------------


class InvalidInput(PithError):
    """What was given can't be read as what it should be."""

    code = "invalid_input"


class InvalidText(InvalidInput):
    """Text with a lone surrogate or U+0000."""

    code = "invalid_text"


class InvalidJson(InvalidInput):
    """Not JSON as the protocol allows it: syntax, duplicate keys, NaN, lone surrogates, trailing data."""

    code = "invalid_json"


class InvalidArxivId(InvalidInput):
    code = "invalid_arxiv_id"


class InvalidNumber(InvalidInput):
    """Not a pith number, short form or transcription form."""

    code = "invalid_number"


class InvalidMetadata(InvalidInput):
    """Metadata of a paper with a missing or wrong field; `problems` lists all of them."""

    code = "invalid_metadata"

    def __init__(self, problems: list[tuple[str, str]], *, hint: str = "") -> None:
        if len(problems) == 1:
            field, message = problems[0]
        else:
            field, message = "", "; ".join(f"{name}: {why}" for name, why in problems)
        super().__init__(message, field=field, hint=hint)
        self.problems = problems


class InvalidRecord(InvalidInput):
    """Not a pith record (or canonical record, or receipt) of a known form."""

    code = "invalid_record"


class InvalidEnrichment(InvalidInput):
    code = "invalid_enrichment"


class InvalidKeyRing(InvalidInput):
    code = "invalid_keyring"


class InvalidSetting(InvalidInput):
    """A setting from the environment or pith-build.toml that can't be read."""

    code = "invalid_setting"


# --- the input is readable, this item is refused -----------------------------------------------------------


class Refused(PithError):
    """The input was understood, and the answer is no."""

    code = "refused"


class LicenseUnknown(Refused):
    """The licence is not known; no record is built from that (PROTOCOL §2)."""

    code = "license_unknown"


class VersionMismatch(Refused):
    """A version was asked for that the metadata don't describe; `newest` is the highest that they do."""

    code = "version_mismatch"

    def __init__(self, message: str, newest: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.newest = newest


class ConflictingMetadata(Refused):
    """Two different descriptions of one id and version."""

    code = "conflicting_metadata"


class NotFound(Refused):
    """A paper or alias that is nowhere; the message says where was looked."""

    code = "not_found"


class Ambiguous(Refused):
    """A short form that stands for several numbers, listed in `candidates`."""

    code = "ambiguous"

    def __init__(self, message: str, candidates: list[str], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.candidates = candidates

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"candidates": self.candidates}


class AlteredRecord(Refused):
    """A record whose parts contradict each other; nothing is signed for it."""

    code = "altered_record"


class VerificationFailed(Refused):
    """Raised by `VerificationReport.require()`."""

    code = "verification_failed"


# --- no fit signing key ------------------------------------------------------------------------------------


class KeyUnusable(PithError):
    """The signing key is missing, locked or unfit."""

    code = "key_unusable"


class KeyMissing(KeyUnusable):
    code = "key_missing"


class KeyLocked(KeyUnusable):
    """The passphrase is wrong, or there is none."""

    code = "key_locked"


class KeyUnfit(KeyUnusable):
    """A key that must not be used: readable by others, damaged, or not the ring's active key."""

    code = "key_unfit"


# --- the world around the builder failed -------------------------------------------------------------------


class StorageFailed(PithError):
    """A file, the store or the network failed."""

    code = "storage_failed"


class FileFailed(StorageFailed):
    code = "file_failed"


class StoreFailed(StorageFailed):
    code = "store_failed"


class SourceFailed(StorageFailed):
    """A source of metadata over the network failed."""

    code = "source_failed"


class SourceUnreachable(SourceFailed):
    """No whole answer came in time."""

    code = "source_unreachable"


class SourceThrottled(SourceFailed):
    """The source asks to come back later than is waited for."""

    code = "source_throttled"


class SourceRefused(SourceFailed):
    """The source refuses the question, with an HTTP status that waiting won't change."""

    code = "source_refused"


class SourceMalformed(SourceFailed):
    """The source answered what can't be read as what it should be."""

    code = "source_malformed"

    def __init__(self, message: str, *, field: str = "", hint: str = "") -> None:
        super().__init__(message, field=field, hint=hint or "try again later; nothing was built on it")
