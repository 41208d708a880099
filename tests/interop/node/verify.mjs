// node verify.mjs RECORD.json --keyring RING.json [--metadata M.json] [--at 2026-01-02T03:04:05Z]
//
// One line a check (PROTOCOL §11). Exit code 0: no check failed; 1: one did, or a document can't be; 2: wrong usage.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Refused, failedChecks, verifyRecord } from './pith.mjs';

const USAGE = 'usage: node verify.mjs RECORD.json --keyring RING.json [--metadata M.json] [--at TIME]';

function readArguments() {
  const options = { keyring: { type: 'string' }, metadata: { type: 'string' }, at: { type: 'string' } };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (positionals.length === 1 && values.keyring !== undefined) return { ...values, record: positionals[0] };
  } catch {
    // parseArgs throws on options it does not know.
  }
  return null;
}

// What a document says may be printed only where it can't move the cursor.
const printable = (text) => text.replace(/[^\x20-\x7e]/g, '?');

function run({ record, keyring, metadata, at }) {
  const read = (path) => (path === undefined ? null : readFileSync(path));
  const result = verifyRecord(read(record), read(keyring), read(metadata), at ?? null);
  for (const [name, passed] of result.checks) {
    const outcome = passed === null ? 'not checked' : passed ? 'passed' : 'failed';
    const why = name === 'form' && result.why ? ` (${printable(result.why)})` : '';
    console.log(`${name.padEnd(16)} ${outcome}${why}`);
  }
  for (const path of result.unknown) console.error(`unknown field, not judged: ${printable(path)}`);
  return failedChecks(result).length === 0 ? 0 : 1;
}

const given = readArguments();
if (given === null) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  try {
    process.exitCode = run(given);
  } catch (error) {
    if (!(error instanceof Refused) && error.syscall === undefined) throw error;
    console.error(`refused: ${printable(error.message)}`);
    process.exitCode = 1;
  }
}
