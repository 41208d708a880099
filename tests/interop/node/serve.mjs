// The JSON-lines protocol of docs/vectors.md on standard input and output.

import { createInterface } from 'node:readline';
import * as pith from './pith.mjs';

// Inputs come as Maps, since the rows of `snapshot` may have any keys and know floats from integers.
const rules = {
  text(input) {
    const canonical = pith.canonicalText(input.get('text'));
    return { canonical, sha256: pith.sha256Hex(canonical) };
  },
  authors: (input) => ({ authors_text: pith.authorsText(input.get('authors')) }),
  excerpt: (input) => ({ excerpt: pith.excerpt(input.get('abstract')) }),
  'arxiv-id': (input) => pith.readArxivId(input.get('text')),
  'canonical-json'(input) {
    const canonical = pith.canonicalJson(pith.readJson(input.get('json')));
    return { canonical, sha256: pith.sha256Hex(canonical) };
  },
  number(input) {
    if (input.has('text')) return pith.readNumber(input.get('text'));
    return { number: pith.numberOf(input.get('sha256'), input.get('year')) };
  },
  'short-forms': (input) =>
    pith.shortForms(input.get('sha256'), input.get('year'), input.get('id'), input.get('version')),
  transcription(input) {
    if (input.has('suffix')) return { transcription: pith.transcribe(input.get('suffix')) };
    return { suffix: pith.readTranscription(input.get('transcription')) };
  },
  snapshot(input) {
    const section = input.get('section');
    if (section === 'integrity') return pith.integrityOf(input.get('detectors_run'), input.get('findings'));
    return pith.sectionOf(section, input.get('rows'));
  },
  receipt(input) {
    const [digest, keyId, key] = ['canonical_sha256', 'key_id', 'public_key_b64'].map((name) => input.get(name));
    pith.checkReceipt(pith.readJson(input.get('receipt')), digest, keyId, key);
    return { valid: true };
  },
  keyring(input) {
    const ring = pith.readKeyring(input.get('keyring'));
    return { active: pith.activeKey(ring)?.id ?? null, keys: ring.keys.map((key) => [key.id, key.state, key.use]) };
  },
  rotation(input) {
    const trusted = pith.follow(pith.readKeyring(input.get('pins')), pith.readKeyring(input.get('ring')));
    return { trusted: trusted.keys.map((key) => [key.id, key.state, key.notBefore, key.notAfter]) };
  },
  record: (input) => ({
    record: pith.buildRecord({
      ...issuer(input),
      metadata: input.get('metadata'),
      enrichment: input.get('enrichment'),
      baseUrl: input.get('base_url'),
    }),
  }),
  reissue: (input) => ({ record: pith.reissueRecord({ ...issuer(input), record: input.get('record') }) }),
  verify(input) {
    const [record, keyring, metadata, at] = ['record', 'keyring', 'metadata', 'at'].map((name) => input.get(name));
    const failed = pith.failedChecks(pith.verifyRecord(record, keyring, metadata, at));
    return { ok: failed.length === 0, failed };
  },
};

const issuer = (input) => ({
  seed: input.get('seed_b64'),
  keyId: input.get('key_id'),
  builderVersion: input.get('builder_version'),
  readings: input.get('readings'),
});

function answer(question) {
  const id = question.get('id');
  const rule = question.get('rule');
  if (!Object.hasOwn(rules, rule)) return { id, unsupported: true };
  try {
    return { id, output: rules[rule](question.get('input')) };
  } catch (error) {
    if (error instanceof pith.Refused) return { id, error: error.message };
    throw error; // a bug of ours must not pass for a refusal
  }
}

// `integrityOf` gives a Map inside of plain objects; the order of keys does not matter in an answer.
const plain = (_, value) => (value instanceof Map ? Object.fromEntries(value) : value);
const escape = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
const asciiJson = (value) => JSON.stringify(value, plain).replace(/[^\x00-\x7e]/g, escape);

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim() !== '') process.stdout.write(`${asciiJson(answer(pith.readLine(line)))}\n`);
}
