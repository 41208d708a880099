"""What people call a paper or a record: an arXiv id, DOI or URL, a pith number in any of its forms."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from pith_builder.arxiv_id import ArxivId
from pith_builder.errors import InvalidArxivId, InvalidInput, InvalidNumber
from pith_builder.number import SUFFIX_LENGTH, PithNumber


class InvalidAlias(InvalidInput):
    """Neither an arXiv id nor a pith number."""

    code = "invalid_alias"


def parse_alias(s: str) -> ArxivId | PithNumber:
    """The paper (with or without version) or the number that `s` names. Raises InvalidAlias."""
    try:
        return ArxivId.parse(_asked_in_link(s.strip()) or s)
    except InvalidArxivId as error:
        as_id = error.message
    reasons = []
    for parse in (PithNumber.parse, PithNumber.from_transcription):
        try:
            return parse(s)
        except InvalidNumber as error:
            reasons.append(error.message)
    as_number, as_transcription = reasons
    if "pith" in s.lower():
        reason = as_number
    elif len(s.replace("-", "").replace(" ", "")) == SUFFIX_LENGTH + 1:
        reason = as_transcription
    else:
        reason = as_id if any(c in s for c in "./") else as_number
    raise InvalidAlias(reason, hint="give an arXiv id, a DOI, a pith number, a short form or the URL of one of them")


def _asked_in_link(s: str) -> str | None:
    """What a resolve link (PROTOCOL §8) asks for."""
    try:
        parts = urlsplit(s)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.path.endswith("/resolve"):
        return None
    return next(iter(parse_qs(parts.query).get("arxiv", ())), None)
