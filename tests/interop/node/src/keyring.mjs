// Key rings (PROTOCOL §9) and the form of statements (§10).

import { decodePublicKey, fingerprintOf } from './ed25519.mjs';
import { readJson } from './json.mjs';
import { demand } from './refused.mjs';
import { anything, closed, constant, list, misfit, nullable, oneOf, open, rows, text } from './shape.mjs';
import { secondsInstant } from './time.mjs';

const MAX_STATEMENTS = 1000;

export const isKeyId = (id) => /^(?!\.)[\x21-\x2e\x30-\x7e]{1,128}$/.test(id);

const REASONS = ['superseded', 'compromised', 'lost'];

const ringShape = open({ keyring_version: constant('1.0'), keys: rows, statements: rows });
const keyShape = open(
  {
    key_id: text,
    algorithm: constant('ed25519'),
    public_key_b64: text,
    fingerprint: text,
    state: oneOf('next', 'active', 'retired', 'revoked'),
    use: oneOf('receipts', 'recovery', 'verify'),
    not_before: nullable(text),
    not_after: nullable(text),
    revoked: anything,
  },
  ['not_before', 'not_after', 'revoked'],
);
const revokedShape = open({ since: text, reason: oneOf(...REASONS) });

const signatures = list(closed({ key_id: text, signature_b64: text }));
const rotationShape = closed({
  body: closed({
    type: constant('pith-key-rotation/1'),
    from: text,
    from_fingerprint: text,
    to: text,
    to_public_key_b64: text,
    effective_at: text,
    reason: text,
    previous_sha256: nullable(text),
  }),
  signatures,
});
const revocationShape = closed({
  body: closed({ type: constant('pith-key-revocation/1'), key_id: text, since: text, reason: oneOf(...REASONS) }),
  signatures,
});

const plain = (map) => Object.fromEntries(map);

function readKey(value) {
  const wrong = misfit(value, keyShape, 'key');
  demand(wrong === null, `${wrong} has not its form`);
  const revoked = value.get('revoked') ?? null;
  if (revoked !== null) demand(misfit(revoked, revokedShape) === null, 'a mark of revocation has not its form');
  return {
    id: value.get('key_id'),
    publicKeyB64: value.get('public_key_b64'),
    fingerprint: value.get('fingerprint'),
    state: value.get('state'),
    use: value.get('use'),
    notBefore: value.get('not_before') ?? null,
    notAfter: value.get('not_after') ?? null,
    revoked: revoked && { since: revoked.get('since'), reason: revoked.get('reason') },
  };
}

function readStatement(value) {
  demand(misfit(value, rotationShape) === null || misfit(value, revocationShape) === null, 'a statement has not its form');
  return { body: value.get('body'), ...plain(value.get('body')), signatures: value.get('signatures').map(plain) };
}

const isTimeOrNull = (time) => time === null || secondsInstant(time) !== null;

// A key is never changed, so it is judged once, however many rings of a chain it stands in.
const allowed = new WeakSet();

function checkKey(key) {
  if (allowed.has(key)) return;
  demand(isKeyId(key.id), 'no key id');
  const publicKey = decodePublicKey(key.publicKeyB64);
  demand(publicKey !== null, `${key.id}: no public key`);
  demand(key.fingerprint === fingerprintOf(publicKey), `${key.id}: the fingerprint is another key's`);
  demand(isTimeOrNull(key.notBefore) && isTimeOrNull(key.notAfter), `${key.id}: no time`);
  demand((key.revoked !== null) === (key.state === 'revoked'), `${key.id}: revoked, or not`);
  if (key.revoked) demand(secondsInstant(key.revoked.since) !== null, `${key.id}: no time of revocation`);
  allowed.add(key);
}

/** Refuses keys that §9 does not allow in one ring. */
export function checkKeys(keys) {
  keys.forEach(checkKey);
  demand(new Set(keys.map((key) => key.id)).size === keys.length, 'an id twice');
  demand(new Set(keys.map((key) => key.fingerprint)).size === keys.length, 'a fingerprint twice');
  demand(keys.filter(isActiveForReceipts).length <= 1, 'two active keys');
}

const isActiveForReceipts = (key) => key.use === 'receipts' && key.state === 'active';

export const activeKey = (ring) => ring.keys.find(isActiveForReceipts) ?? null;

/** A key is known only if id and fingerprint are those of a key in the ring. */
export const knownKey = (ring, id, fingerprint) =>
  ring.keys.find((key) => key.id === id && key.fingerprint === fingerprint) ?? null;

export function readKeyring(source) {
  const value = readJson(source);
  const wrong = misfit(value, ringShape, 'ring');
  demand(wrong === null, `${wrong} has not its form`);
  const keys = value.get('keys').map(readKey);
  checkKeys(keys);
  demand(value.get('statements').length <= MAX_STATEMENTS, 'too many statements');
  return { keys, statements: value.get('statements').map(readStatement) };
}
