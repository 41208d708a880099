"""The expected values of the vectors, computed by something else than the code under test (docs/vectors.md)."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import nacl.exceptions
import pytest
import rfc8785
from nacl.signing import SigningKey, VerifyKey

from pith_builder.testing.vectors import RULES

ROOT = Path(__file__).parents[2]
MARKS = {"Proven", "Seen", "Ours"}
WHITESPACE = re.compile("[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


def read(rule: str) -> dict[str, Any]:
    return dict(json.loads((ROOT / "fixtures" / "vectors" / f"{rule}.json").read_bytes()))


def answered(rule: str) -> list[dict[str, Any]]:
    """The tests of a rule that have an output."""
    return [test for test in read(rule)["tests"] if test["expected"] is not None]


def given(rule: str, field: str) -> Iterator[tuple[Any, dict[str, Any], str]]:
    """Of the tests with this input: the input, the output, and where it stands."""
    for test in answered(rule):
        if field in test["input"]:
            yield test["input"][field], test["expected"], f"{rule} {test['id']}"


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    """The plain script of the benchmarks."""
    spec = importlib.util.spec_from_file_location("plain", ROOT / "benchmarks" / "plain.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- the files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_file_is_ascii_and_its_ids_ascend_from_one(rule: str) -> None:
    assert (ROOT / "fixtures" / "vectors" / f"{rule}.json").read_bytes().isascii()
    tests = read(rule)["tests"]
    assert [test["id"] for test in tests] == list(range(1, len(tests) + 1))


@pytest.mark.parametrize("rule", RULES)
def test_every_test_has_one_mark_and_its_own_input(rule: str) -> None:
    tests = read(rule)["tests"]
    assert [test["id"] for test in tests if len(MARKS & set(test["flags"])) != 1] == []
    inputs = [json.dumps(test["input"]) for test in tests]
    assert sorted({text for text in inputs if inputs.count(text) > 1}) == []


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_tested_both_ways(rule: str) -> None:
    tests = read(rule)["tests"]
    assert len(tests) >= 20
    assert {"valid", "invalid"} <= {test["result"] for test in tests}


def test_only_what_the_registry_published_is_called_proven_and_real() -> None:
    real = [test for rule in ("rotation", "reissue") for test in read(rule)["tests"] if "Proven" in test["flags"]]
    assert real == []


# --- text --------------------------------------------------------------------------------------------------------


def test_the_hash_of_a_text_is_that_of_its_canonical_form() -> None:
    for _, expected, where in given("text", "text"):
        assert hashlib.sha256(expected["canonical"].encode()).hexdigest() == expected["sha256"], where


def test_ascii_text_is_lower_cased_and_collapsed() -> None:
    for text, expected, where in given("text", "text"):
        if text.isascii():
            assert expected["canonical"] == " ".join(text.lower().split()), where


def test_published_texts_have_their_published_hashes() -> None:
    known = set()
    for line in (ROOT / "fixtures" / "registry" / "cases.jsonl").read_bytes().splitlines():
        case = json.loads(line)
        known |= {case["title_canon_sha256"], case["abstract_canon_sha256"]}
    real = [test["expected"]["sha256"] for test in answered("text") if "Real" in test["flags"]]
    assert len(real) >= 10
    assert set(real) <= known


def test_a_canonical_text_has_no_whitespace_but_single_blanks() -> None:
    for _, expected, where in given("text", "text"):
        runs = WHITESPACE.findall(expected["canonical"])
        assert set(runs) <= {" "}, where
        assert expected["canonical"].strip(" ") == expected["canonical"], where


def test_published_author_lists_come_out() -> None:
    known = {case["raw_authors"]: case for case in json.loads((ROOT / "fixtures/registry/authors.json").read_bytes())}
    real = [test for test in answered("authors") if "Real" in test["flags"]]
    assert len(real) == len(known)
    for test in real:
        assert test["expected"]["authors_text"] in known[test["input"]["authors"]].values()


def test_ascii_authors_come_out_of_the_plain_script(plain: ModuleType) -> None:
    for raw, expected, where in given("authors", "authors"):
        if raw.isascii():
            assert expected["authors_text"] == plain.authors(raw), where


def test_excerpts_come_out_of_the_pattern_of_the_page() -> None:
    ends = f"^{WHITESPACE.pattern}|{WHITESPACE.pattern}$"
    wrap = re.compile(r"(\n {2,})|[ \t]*\n(?! {2})[ \t]*")
    for raw, expected, where in given("excerpt", "abstract"):
        text = re.sub(ends, "", raw).replace("\r\n", "\n").replace("\r", "\n")
        assert expected["excerpt"] == wrap.sub(lambda m: m[1] or " ", text)[:600], where


# --- names -------------------------------------------------------------------------------------------------------


def test_numbers_are_base32_of_the_digest() -> None:
    for digest, expected, where in given("number", "sha256"):
        _, _, suffix = expected["number"].split(":")
        assert suffix == base64.b32encode(bytes.fromhex(digest))[:26].decode(), where


def test_published_numbers_come_out() -> None:
    lines = (ROOT / "fixtures/registry/canonical_records.json").read_text()
    lines += (ROOT / "fixtures/registry/receipts.json").read_text()
    real = [test["expected"]["number"] for test in answered("number") if "Real" in test["flags"]]
    assert len(real) >= 10
    assert [number for number in real if number not in lines] == []


def test_short_forms_are_beginnings_of_base32() -> None:
    for digest, expected, where in given("short-forms", "sha256"):
        suffix = base64.b32encode(bytes.fromhex(digest)).decode()
        aliases = dict(expected["aliases"])
        assert expected["short_pith_number"] == f"pith:{suffix[:8]}", where
        assert [aliases[f"pith_short_{n}"] for n in (8, 12, 16)] == [suffix[:n] for n in (8, 12, 16)], where
        assert aliases["doi"] == f"10.48550/arxiv.{aliases['arxiv']}", where


CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U"
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def spoken(suffix: str) -> str:
    """The transcription form by Crockford's page: 26 symbols, and the number modulo 37."""
    values = [BASE32.index(symbol) for symbol in suffix]
    number = 0
    for value in values:
        number = 32 * number + value
    return "".join(CROCKFORD[value] for value in values) + CROCKFORD[number % 37]


def test_transcriptions_are_crockfords() -> None:
    for suffix, expected, where in given("transcription", "suffix"):
        text = spoken(suffix)
        assert expected["transcription"] == "-".join(text[i : i + 3] for i in range(0, 27, 3)), where
    for text, expected, where in given("transcription", "transcription"):
        heard = text.replace("-", "").replace(" ", "").upper().translate(str.maketrans("OIL", "011"))
        assert spoken(expected["suffix"]) == heard, where


# --- hashes ------------------------------------------------------------------------------------------------------


def test_canonical_json_is_that_of_an_independent_implementation() -> None:
    for text, expected, where in given("canonical-json", "json"):
        canonical = rfc8785.dumps(json.loads(text))
        assert expected["canonical"].encode() == canonical, where
        assert expected["sha256"] == hashlib.sha256(canonical).hexdigest(), where


def test_section_hashes_are_those_of_an_independent_implementation() -> None:
    for test in answered("snapshot"):
        rows = test["input"]
        payload = rows.get("rows", {"detectors": rows.get("detectors_run"), "findings": rows.get("findings")})
        digest = hashlib.sha256(rfc8785.dumps({"payload": payload})).hexdigest()
        assert test["expected"]["snapshot_sha256"] == digest, test["id"]
        if "rows" in rows:
            counted = "evidence_count" if rows["section"] == "formal_canon" else "count"
            assert test["expected"][counted] == len(rows["rows"]), test["id"]


# --- signatures --------------------------------------------------------------------------------------------------


def fits(public_key_b64: str, message: bytes, signature_b64: str) -> bool:
    try:
        VerifyKey(base64.b64decode(public_key_b64)).verify(message, base64.b64decode(signature_b64))
    except nacl.exceptions.BadSignatureError:
        return False
    return True


def test_receipts_that_are_valid_are_signed() -> None:
    for test in answered("receipt"):
        signature = json.loads(test["input"]["receipt"])["signature_b64"]
        digest = bytes.fromhex(test["input"]["canonical_sha256"])
        assert fits(test["input"]["public_key_b64"], digest, signature), test["id"]


def test_receipts_that_are_flagged_for_their_signature_are_not_signed() -> None:
    for test in read("receipt")["tests"]:
        if "Signature" in test["flags"]:
            signature = json.loads(test["input"]["receipt"])["signature_b64"]
            digest = bytes.fromhex(test["input"]["canonical_sha256"])
            if len(base64.b64decode(signature)) == 64:
                assert not fits(test["input"]["public_key_b64"], digest, signature), test["id"]


def test_records_are_those_of_the_plain_script(plain: ModuleType) -> None:
    compared = 0
    for test in answered("record"):
        values = test["input"]
        metadata = json.loads(values["metadata"])
        default = (values["base_url"], values["builder_version"]) == ("https://pith.science", plain.BUILDER)
        if values["enrichment"] or not default or not values["metadata"].isascii() or "/" in metadata["arxiv_id"]:
            continue
        if not re.fullmatch(r"\d{4}\.\d{5}", metadata["arxiv_id"]):
            continue
        assert built(plain, values, metadata) == json.loads(test["expected"]["record"]), test["id"]
        compared += 1
    assert compared >= 15


def built(plain: ModuleType, values: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    submitted = datetime.fromisoformat(metadata["submitted_at"]).strftime("%a, %d %b %Y %H:%M:%S GMT")
    versions = [{"version": f"v{n}", "created": submitted} for n in {1, metadata["version"]}]
    row = {**metadata, "id": metadata["arxiv_id"], "versions": versions}
    record = plain.canonical(row)
    digest = plain.digest_of(record)
    key = SigningKey(base64.b64decode(values["seed_b64"]))
    signature = base64.b64encode(key.sign(digest).signature).decode()
    readings = [datetime.fromisoformat(text) for text in values["readings"]]
    raised = [max(readings[: n + 1]) for n in range(3)]
    return dict(json.loads(plain.assemble(row, record, digest, signature, key, values["key_id"], raised)))


def test_published_records_come_out_byte_for_byte_but_for_the_key() -> None:
    for test, name in zip(answered("record"), ("2403.07648v2", "2407.14645v1"), strict=False):
        published = (ROOT / "fixtures" / "registry" / "seeds" / f"{name}.record.json").read_text().rstrip("\n")
        ours = test["expected"]["record"]
        theirs = json.loads(published)["receipt"]
        for field, value in json.loads(ours)["receipt"].items():
            if field in ("key_id", "signature_b64", "public_key_fingerprint"):
                ours = ours.replace(value, theirs[field])
        assert ours == published


def test_a_reissue_changes_the_receipt_and_updated_at_alone() -> None:
    for test in answered("reissue"):
        before, after = json.loads(test["input"]["record"]), json.loads(test["expected"]["record"])
        key = SigningKey(base64.b64decode(test["input"]["seed_b64"])).verify_key
        digest = bytes.fromhex(before["canonical_sha256"])
        key.verify(digest, base64.b64decode(after["receipt"]["signature_b64"]))
        assert after["receipt"]["first_computed_at"] == before["receipt"]["first_computed_at"], test["id"]
        assert after["updated_at"] >= before["updated_at"], test["id"]
        for record in (before, after):
            record.pop("receipt")
            record.pop("updated_at")
        assert after == before, test["id"]


# --- Unicode -----------------------------------------------------------------------------------------------------


class Ranges:
    """Lower-casing as §1 of the page tells it, one character after the other."""

    def __init__(self) -> None:
        table = json.loads((ROOT / "fixtures" / "vectors" / "unicode-14.0.json").read_bytes())
        self.cased, self.ignorable = members(table["cased"]), members(table["case_ignorable"])
        self.unassigned = members(table["unassigned"])

    def lower(self, text: str) -> str:
        return "".join(self._lowered(c, text[:i], text[i + 1 :]) for i, c in enumerate(text))

    def _lowered(self, c: str, before: str, after: str) -> str:
        if c != "\u03a3":
            return c if ord(c) in self.unassigned else c.lower()
        return "\u03c2" if self._meets_cased(before[::-1]) and not self._meets_cased(after) else "\u03c3"

    def _meets_cased(self, text: str) -> bool:
        """Whether the first character that is not passed over is cased; one that ends the piece is not."""
        return next((ord(c) in self.cased for c in text if ord(c) not in self.ignorable), False)


def test_the_published_ranges_give_the_check_value() -> None:
    ranges, digest = Ranges(), hashlib.sha256()
    for code_point in range(0x110000):
        if not 0xD800 <= code_point < 0xE000:
            c = chr(code_point)
            for text in (c, f"\u0391\u03a3{c}", f"\u0391\u03a3{c}\u0391", f"{c}\u03a3"):
                digest.update(ranges.lower(text).encode() + b"\n")
    assert digest.hexdigest() == "8270384eaea446b5487c41e868ff769c6c79e17a1d2141562b9958efca9d4bf5"


def test_the_published_ranges_lower_every_vector() -> None:
    ranges = Ranges()
    for text, expected, where in given("text", "text"):
        assert WHITESPACE.sub(" ", ranges.lower(text)).strip(" ") == expected["canonical"], where


def members(ranges: list[list[str]]) -> set[int]:
    return {code for first, last in ranges for code in range(int(first, 16), int(last, 16) + 1)}


def test_the_published_whitespace_is_what_a_split_takes_for_it() -> None:
    table = json.loads((ROOT / "fixtures" / "vectors" / "unicode-14.0.json").read_bytes())
    surrogates = range(0xD800, 0xE000)
    assert members(table["whitespace"]) == {n for n in range(0x110000) if n not in surrogates and not chr(n).split()}
