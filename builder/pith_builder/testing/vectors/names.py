"""Tests of identifiers: arXiv ids, pith numbers, short forms, the transcription form (PROTOCOL §2, §3)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from pith_builder.number import PithNumber
from pith_builder.testing.vectors.model import Case, invalid, undecided, valid
from pith_builder.testing.vectors.real import Real


def arxiv_id(real: Real) -> Iterator[Case]:
    ids = [row["arxiv_id"] for row in real.lines("cases.jsonl")]
    for text in [*[i for i in ids if "/" in i][:4], *[i for i in ids if "/" not in i][:4]]:
        yield valid("the id of a published record", "Proven", "Real", text=text)
    for comment, text in _IDS:
        yield valid(comment, text=text)
    for comment, text in _NO_IDS:
        yield invalid(comment, text=text)
    for comment, text in _ID_EDGES:
        yield valid(comment, "Edge", text=text)
    for comment, text in _NO_ID_EDGES:
        yield invalid(comment, "Edge", text=text)


_IDS = (
    ("a version", "2403.07648v2"),
    ("version 10", "2403.07648v10"),
    ("version 9999, the highest", "2403.07648v9999"),
    ("the first id of the new form", "0704.0001"),
    ("four digits to 1412", "1412.9999"),
    ("five digits from 1501", "1501.00001"),
    ("an old id", "hep-th/9901001"),
    ("an old id with a version", "hep-th/9901001v3"),
    ("the last month of the old form", "math/0703001"),
    ("an old id of 1986", "hep-th/8601001"),
    ("the subject class of an old id is dropped", "math.GT/0309136"),
    ("the subject class in lower case", "cond-mat.str-el/0309136v1"),
    ("an archive in capitals", "HEP-TH/9901001"),
    ("the letter v in capitals, in an old id", "hep-th/9901001V2"),
    ("blanks around it", " \n2403.07648\t\u00a0"),
    ("the arXiv: prefix", "arXiv:2403.07648v2"),
    ("the arXiv: prefix in capitals, with a blank", "ARXIV: 2403.07648"),
    ("the stamp on a paper's margin", "arXiv:2403.07648v2 [cs.DC] 12 Mar 2024"),
    ("a stamp without date", "arXiv:2403.07648v2 [cs.DC]"),
    ("a stamp of an old id", "hep-th/9901001v1 [hep-th]  1 Jan 1999"),
    ("an abs URL", "https://arxiv.org/abs/2403.07648v2"),
    ("an abs URL without scheme", "arxiv.org/abs/2403.07648"),
    ("www and export hosts", "http://www.arxiv.org/abs/hep-th/9901001"),
    ("the export host", "https://export.arxiv.org/abs/math.GT/0309136"),
    ("a pdf URL", "https://arxiv.org/pdf/2403.07648v2.pdf"),
    ("an html URL with a fragment", "https://arxiv.org/html/2403.07648v2#S1"),
    ("a URL with a query and a slash", "https://arxiv.org/abs/2403.07648/?context=cs"),
    ("a source URL", "https://arxiv.org/e-print/2403.07648"),
    ("a DOI", "10.48550/arXiv.2403.07648"),
    ("a DOI with its scheme", "doi:10.48550/arxiv.2403.07648"),
    ("a DOI URL of an old id", "https://doi.org/10.48550/arXiv.hep-th/9901001"),
    ("a dx.doi.org URL", "http://dx.doi.org/10.48550/arXiv.2403.07648v2"),
)

_NO_IDS = (
    ("nothing", ""),
    ("four digits after 1412", "1501.0001"),
    ("five digits before 1501", "1412.00001"),
    ("six digits", "2403.076481"),
    ("number zero", "2403.00000"),
    ("number zero of an old id", "hep-th/9901000"),
    ("month 13", "2413.00001"),
    ("month 00", "hep-th/9900001"),
    ("before April 2007", "0703.0001"),
    ("the old form after March 2007", "math/0704001"),
    ("the old form before 1986", "math/8512001"),
    ("new ids end in 2090", "9101.00001"),
    ("an archive that never was", "foo/9901001"),
    ("an archive of the new form alone", "econ/9901001"),
    ("two digits of the number missing", "hep-th/99010"),
    ("version zero", "2403.07648v0"),
    ("a leading zero in the version", "2403.07648v02"),
    ("a version of five digits", "2403.07648v10000"),
    ("the letter v in capitals, in a new id", "2403.07648V2"),
    ("a version without a number", "2403.07648v"),
    ("words behind it", "2403.07648 and more"),
    ("words before it", "see 2403.07648"),
    ("two ids", "2403.07648 2403.07649"),
    ("a .pdf without a URL", "2403.07648.pdf"),
    ("full-width digits", "\uff12\uff14\uff10\uff13.07648"),
    ("Arabic digits", "\u0662\u0664\u0660\u0663.07648"),
    ("a full-width full stop", "2403\uff0e07648"),
    ("zero width space inside", "2403.\u200b07648"),
    ("another host", "https://example.org/abs/2403.07648"),
    ("a page of arXiv that shows no paper", "https://arxiv.org/list/2403.07648"),
    ("another DOI", "10.1000/arXiv.2403.07648"),
    ("a comma for the full stop", "2403,07648"),
    ("a long s in the archive is no s", "phy\u017fics/9901001"),
    ("a Kelvin sign is no k", "arxiv:\u212a/9901001"),
)

_ID_EDGES = (
    ("a prefix in capitals", "HTTPS://WWW.ARXIV.ORG/ABS/2403.07648v2"),
    ("a DOI in capitals, with its scheme and blanks", "DOI: \t10.48550/ARXIV.2403.07648"),
    ("a .pdf, a slash, a query", "arxiv.org/pdf/2403.07648.pdf/?download=1#page=2"),
    ("a query that is empty", "arxiv.org/abs/2403.07648?"),
    ("a query beyond ASCII: no blank is in it", "arxiv.org/abs/2403.07648?\u00a0x"),
    ("a stamp without blanks before it", "2403.07648v2[cs.DC]"),
    ("a stamp behind a DOI", "10.48550/arXiv.2403.07648v2 [cs.DC]"),
    ("a stamp with one digit for the day", "2403.07648 [math-ph] \t 1 Mar 2024"),
    ("a stamp's date need not be one", "2403.07648 [x] 99 Xyz 0000"),
    ("the letter v in capitals, behind an old id and a page", "arxiv.org/abs/hep-th/9901001V2"),
    ("the last id of the new form", "9012.99999"),
    ("December 1986", "hep-th/8612999"),
)

_NO_ID_EDGES = (
    ("a subject class of no letter", "math./0309136"),
    ("a subject class of digits", "math.1/0309136"),
    ("two subject classes", "math.GT.A/0309136"),
    ("a subject class in an id of the new form", "cs.DC/2403.07648"),
    ("a stamp with nothing in its brackets", "2403.07648v2 []"),
    ("a stamp with a digit in its brackets", "2403.07648v2 [cs.1]"),
    ("a stamp with a blank in its brackets", "2403.07648v2 [cs DC]"),
    ("no blank before the date", "2403.07648v2 [cs.DC]12 Mar 2024"),
    ("two blanks inside the date", "2403.07648v2 [cs.DC] 12  Mar 2024"),
    ("a tab inside the date", "2403.07648v2 [cs.DC] 12\tMar 2024"),
    ("a day of three digits", "2403.07648v2 [cs.DC] 112 Mar 2024"),
    ("a month in small letters", "2403.07648v2 [cs.DC] 12 mar 2024"),
    ("a month in full", "2403.07648v2 [cs.DC] 12 March 2024"),
    ("a year of two digits", "2403.07648v2 [cs.DC] 12 Mar 24"),
    ("a date without brackets", "2403.07648v2 12 Mar 2024"),
    ("a non-breaking space before the stamp", "2403.07648v2\u00a0[cs.DC]"),
    ("a non-breaking space behind the prefix", "arXiv:\u00a02403.07648"),
    ("U+001C behind the prefix: whitespace, and no blank", "arXiv:\x1c2403.07648"),
    ("a stamp behind a page", "arxiv.org/abs/2403.07648v2 [cs.DC]"),
    (".PDF in capitals", "arxiv.org/pdf/2403.07648.PDF"),
    ("two slashes behind a page", "arxiv.org/abs/2403.07648//"),
    ("a slash before .pdf", "arxiv.org/pdf/2403.07648/.pdf"),
    ("a blank in a query", "arxiv.org/abs/2403.07648?a b"),
    ("a query behind a DOI", "10.48550/arXiv.2403.07648?a"),
    ("a slash behind an id alone", "2403.07648/"),
    ("doi: before a URL", "doi:https://doi.org/10.48550/arXiv.2403.07648"),
    ("a scheme before a bare DOI", "https://10.48550/arXiv.2403.07648"),
    ("a blank behind the DOI's prefix", "10.48550/arXiv. 2403.07648"),
    ("two prefixes", "arXiv:arXiv:2403.07648"),
    ("another scheme", "ftp://arxiv.org/abs/2403.07648"),
    ("both hosts", "www.export.arxiv.org/abs/2403.07648"),
    ("a port", "arxiv.org:80/abs/2403.07648"),
    ("January 1986 is the first month, not December 1985", "hep-th/8512999"),
)


_A = "00" * 32
_ONES = "ff" * 32
_DIGEST = "0b2c701f438e1fc3aa55c913c004e4c8ab57e3daccc37f2a0fd6eb0d8a4a7d9c"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def number(real: Real) -> Iterator[Case]:
    for record in real.value("canonical_records.json"):
        year = int(record["canonical_record"]["metadata"]["submitted_at"][:4])
        yield valid("a published record", "Proven", "Real", sha256=record["canonical_sha256"], year=year)
    for receipt in real.value("receipts.json")["receipts"]:
        year = int(receipt["pith_number"].split(":")[1])
        yield valid("a published receipt", "Proven", "Real", sha256=receipt["canonical_sha256"], year=year)
    yield valid("all bits zero: leading zeros are symbols A", "Edge", sha256=_A, year=2000)
    yield valid("all bits one", "Edge", sha256=_ONES, year=1999)
    yield valid("the last bit that counts is the 130th", "Edge", sha256="00" * 16 + "40" + "00" * 15, year=2024)
    yield valid("the 131st bit does not count", "Edge", sha256="00" * 16 + "3f" + "ff" * 15, year=2024)
    yield valid("the year is that of the submission, not of the id", "Proven", sha256=_hash("1801.00004"), year=2017)
    yield invalid("a digest in capitals", "Edge", sha256="AB" * 32, year=2024)
    yield invalid("a digest of 31 bytes", "Edge", sha256="00" * 31, year=2024)
    for comment, text in _NUMBERS:
        yield valid(comment, text=text)
    for comment, text in _NO_NUMBERS:
        yield invalid(comment, text=text)
    for comment, text in _NUMBER_EDGES:
        yield valid(comment, "Edge", text=text)
    for comment, text in _NO_NUMBER_EDGES:
        yield invalid(comment, "Edge", text=text)
    for year in (1900, 2099):
        yield valid("the first and the last year of a number", "Edge", sha256=_DIGEST, year=year)
    for year in (1899, 2100):
        yield undecided("no year of a number, which no record can have", "Edge", sha256=_DIGEST, year=year)


_SUFFIX = "BMWHAH2DRYP4HKSVZEJ4AAHEZE"

_NUMBERS = (
    ("a number", f"pith:2024:{_SUFFIX}"),
    ("a number of 1999", f"pith:1999:{_SUFFIX}"),
    ("any case", f"PiTh:2024:{_SUFFIX.lower()}"),
    ("a number without its year", f"pith:{_SUFFIX}"),
    ("a suffix alone", _SUFFIX),
    ("a year and a suffix without pith: is not one, but a bare suffix in lower case is", _SUFFIX.lower()),
    ("a short number of 8", "pith:BMWHAH2D"),
    ("8 symbols alone", "BMWHAH2D"),
    ("12 symbols", "pith:BMWHAH2DRYP4"),
    ("16 symbols", "bmwhah2dryp4hksv"),
    ("blanks around it", f" \t{_SUFFIX}\n\u00a0"),
    ("symbols I, L, O, U are of the alphabet", "pith:ILOU2222"),
    ("leading symbols A stay", "AAAAAAAA"),
    ("8 symbols that spell pith twice", "pithpith"),
    ("a record's page", f"https://pith.science/pith/{_SUFFIX}"),
    ("a record's JSON", f"https://pith.science/pith/{_SUFFIX}.json"),
    ("a page of another host with a port", f"http://localhost:8000/pith/{_SUFFIX}?a=b#c"),
    ("without a scheme", f"pith.science/pith/{_SUFFIX}/bundle.json"),
    ("the graph of the interface", f"https://pith.science/api/pith-number/{_SUFFIX}/graph.json"),
    ("a paper's page", "https://pith.science/paper/BMWHAH2D"),
    ("the well-known place", f"https://pith.science/.well-known/pith/{_SUFFIX}/bundle.json"),
    ("an action", f"https://pith.science/pith/{_SUFFIX}/action/timestamp_anchor"),
)

_NO_NUMBERS = (
    ("nothing", ""),
    ("the word alone", "pith:"),
    ("the word without a colon", "pith"),
    ("no suffix", "pith:2024:"),
    ("no year between two colons", f"pith::{_SUFFIX}"),
    ("another word", f"path:2024:{_SUFFIX}"),
    ("a year without the word", f"2024:{_SUFFIX}"),
    ("a fourth part", f"pith:2024:{_SUFFIX}:x"),
    ("a year of two digits", f"pith:24:{_SUFFIX}"),
    ("a year before 1900", f"pith:1899:{_SUFFIX}"),
    ("a year after 2099", f"pith:2100:{_SUFFIX}"),
    ("a year with a short form", "pith:2024:BMWHAH2D"),
    ("25 symbols", _SUFFIX[:25]),
    ("27 symbols", _SUFFIX + "A"),
    ("10 symbols", _SUFFIX[:10]),
    ("a digit 0 for the letter O", f"pith:2024:0{_SUFFIX[1:]}"),
    ("a digit 1 for the letter I", f"pith:2024:1{_SUFFIX[1:]}"),
    ("a digit 8 for the letter B", f"pith:2024:8{_SUFFIX[1:]}"),
    ("a digit 9", "pith:99999999"),
    ("padding of base32", f"{_SUFFIX}======"),
    ("a blank inside", f"pith:2024: {_SUFFIX}"),
    ("hyphens inside", "BMWH-AH2D"),
    ("a Cyrillic letter that looks like A", "\u0410MWHAH2D"),
    ("a full-width letter", "\uff22MWHAH2D"),
    ("a long s, which is S in capitals", "\u017fMWHAH2D"),
    ("a dotless i, which is I in capitals", "\u0131MWHAH2D"),
    ("a zero width space", "BMWH\u200bAH2D"),
    ("a URL of something else", f"https://pith.science/papers/{_SUFFIX}"),
    ("a URL whose suffix is too long", f"https://pith.science/pith/{_SUFFIX}A"),
    ("a URL with a blank", f"https://pith.science/pith/{_SUFFIX} x"),
    ("a URL of another scheme", f"ftp://pith.science/pith/{_SUFFIX}"),
)

_NUMBER_EDGES = (
    ("1900", f"pith:1900:{_SUFFIX}"),
    ("2099", f"pith:2099:{_SUFFIX}"),
    ("a URL in capitals", f"HTTPS://PITH.SCIENCE/PITH/{_SUFFIX}.JSON"),
    ("a URL with a slash at its end", f"pith.science/pith/{_SUFFIX}/"),
    ("a URL with a short form of 16", "pith.science/pith/BMWHAH2DRYP4HKSV.json"),
    ("a URL with an empty fragment", f"pith.science/pith/{_SUFFIX}#"),
    ("a URL with more behind it, and a query", f"pith.science/api/pith-number/{_SUFFIX}/a_b-c/../d.json?x=/#y"),
    ("a host of one letter", f"x/pith/{_SUFFIX}"),
    ("a port that can't be", f"pith.science:99999999/pith/{_SUFFIX}"),
)

_NO_NUMBER_EDGES = (
    ("a URL with a colon and no port", f"http://localhost:/pith/{_SUFFIX}"),
    ("a URL whose port is no number", f"http://localhost:a/pith/{_SUFFIX}"),
    ("a URL without a host", f"https:///pith/{_SUFFIX}"),
    ("a path alone", f"/pith/{_SUFFIX}"),
    ("a URL with user and host", f"https://a@pith.science/pith/{_SUFFIX}"),
    ("a URL with a year", f"pith.science/pith/2024/{_SUFFIX}"),
    ("a URL with a whole number", f"pith.science/pith/pith:2024:{_SUFFIX}"),
    ("a URL with letters behind .json", f"pith.science/pith/{_SUFFIX}.jsonl"),
    ("a URL with a slash behind .json", f"pith.science/pith/{_SUFFIX}.json/"),
    ("a URL with something else behind the suffix", f"pith.science/pith/{_SUFFIX}/a%20b"),
    ("a URL with a path before", f"example.org/a/pith/{_SUFFIX}"),
    ("a URL with two slashes", f"pith.science//pith/{_SUFFIX}"),
    ("a URL with a tab in its query", f"pith.science/pith/{_SUFFIX}?a\tb"),
    ("a blank behind pith:", f"pith: {_SUFFIX}"),
    ("pith: twice", f"pith:pith:{_SUFFIX}"),
)


def short_forms(real: Real) -> Iterator[Case]:
    for record in real.value("canonical_records.json"):
        source, year = record["canonical_record"]["source"], int(record["pith_number"].split(":")[1])
        of = {"sha256": record["canonical_sha256"], "year": year, "id": source["id"], "version": source["version"]}
        yield valid("a published record", "Proven", "Real", **of)
    for row in [row for row in real.lines("cases.jsonl") if "/" in row["arxiv_id"]][:3]:
        of = {"sha256": _hash(row["pith_number"]), "year": 1999, "id": row["arxiv_id"], "version": row["version"]}
        yield valid("an old id keeps its slash in the DOI", "Proven", **of)
    one = {"year": 2024, "id": "2403.07648", "version": 2}
    yield valid("leading zeros are symbols A", "Edge", sha256=_A, **one)
    yield valid("all bits one", "Edge", sha256=_ONES, **one)
    yield valid("version 10", "Edge", **one | {"sha256": _DIGEST, "version": 10})
    yield valid("version 9999", "Edge", **one | {"sha256": _DIGEST, "version": 9999})
    yield valid("the year does not show in short forms", "Proven", **one | {"sha256": _DIGEST, "year": 1999})
    head = bytes.fromhex(_DIGEST)[:5].hex()
    yield valid("a digest of the same first 40 bits has the same 8 symbols", "Collision", sha256=_DIGEST, **one)
    yield valid("and another 12 and 16", "Collision", sha256=head + "00" * 27, **one)
    head = bytes.fromhex(_DIGEST)[:10].hex()
    yield valid("a digest of the same first 80 bits has all short forms the same", sha256=head + "00" * 22, **one)
    ids = ("0704.0001", "1412.9999", "1501.00001", "math/0309136", "math-ph/0703001", "q-alg/9501001", "cs/0001001")
    for n, arxiv in enumerate(ids):
        yield valid("forms of id", sha256=_hash(arxiv), year=2000 + n, id=arxiv, version=n + 1)
    yield invalid("a digest of 33 bytes", "Edge", sha256="00" * 33, **one)
    yield invalid("a digest with a letter that is no hex digit", "Edge", sha256="0g" * 32, **one)
    yield invalid("an id that can't be", "Edge", **one | {"sha256": _DIGEST, "id": "2403.7648"})


def transcription(real: Real) -> Iterator[Case]:
    suffixes = [record["pith_number"].split(":")[2] for record in real.value("canonical_records.json")]
    suffixes += [row["pith_number"].split(":")[2] for row in real.lines("cases.jsonl")[:5]]
    for suffix in suffixes:
        yield valid("the suffix of a published number", suffix=suffix)
    for comment, suffix in (
        ("all bits zero: leading zeros are kept", "A" * 26),
        ("all bits one", "7" * 26),
        ("one leading zero", "A" + "B" * 25),
        ("the smallest number but zero", "A" * 25 + "B"),
        *((f"check symbol {symbol}", suffix) for symbol, suffix in _with_each_check_symbol()),
    ):
        yield valid(comment, "Check", suffix=suffix)
    spoken = PithNumber(_SUFFIX).transcription()
    for comment, text in (
        ("as it is written", spoken),
        ("without hyphens", spoken.replace("-", "")),
        ("with blanks in place of hyphens", spoken.replace("-", " ")),
        ("hyphens and blanks anywhere", "- " + " -- ".join(spoken)),
        ("lower case", spoken.lower()),
        ("letter O for zero", spoken.replace("0", "O")),
        ("small o for zero", spoken.replace("0", "o")),
        ("letter I for one", spoken.replace("1", "I")),
        ("letter L for one", spoken.replace("1", "L")),
        ("small i and l for one", PithNumber("BBBB" + "A" * 22).transcription().replace("1", "i", 2).replace("1", "l")),
        ("leading zeros", PithNumber("A" * 25 + "B").transcription()),
        ("leading zeros as letters O", PithNumber("A" * 25 + "B").transcription().replace("0", "O")),
        ("all bits one", PithNumber("7" * 26).transcription()),
        *((f"check symbol {s}", PithNumber(suffix).transcription()) for s, suffix in _with_each_check_symbol("*~$=U")),
        ("check symbol U in lower case", PithNumber(_with_each_check_symbol("U")[0][1]).transcription().lower()),
        ("check symbol 0 as letter O", PithNumber("A" * 26).transcription()[:-1] + "O"),
    ):
        yield valid(comment, "Check", transcription=text)
    yield from _refused_transcriptions(spoken.replace("-", ""))
    yield invalid("a short form has none", suffix="BMWHAH2D")


def _with_each_check_symbol(wanted: str = "*~$=U2A") -> list[tuple[str, str]]:
    """A suffix for each check symbol, the first of a fixed series."""
    found: dict[str, str] = {}
    n = 0
    while not found.keys() >= set(wanted):
        number = PithNumber.from_digest(hashlib.sha256(str(n).encode()).digest(), 2024)
        found.setdefault(number.transcription()[-1], number.suffix)
        n += 1
    return [(symbol, found[symbol]) for symbol in wanted]


def _refused_transcriptions(symbols: str) -> Iterator[Case]:
    for comment, text in (
        ("nothing", ""),
        ("the check symbol is missing", symbols[:-1]),
        ("one symbol too many", symbols + "0"),
        ("28 symbols that begin with zero", "0" + symbols),
        ("the first symbol is wrong", ("2" if symbols[0] != "2" else "3") + symbols[1:]),
        ("a symbol in the middle is wrong", symbols[:13] + ("Z" if symbols[13] != "Z" else "Y") + symbols[14:]),
        ("the check symbol is wrong", symbols[:-1] + ("0" if symbols[-1] != "0" else "1")),
        ("two neighbours are swapped", symbols[1] + symbols[0] + symbols[2:]),
        ("the last symbol and the check symbol are swapped", symbols[:-2] + symbols[-1] + symbols[-2]),
        ("the letter U within", "U" + symbols[1:]),
        ("a check symbol * within", "*" + symbols[1:]),
        ("a full-width digit", "\uff11" + symbols[1:]),
        ("an Arabic zero", symbols.replace("0", "\u0660", 1)),
        ("a Greek capital omicron", symbols.replace("0", "\u039f", 1)),
        ("a tab between", symbols[:9] + "\t" + symbols[9:]),
        ("a newline at the end", symbols + "\n"),
        ("a non-breaking space between", symbols[:9] + "\u00a0" + symbols[9:]),
        ("an en dash between", symbols[:9] + "\u2013" + symbols[9:]),
        ("the suffix itself", _SUFFIX),
    ):
        yield invalid(comment, "Check", transcription=text)
