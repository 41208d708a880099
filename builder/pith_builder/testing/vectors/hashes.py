"""Tests of what is hashed: canonical JSON, and the sections of a snapshot (PROTOCOL §2, §5)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pith_builder.testing.vectors.model import Case, invalid, valid
from pith_builder.testing.vectors.real import Real


def canonical_json(real: Real) -> Iterator[Case]:
    for record in real.value("canonical_records.json"):
        text = json.dumps(dict(reversed(record["canonical_record"].items())), indent=1)
        yield valid("a published canonical record, its keys turned round", "Proven", "Real", json=text)
    for comment, text, *flags in _CANONICAL:
        yield valid(comment, *flags, json=text)
    yield valid("64 levels", "Depth", json="[" * 64 + "]" * 64)
    yield valid("64 levels of objects", "Depth", json='{"a":' * 64 + "1" + "}" * 64)
    for comment, text, *flags in _REFUSED:
        yield invalid(comment, *flags, json=text)
    yield invalid("65 levels", "Depth", json="[" * 65 + "]" * 65)
    yield invalid("65 levels of objects", "Depth", json='{"a":' * 65 + "1" + "}" * 65)
    yield invalid("ten thousand levels", "Depth", json="[" * 10_000)


_CANONICAL: tuple[tuple[str, ...], ...] = (
    ("no whitespace", ' { "a" : [ 1 , 2 ] ,\n\t"b" : { } }\r\n', "Proven"),
    ("an empty object", "{}"),
    ("an empty list", "[]"),
    ("a string alone", '"a"'),
    ("an empty string", '""'),
    ("true, false and null", "[true,false,null]"),
    ("an empty key", '{"":1}'),
    ("keys are sorted", '{"b":1,"a":2,"B":3,"_":4,"aa":5,"1":6}', "Proven"),
    ("keys are sorted at every depth", '[{"b":{"d":1,"c":2},"a":[{"f":1,"e":2}]}]', "Proven"),
    ("lists keep their order", "[3,1,2]", "Proven"),
    ("keys are sorted by UTF-16 code units", '{"\\uffee":1,"\\ud83d\\ude00":2,"\\ue000":3}', "Astral"),
    ("keys with escapes are sorted by what they mean", '{"\\u0062":1,"a":2}'),
    ("keys are not normalised", '{"\\u00e9":1,"e\\u0301":2}', "Unicode"),
    ("a key that starts another goes first", '{"ab":1,"a":2,"a\\u0000":3}'),
    ("keys __proto__ and constructor are keys like others", '{"__proto__":1,"constructor":2,"a":{"__proto__":{}}}'),
    ("integer keys are sorted as text", '{"10":1,"9":2,"1":3}'),
    ("zero", "0"),
    ("minus zero is zero", "-0", "Number"),
    ("a negative integer", "-17", "Number"),
    ("2^53 - 1", "9007199254740991", "Number"),
    ("-(2^53 - 1)", "-9007199254740991", "Number"),
    ("non-ASCII is not escaped", '"\\u00e9\\u4e2d\\ud835\\udd38"', "Unicode"),
    ("an escaped ASCII character is written plain", '"\\u0041\\u002f\\/"'),
    ("quote and backslash are escaped", '"\\"\\\\"'),
    ("the five short escapes", '"\\b\\t\\n\\f\\r"'),
    ("the same by \\u", '"\\u0008\\u0009\\u000a\\u000C\\u000D"'),
    ("other control characters in lower-case hex", '"\\u0000\\u000B\\u001F"'),
    ("DEL and C1 are not escaped", '"\\u007f\\u0080\\u009f"', "Unicode"),
    ("U+2028 and U+2029 are not escaped", '"\\u2028\\u2029"', "Unicode"),
    ("noncharacters and private use", '"\\uffff\\ue000\\udbff\\udfff"', "Unicode"),
    ("a slash is not escaped", '"</script>"'),
    ("a surrogate pair in escapes is one character", '"\\uD83D\\uDE00"', "Surrogate"),
    ("a byte order mark inside a string stays", '"\\ufeff"', "Unicode"),
    ("a string that looks like a number", '"1.0"'),
)

_REFUSED: tuple[tuple[str, ...], ...] = (
    ("nothing", "", "Syntax"),
    ("whitespace alone", " \n", "Syntax"),
    ("a key twice", '{"a":1,"a":2}', "DuplicateKey"),
    ("a key twice with the same value", '{"a":1,"a":1}', "DuplicateKey"),
    ("a key twice, one of them escaped", '{"a":1,"\\u0061":2}', "DuplicateKey"),
    ("a key twice, deep inside", '[{"a":{"b":1,"c":2,"b":3}}]', "DuplicateKey"),
    ("an empty key twice", '{"":1,"":2}', "DuplicateKey"),
    ("the key __proto__ twice", '{"__proto__":1,"__proto__":2}', "DuplicateKey"),
    ("a float", "1.5", "Number"),
    ("a float that is a whole number", "1.0", "Number"),
    ("an exponent", "1e2", "Number"),
    ("zero as a float", "[0.0]", "Number"),
    ("minus zero as a float", "-0.0", "Number"),
    ("2^53", "9007199254740992", "Number"),
    ("2^53 + 1, which a double can't hold", "9007199254740993", "Number"),
    ("-2^53", "-9007199254740992", "Number"),
    ("an integer of 5,000 digits", "1" * 5000, "Number"),
    ("a float beyond all doubles", "1e400", "Number"),
    ("NaN", "NaN", "Number"),
    ("Infinity", "[Infinity]", "Number"),
    ("-Infinity", "-Infinity", "Number"),
    ("a leading zero", "01", "Number"),
    ("a leading plus", "+1", "Number"),
    ("a point without a digit behind it", "1.", "Number"),
    ("a point without a digit before it", ".5", "Number"),
    ("hexadecimal", "0x10", "Number"),
    ("Arabic digits", "\u0661", "Number"),
    ("a lone high surrogate", '"\\ud800"', "Surrogate"),
    ("a lone low surrogate", '"\\udc00"', "Surrogate"),
    ("surrogates in the wrong order", '"\\udc00\\ud800"', "Surrogate"),
    ("a high surrogate before a letter", '"\\ud800a"', "Surrogate"),
    ("a lone surrogate in a key", '{"\\ud800":1}', "Surrogate"),
    ("trailing data", "{} {}", "Syntax"),
    ("a trailing brace", "{}}", "Syntax"),
    ("a trailing comma in a list", "[1,]", "Syntax"),
    ("a trailing comma in an object", '{"a":1,}', "Syntax"),
    ("a comment", "[1] // one", "Syntax"),
    ("single quotes", "{'a':1}", "Syntax"),
    ("a key without quotes", "{a:1}", "Syntax"),
    ("a control character in a string", '"a\tb"', "Syntax"),
    ("a newline in a string", '"a\nb"', "Syntax"),
    ("an unknown escape", '"\\x41"', "Syntax"),
    ("a short \\u escape", '"\\u12"', "Syntax"),
    ("a string without its end", '"a', "Syntax"),
    ("a list without its end", "[1", "Syntax"),
    ("words in capitals", "[TRUE]", "Syntax"),
    ("undefined", "undefined", "Syntax"),
    ("a byte order mark", "\ufeff{}", "Syntax"),
    ("a non-breaking space between", "[1,\u00a02]", "Syntax"),
    ("U+0000 behind the value", "{}\0", "Syntax"),
)


def snapshot(real: Real) -> Iterator[Case]:
    for name in ("claims", "references", "formal_canon", "author_claims"):
        yield valid(f"{name} without rows", "Proven", section=name, rows=[])
    yield valid("integrity without rows", "Proven", section="integrity", detectors_run=[], findings=[])
    for name in ("integrity_2604.22738", "integrity_2604.23340"):
        found = real.value(f"integrity/{name}.json")
        rows = {"detectors_run": found["detectors_run"], "findings": found["findings"]}
        yield valid("a published integrity section", "Proven", "Real", section="integrity", **rows)
    for comment, section, given in _ROWS:
        yield valid(comment, section=section, rows=given)
    for comment, detectors, findings in _FINDINGS:
        yield valid(comment, section="integrity", detectors_run=detectors, findings=findings)
    for comment, section, given in _NO_ROWS:
        yield invalid(comment, section=section, rows=given)
    for comment, detectors, findings in _NO_FINDINGS:
        yield invalid(comment, section="integrity", detectors_run=detectors, findings=findings)


_CLAIM = {
    "kind": "strongest_claim",
    "text": "It holds.",
    "source": "verdict.strongest_claim",
    "status": "machine_extracted",
    "claim_id": "C1",
    "attestation": "unclaimed",
}

_ROWS: tuple[tuple[str, str, list[Any]], ...] = (
    ("a claim", "claims", [_CLAIM]),
    ("the order of keys does not matter", "claims", [dict(reversed(_CLAIM.items()))]),
    ("the order of rows does", "claims", [{"claim_id": "C2"}, {"claim_id": "C1"}]),
    ("an empty row", "claims", [{}]),
    ("rows are open: anything that can be hashed", "claims", [{"x": [None, True, {"y": -1}], "": "\u00e9\U0001d538"}]),
    ("keys beyond the basic plane", "claims", [{"\uffee": 1, "\U0001f600": 2}]),
    ("a claim with 2^53 - 1", "claims", [{"n": 2**53 - 1}]),
    ("a reference that is not resolved", "references", [{"title": "A"}]),
    ("a reference that is resolved", "references", [{"title": "A", "resolved": True}]),
    ("an internal anchor", "references", [{"is_internal_anchor": True, "resolved": False}]),
    (
        "all rows are hashed and counted, not the 5 of the sample",
        "references",
        [{"ref_index": n, "resolved": n % 2 == 0, "is_internal_anchor": n > 6} for n in range(1, 9)],
    ),
    ("formal evidence", "formal_canon", [{"kind": "lean", "name": "x"}]),
    ("six pieces of formal evidence", "formal_canon", [{"n": n} for n in range(6)]),
    ("a strong author claim", "author_claims", [{"author": "A", "strength": "strong"}]),
    ("weak and strong author claims", "author_claims", [{"strength": "weak"}, {"strength": "strong"}] * 2),
)

_FINDINGS: tuple[tuple[str, list[Any], list[Any]], ...] = (
    ("detectors that found nothing are hashed", [{"name": "a", "version": "1"}], []),
    ("a finding without detectors", [], [{"detector": "a", "severity": "critical"}]),
    (
        "counts by severity and detector",
        [{"name": "b"}, {"name": "a"}],
        [
            {"detector": "b", "severity": "informational"},
            {"detector": "a", "severity": "advisory"},
            {"detector": "b", "severity": "critical"},
            {"detector": "b", "severity": "critical"},
        ],
    ),
    ("detectors with findings alone are in by_detector", [{"name": "a"}], [{"detector": "b", "severity": "advisory"}]),
    ("a finding with further fields", [{"name": "a"}], [{"detector": "a", "severity": "advisory", "at": {"line": 3}}]),
)

_NO_ROWS: tuple[tuple[str, str, Any], ...] = (
    ("a float in a row", "claims", [{"confidence": 0.5}]),
    ("a float deep inside", "references", [{"scores": [{"a": 0.25}]}]),
    ("an integer of 2^53", "formal_canon", [{"n": 2**53}]),
    ("a row that is no object", "claims", ["C1"]),
    ("rows that are no list", "references", {"a": 1}),
    ("null for rows", "claims", None),
    ("resolved that is no boolean", "references", [{"resolved": 1}]),
    ("is_internal_anchor that is no boolean", "references", [{"is_internal_anchor": "true"}]),
    ("an author claim without strength", "author_claims", [{"author": "A"}]),
    ("an author claim of another strength", "author_claims", [{"strength": "medium"}]),
    ("a lone surrogate in a row", "claims", [{"text": "\ud800"}]),
)

_NO_FINDINGS: tuple[tuple[str, list[Any], list[Any]], ...] = (
    ("a detector without a name", [{"version": "1"}], []),
    ("a finding without a detector", [], [{"severity": "critical"}]),
    ("a finding without severity", [], [{"detector": "a"}]),
    ("a finding of another severity", [], [{"detector": "a", "severity": "fatal"}]),
    ("a float in a finding", [], [{"detector": "a", "severity": "critical", "score": 1.5}]),
)
