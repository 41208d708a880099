"""Write `pith_builder/_unicode14_tables.py`: the properties of Unicode 14.0 that PROTOCOL §1 needs.

Run with Python 3.11, the only supported interpreter whose own tables are Unicode 14.0:

    python3.11 builder/tools/unicode14.py > builder/pith_builder/_unicode14_tables.py

The case properties are read off `str.lower` itself, which turns a capital sigma into a final one exactly when
a cased letter stands before it and none after it, case-ignorable characters skipped.
"""

import sys
import unicodedata

SIGMA, FINAL = "Σ", "ς"


def cased(c: str) -> bool:
    return (c + SIGMA).lower().endswith(FINAL)


def case_ignorable(c: str) -> bool:
    return not cased(c) and ("A" + c + SIGMA).lower().endswith(FINAL)


def unassigned(c: str) -> bool:
    return unicodedata.category(c) == "Cn"


def ranges(property_of: object) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code <= 0xDFFF or not property_of(chr(code)):  # type: ignore[operator]
            continue
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def constant(name: str, comment: str, property_of: object) -> None:
    table = ranges(property_of)
    print(f"\n#: {comment} ({len(table)} ranges)\n{name} = (")
    parts = [escape(a) if a == b else f"{escape(a)}-{escape(b)}" for a, b in table]
    line = ""
    for part in parts:
        if len(line) + len(part) > 100:
            print(f'    r"{line}"')
            line = ""
        line += part
    print(f'    r"{line}"\n)')


if __name__ == "__main__":
    if unicodedata.unidata_version != "14.0.0":
        sys.exit(f"needs Unicode 14.0.0 (Python 3.11), this interpreter has {unicodedata.unidata_version}")
    print('"""Properties of Unicode 14.0 as insides of regular expression classes.')
    print('\nMade by builder/tools/unicode14.py; do not edit.\n"""')
    constant("UNASSIGNED", "Code points without a character", unassigned)
    constant("CASED", "Cased and not Case_Ignorable", cased)
    constant("CASE_IGNORABLE", "Case_Ignorable", case_ignorable)
