"""XML from outside: what is not plainly what it should be is refused, never repaired."""

from __future__ import annotations

import pytest

from pith_builder.errors import SourceMalformed
from pith_builder.sources import xml

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'

REFUSED = {
    "empty": b"",
    "no XML": b"<html><body>Down for maintenance<br></body></html>",
    "cut in a text": DECLARATION + b"<a><b>half of an abst",
    "cut in a tag": DECLARATION + b"<a><b>text</b",
    "cut behind an element": DECLARATION + b"<a><b>text</b>",
    "two roots": b"<a/><a/>",
    "text behind the root": b"<a/>more",
    "unknown entity": b"<a>caf&eacute;</a>",
    "bare ampersand": b"<a>A&B</a>",
    "control character": b"<a>\x01</a>",
    "NUL": b"<a>\x00</a>",
    "NUL as a reference": b"<a>&#0;</a>",
    "lone surrogate as a reference": b"<a>&#xD800;</a>",
    "bytes of another encoding": "<a>é</a>".encode("latin-1"),
    "another encoding declared": b'<?xml version="1.0" encoding="ISO-8859-1"?><a/>',
    "UTF-16": '<?xml version="1.0" encoding="UTF-16"?><a/>'.encode("utf-16"),
    "document type": b"<!DOCTYPE a><a/>",
    "document type in capitals of a later version": DECLARATION + b"<!DOCTYPE html><a/>",
    "document type behind a comment": DECLARATION + b"<!-- c -->\n<?p i?>\n<!DOCTYPE a><a/>",
    "entity of its own": b'<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>',
    "file as an entity": b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>',
    "duplicate attribute": b'<a b="1" b="2"/>',
    "undeclared prefix": b"<p:a/>",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_document_that_is_not_plain_xml_in_utf_8_is_refused(body: bytes) -> None:
    with pytest.raises(SourceMalformed):
        xml.parse(body)


def test_entities_that_would_fill_the_memory_are_refused_before_they_expand() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY x0 "ha">'
    bomb += b"".join(b'<!ENTITY x%d "%s">' % (n, b"&x%d;" % (n - 1) * 20) for n in range(1, 20))
    with pytest.raises(SourceMalformed, match="document type"):
        xml.parse(bomb + b']><a b="&x19;">&x19;</a>')


ACCEPTED = {
    "bare": b"<a>text</a>",
    "byte order mark": b"\xef\xbb\xbf<a>text</a>",
    "declared": DECLARATION + b"<a>text</a>",
    "declared in lower case": b"<?xml version='1.0' encoding='utf-8' ?><a>text</a>",
    "declared as ASCII": b'<?xml version="1.0" encoding="US-ASCII"?><a>text</a>',
    "no encoding declared": b'<?xml version="1.0"?><a>text</a>',
    "comment before": b"<!-- <!DOCTYPE a> --><a>text</a>",
    "CDATA": b"<a><![CDATA[text]]></a>",
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_plain_document_is_read(body: bytes) -> None:
    assert xml.parse(body).text == "text"


@pytest.mark.parametrize("prolog", [b" " * 100_000, b"\n" * 100_000, b"<!-- c -->" * 10_000, b"<?p i?>\n" * 10_000])
def test_long_prolog_takes_no_longer_than_its_length(prolog: bytes) -> None:
    """A pattern that goes back would take longer than the test does."""
    assert xml.parse(prolog + b"<a>text</a>").text == "text"
    with pytest.raises(SourceMalformed, match="document type"):
        xml.parse(prolog + b"<!DOCTYPE a><a/>")


def test_text_that_speaks_of_document_types_is_text() -> None:
    assert xml.parse(b"<a><![CDATA[<!DOCTYPE html>]]></a>").text == "<!DOCTYPE html>"


def test_text_of_more_than_ten_megabytes_is_read_whole() -> None:
    assert len(xml.parse(b"<a>" + b"x" * 12_000_000 + b"</a>").text or "") == 12_000_000


def test_text_keeps_its_white_space_and_characters() -> None:
    root = xml.parse("<a><t>  A\n  B &lt;&amp; \U0001d49c\r\n</t></a>".encode())
    assert xml.text(root, "t") == "  A\n  B <& \U0001d49c\n"


@pytest.mark.parametrize("inner", ["x<!-- c -->y", "x<?p i?>y", "x<b>y</b>", "<b/>"])
def test_field_that_holds_more_than_text_is_refused(inner: str) -> None:
    with pytest.raises(SourceMalformed, match="more than text") as caught:
        xml.text(xml.parse(f"<a><t>{inner}</t></a>".encode()), "t")
    assert caught.value.field == "t"


def test_field_that_stands_twice_is_refused() -> None:
    with pytest.raises(SourceMalformed, match="several times") as caught:
        xml.text(xml.parse(b'<a xmlns="urn:x"><t>1</t><t>1</t></a>'), "{urn:x}t")
    assert caught.value.field == "t"


def test_field_of_another_namespace_is_not_the_field() -> None:
    root = xml.parse(b'<a xmlns="urn:x"><t>1</t></a>')
    assert xml.text(root, "t") is None
    with pytest.raises(SourceMalformed, match="is missing"):
        xml.needed_text(root, "{urn:y}t")
    with pytest.raises(SourceMalformed, match="is missing"):
        xml.needed(root, "{urn:y}t")


def test_empty_field_is_an_empty_text_and_no_field_is_none() -> None:
    root = xml.parse(b"<a><t/></a>")
    assert xml.text(root, "t") == ""
    assert xml.text(root, "u") is None
