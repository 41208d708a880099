"""Every kind of fixture is what its name says, verifies, and is told from the others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import msgspec
import pytest

from pith_builder import PaperMetadata, PithRecord, verify
from pith_builder.issue import needs_reissue
from pith_builder.rotation import follow
from pith_builder.testing.chain import ACTIVE, COMPROMISED, RETIRED, SUPERSEDED, make_chain
from pith_builder.testing.kinds import KINDS, MAX_COUNT, make
from pith_builder.testing.traps import TRAPS
from pith_builder.text import canonical_text, excerpt, unwrap
from pith_builder.times import parse_receipt_time, parse_record_time
from pith_builder.unicode14 import lower

#: Signed by a key that was compromised later; the only kind that fails today.
COMPROMISED_KIND = "revoked-key"


@pytest.mark.parametrize("name", KINDS)
def test_a_record_of_each_kind_verifies_with_the_ring_and_from_the_pins(name: str) -> None:
    chain, made = make_chain(3), make(name, 3)
    for ring in (chain.ring, follow(chain.pins, chain.ring)):
        report = verify(made.record.to_json(), ring, PaperMetadata(**made.metadata))
        assert [check.name for check in report.failed] == (["key_valid"] if name == COMPROMISED_KIND else [])


@pytest.mark.parametrize("name", KINDS)
def test_a_record_of_each_kind_is_written_as_it_was_read(name: str) -> None:
    data = make(name).record.to_json()
    assert PithRecord.from_json(data).to_json() == data


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_says_in_one_line_what_it_is_for(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    about = KINDS[name].about
    assert about
    assert "\n" not in about
    assert len(about) < 100


def test_no_two_papers_have_an_id_or_a_number_in_common() -> None:
    records = [make(name, 0, n).record for name in KINDS for n in (1, 2, MAX_COUNT)]
    assert len({record.canonical_record.source.id for record in records}) == len(records)
    assert len({record.pith_number for record in records}) == len(records)


def test_another_seed_gives_other_papers_and_other_keys() -> None:
    one, other = make("minimal", 0).record, make("minimal", 1).record
    assert one.pith_number != other.pith_number
    assert one.receipt.public_key_fingerprint != other.receipt.public_key_fingerprint
    assert one.receipt.key_id != other.receipt.key_id


def test_all_keys_say_that_they_are_for_tests() -> None:
    assert all(key.key_id.startswith("TEST-") for seed in (0, 5) for key in make_chain(seed).ring.keys)


def test_the_ring_has_a_key_in_every_state() -> None:
    assert {key.state for key in make_chain(0).ring.keys} == {"next", "active", "retired", "revoked"}
    assert {key.use for key in make_chain(0).ring.keys} == {"receipts", "recovery"}


@pytest.mark.parametrize("length", [599, 600, 601])
def test_the_abstract_of_an_excerpt_kind_has_just_that_length(length: int) -> None:
    abstract = make(f"excerpt-{length}", 0, 2).metadata["abstract"]
    assert len(unwrap(abstract)) == len(canonical_text(abstract)) == length


def test_the_cuts_of_excerpts_fall_where_their_names_say() -> None:
    shown = {name: excerpt(make(f"excerpt-{name}").metadata["abstract"]) for name in _CUTS}
    assert {name: len(text) for name, text in shown.items()} == dict.fromkeys(_CUTS, 600)
    assert shown["cut-in-word"].endswith(" TESTINGTH")
    assert shown["cut-at-space"][-2:] == ". "
    assert shown["cut-at-paragraph"].endswith("\n ")
    assert len(shown["astral"].encode("utf-16-le")) > 1200


_CUTS = ("cut-in-word", "cut-at-space", "cut-at-paragraph", "astral")


@pytest.mark.parametrize(("name", "receipts"), [("reissued-once", 2), ("reissued-twice", 3), ("minimal", 1)])
def test_a_reissued_record_keeps_when_it_was_first_computed(name: str, receipts: int) -> None:
    issue, *reissues = KINDS[name].signings
    receipt = make(name).record.receipt
    assert len(reissues) == receipts - 1
    assert parse_receipt_time(receipt.first_computed_at) == issue.at
    assert parse_receipt_time(receipt.last_reissued_at) == (reissues or [issue])[-1].at


def test_the_times_of_a_record_are_all_different() -> None:
    record = make("reissued-once").record
    receipt = record.receipt
    of_receipt = (receipt.first_computed_at, receipt.last_reissued_at, receipt.signed_at)
    times = {*map(parse_receipt_time, of_receipt), parse_record_time(record.created_at)}
    assert len(times | {parse_record_time(record.updated_at)}) == 5


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("minimal", ACTIVE),
        ("retired-key", RETIRED),
        ("revoked-key", COMPROMISED),
        ("superseded-key", SUPERSEDED),
        ("reissued-after-compromise", ACTIVE),
    ],
)
def test_a_record_is_signed_by_the_key_that_its_kind_is_about(name: str, key: int) -> None:
    chain, record = make_chain(0), make(name).record
    assert record.receipt.key_id == chain.signer(key).key_id
    assert needs_reissue(record, chain.ring) == (key != ACTIVE)


def test_a_compromised_key_was_good_before_and_is_not_today() -> None:
    record, ring = make(COMPROMISED_KIND).record, make_chain(0).ring
    before, after = KINDS[COMPROMISED_KIND].asked_at
    assert [verify(record, ring, at=at).ok for at in (before, after, None)] == [True, False, False]


def test_kinds_of_ids_and_years_are_what_they_say() -> None:
    old, torn, differs = (make(name).record for name in ("old-id", "old-id-subject-class", "year-differs"))
    assert old.canonical_record.source.id.startswith("hep-th/99")
    assert make("old-id-subject-class").metadata["arxiv_id"].startswith("math.GT/")
    assert torn.canonical_record.source.id.startswith("math/")
    assert differs.canonical_record.source.id.startswith("26")
    assert differs.pith_number.startswith("pith:2025:")
    assert make("v10").record.canonical_record.source.version == 10


def test_may_shape_has_no_integrity_and_unknown_fields_are_reported() -> None:
    assert make("may-shape").record.graph_snapshot.integrity is msgspec.UNSET
    unknown = make("unknown-fields").record.unknown()
    assert unknown == ["paper.TEST_note", "graph_snapshot.TEST_note", "aliases[0].TEST_note", "TEST_note"]


def test_an_updated_record_keeps_number_and_receipt() -> None:
    record = make("updated").record
    assert record.updated_at > record.created_at
    assert record.receipt.first_computed_at == record.receipt.last_reissued_at
    assert record.paper.authors_text != "Ada Lovelace"


Rule = Callable[[str], str]


def without(text: str, category: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) != category)


#: Rules that are near the one of PROTOCOL §1, and wrong.
WRONG_RULES: dict[str, Rule] = {
    "case folding": lambda s: " ".join(s.casefold().split()),
    "ASCII alone": lambda s: " ".join(re.sub("[A-Z]+", lambda m: m[0].lower(), s).split()),
    "one code point by one": lambda s: " ".join("".join(map(lower, s)).split()),
    "NFC": lambda s: " ".join(lower(unicodedata.normalize("NFC", s)).split()),
    "NFD": lambda s: " ".join(lower(unicodedata.normalize("NFD", s)).split()),
    "NFKC": lambda s: " ".join(lower(unicodedata.normalize("NFKC", s)).split()),
    "ASCII whitespace": lambda s: " ".join(re.split("[ \t\n\r]+", lower(s).strip(" \t\n\r"))),
    "format characters dropped": lambda s: " ".join(without(lower(s), "Cf").split()),
    "control characters dropped": lambda s: without(canonical_text(s), "Cc"),
    "first plane alone": lambda s: " ".join("".join(c for c in lower(s) if ord(c) < 0x10000).split()),
    "newest Unicode": lambda s: " ".join(lower(s).translate(_AFTER_14).split()),
    "sigma by the newest Unicode": lambda s: " ".join(lower(s.translate(_LETTERS)).split()),
}
#: Capitals that came after Unicode 14.0, and code points that cased letters took since.
_AFTER_14 = {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7DA: 0xA7DB, 0x10D50: 0x10D70}
_LETTERS = {0x10D4A: "α", 0x1171E: "\u0301", 0x1C89: "α"}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_catches_a_wrong_rule(name: str) -> None:
    title = make(f"non-ascii-{name}").metadata["title"]
    assert [rule for rule, wrong in WRONG_RULES.items() if wrong(title) != canonical_text(title)]


@pytest.mark.parametrize("rule", WRONG_RULES)
def test_a_wrong_rule_falls_into_a_trap(rule: str) -> None:
    titles = [make(f"non-ascii-{name}").metadata["title"] for name in TRAPS]
    assert [title for title in titles if WRONG_RULES[rule](title) != canonical_text(title)]
