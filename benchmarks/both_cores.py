"""What two cores give without the product: raw libsodium signing, and the plain script over a whole file.

`both_cores.py raw SECONDS` prints signatures a second. `both_cores.py plain FILE OUT` writes number and signature of
each row of FILE to OUT.0 and OUT.1, a JSON line each, every process over half of FILE.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from pathlib import Path

import nacl.bindings
from nacl.signing import SigningKey

sys.path.insert(0, str(Path(__file__).parent))
import plain

PROCESSES = 2
SEED = bytes(range(32))


def raw(seconds: float) -> float:
    """Signatures a second of one process."""
    _, secret = nacl.bindings.crypto_sign_seed_keypair(SEED)
    message, made, begin = b"\x01" * 32, 0, time.perf_counter()
    while (taken := time.perf_counter() - begin) < seconds:
        for _ in range(1000):
            nacl.bindings.crypto_sign(message, secret)
        made += 1000
    return made / taken


def plain_part(path: str, out: str, part: int) -> int:
    """The plain script over the rows that begin in a process's part of the file; the number of them."""
    size, key, made = Path(path).stat().st_size, SigningKey(SEED), 0
    begin, end = size * part // PROCESSES, size * (part + 1) // PROCESSES
    with open(path, "rb") as rows, open(f"{out}.{part}", "w") as results:
        if begin:
            rows.seek(begin - 1)
            rows.readline()
        while rows.tell() < end and (line := rows.readline()):
            number, signature = plain.compute_and_sign(line, key)
            results.write(json.dumps({"pith_number": number, "signature_b64": signature}) + "\n")
            made += 1
    return made


def main() -> None:
    what, *arguments = sys.argv[1:]
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        if what == "raw":
            print(sum(pool.map(raw, [float(arguments[0])] * PROCESSES, 1)))
        else:
            path, out = arguments
            print(sum(pool.starmap(plain_part, [(path, out, part) for part in range(PROCESSES)], 1)))


if __name__ == "__main__":
    main()
