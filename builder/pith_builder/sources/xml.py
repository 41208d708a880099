"""XML from outside, read strictly: what is cut, ambiguous or not plainly text is refused, never repaired.

A forgiving parser would make wrong permanent numbers (docs/decisions/0010).
"""

from __future__ import annotations

import re

from lxml import etree

from pith_builder.errors import SourceMalformed, cut

_ENCODING = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")
_PROLOG_WITH_DOCTYPE = re.compile(rb"(?:\s++|(?><\?.*?\?>)|(?><!--.*?-->))*+<!DOCTYPE", re.DOTALL)  # never backtracks
_BOM = b"\xef\xbb\xbf"


def parse(body: bytes) -> etree._Element:
    """The root of a document in UTF-8. Raises SourceMalformed, also for a document type, which could hold entities."""
    body = body.removeprefix(_BOM)
    declared = _ENCODING.match(body)
    if declared and declared[1].lower() not in (b"utf-8", b"us-ascii"):
        raise SourceMalformed(f"its XML is declared as {declared[1].decode(errors='replace')}, not UTF-8")
    if _PROLOG_WITH_DOCTYPE.match(body):
        raise SourceMalformed("its XML has a document type, which the protocol doesn't")
    # A text beyond 10 MB needs huge_tree; the caller bounds the whole, and without a document type nothing expands.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True, encoding="utf-8")
    try:
        return etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise SourceMalformed(f"its XML can't be read: {cut(str(error))}") from None


def only(parent: etree._Element, name: str) -> etree._Element | None:
    """The one child element of that name (`{namespace}local`); None without. Raises SourceMalformed for several."""
    found = parent.findall(name)
    if len(found) > 1:
        raise SourceMalformed("stands several times", field=_local(name))
    return found[0] if found else None


def needed(parent: etree._Element, name: str) -> etree._Element:
    """The one child element of that name. Raises SourceMalformed."""
    if (found := only(parent, name)) is None:
        raise SourceMalformed("is missing", field=_local(name))
    return found


def text(parent: etree._Element, name: str) -> str | None:
    """The text of the one child of that name, None without. Raises SourceMalformed if it isn't just text."""
    element = only(parent, name)
    if element is None:
        return None
    if len(element):  # an element, a comment or an instruction would cut the text
        raise SourceMalformed("holds more than text", field=_local(name))
    return element.text or ""


def needed_text(parent: etree._Element, name: str) -> str:
    """The text of the one child of that name. Raises SourceMalformed."""
    if (found := text(parent, name)) is None:
        raise SourceMalformed("is missing", field=_local(name))
    return found


def _local(name: str) -> str:
    return name.rpartition("}")[2]
