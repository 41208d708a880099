"""The properties of Unicode 14.0 that PROTOCOL §1 needs, as ranges that any language can read."""

from __future__ import annotations

import json
import re

from pith_builder import _unicode14_tables as tables

#: What `str.split` takes for whitespace (PROTOCOL §1).
_WHITESPACE = r"\u0009-\u000d\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028-\u2029\u202f\u205f\u3000"
_RANGE = re.compile(r"\\[uU]([0-9a-f]+)(?:-\\[uU]([0-9a-f]+))?")


def unicode_file() -> bytes:
    """`unicode-14.0.json`: property -> ranges of code points, both ends included, as hex; one range a line."""
    properties = {
        "unassigned": tables.UNASSIGNED,
        "cased": tables.CASED,
        "case_ignorable": tables.CASE_IGNORABLE,
        "whitespace": _WHITESPACE,
    }
    about = "Ranges [first, last] of code points in hex, both included; docs/protocol.md §1 tells what they are for"
    head = {"schema": "pith-unicode/1", "unicode": "14.0.0", "about": about}
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    parts += [f"{json.dumps(name)}: [\n{_lines(table)}\n]" for name, table in properties.items()]
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def _lines(table: str) -> str:
    return ",\n".join(f' ["{first.upper()}", "{(last or first).upper()}"]' for first, last in _RANGE.findall(table))
