// Moves (PROTOCOL §10): what one statement makes of the keys of a ring.
//
// A state is `{ keys, led }`; `led` are the pairs [from, to] of the rotations that moved the ring.

import { decodeBase64, decodePublicKey, fingerprintOf, fits } from './ed25519.mjs';
import { canonicalJson } from './json.mjs';
import { checkKeys, knownKey } from './keyring.mjs';
import { demand, refuse } from './refused.mjs';
import { secondsInstant } from './time.mjs';

const PAYLOAD_TYPE = 'application/vnd.pith.key-statement.v1+json';

export const isRotation = (statement) => statement.type === 'pith-key-rotation/1';
const isEmergency = (rotation) => rotation.reason === 'compromised' || rotation.reason === 'lost';

/** DSSE's pre-authentication encoding of the body. */
function signedBytes(statement) {
  const body = canonicalJson(statement.body);
  return Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${Buffer.byteLength(body)} ${body}`);
}

/** Exactly one of the signatures has the key's id, and that one is valid. */
export function bears(statement, key) {
  const own = statement.signatures.filter((signature) => signature.key_id === key.id);
  return own.length === 1 && fits(decodePublicKey(key.publicKeyB64), signedBytes(statement), own[0].signature_b64);
}

function recoveryKey(keys, statement, about, time) {
  if (about.use === 'verify') return null;
  const signers = statement.signatures.map((signature) => signature.key_id);
  return keys.find((key) => key.use === 'recovery' && key.state === 'active' && signers.includes(key.id)
    && (key.notAfter === null || key.notAfter > time)) ?? null;
}

export const findKey = (keys, id) => keys.find((key) => key.id === id) ?? null;

/** The new key's earlier entry, null if the ring knows neither its id nor the key. */
function earlierEntry(keys, old, to, publicKeyB64) {
  const entry = keys.find((key) => key.id === to || key.publicKeyB64 === publicKeyB64) ?? null;
  if (entry === null) return null;
  demand(entry.id === to && entry.publicKeyB64 === publicKeyB64, 'the new key is known otherwise');
  const otherPeoples = entry !== old && entry.state === 'active' && entry.use === 'verify' && old.use === 'verify';
  demand(entry.state === 'next' || otherPeoples, 'the new key is in use already');
  return entry;
}

const earlier = (a, b) => (a === null || b < a ? b : a);

function superseded(old, rotation) {
  if (old.state === 'revoked') return old;
  const { effective_at: since, reason } = rotation;
  const ended = { ...old, notAfter: earlier(old.notAfter, since) };
  return isEmergency(rotation) ? { ...ended, state: 'revoked', revoked: { since, reason } } : { ...ended, state: 'retired' };
}

function rotate({ keys, led }, rotation) {
  const emergency = isEmergency(rotation);
  const { from, to, to_public_key_b64: publicKeyB64, effective_at: time } = rotation;

  const old = knownKey({ keys }, from, rotation.from_fingerprint) ?? refuse('the old key is not known');
  demand(old.state === 'active' || (emergency && old.state === 'revoked'), 'the old key is not active');

  demand(to !== '' && decodeBase64(publicKeyB64, 32) !== null, 'no new key');
  const entry = earlierEntry(keys, old, to, publicKeyB64);
  const publicKey = decodePublicKey(publicKeyB64) ?? refuse('the new key is no public key');

  demand(secondsInstant(time) !== null, 'effective_at is no time');
  if (!emergency) {
    demand(old.notBefore === null || time >= old.notBefore, 'before the time of the old key');
    demand(old.notAfter === null || time <= old.notAfter, 'after the time of the old key');
  }

  const next = {
    id: to,
    publicKeyB64,
    fingerprint: fingerprintOf(publicKey),
    state: 'active',
    use: old.use,
    notBefore: time,
    notAfter: null,
    revoked: null,
  };
  const authority = (emergency ? recoveryKey(keys, rotation, old, time) : old) ?? refuse('no recovery key signed');
  demand(rotation.signatures.length === 2 && bears(rotation, authority) && bears(rotation, next), 'not the two signatures');

  const moved = keys.map((key) => (key === entry ? next : key === old ? superseded(old, rotation) : key));
  if (entry === null) moved.push(next);
  checkKeys(moved);
  return { keys: moved, led: [...led, [from, to]] };
}

/** §10, revocation, step 2: whether it says worse of a revoked key than is known. */
export const isWorse = (key, { reason, since }) =>
  reason === 'compromised' && (key.revoked.reason !== 'compromised' || key.revoked.since > since);

function leads(led, from, to) {
  const reached = new Set([from]);
  // A Set hands out what is added while it is walked.
  for (const id of reached) for (const [a, b] of led) if (a === id) reached.add(b);
  return reached.has(to);
}

function cameAfter(led, later, key) {
  if (later.use !== key.use) return false;
  return key.use === 'receipts' || leads(led, key.id, later.id);
}

function revocationAuthority({ keys, led }, revocation, key) {
  const { signatures, since } = revocation;
  const signer = signatures.length === 1 ? findKey(keys, signatures[0].key_id) : null;
  if (signer !== null && signer.state === 'active' && signer !== key && cameAfter(led, signer, key)) return signer;
  return recoveryKey(keys, revocation, key, since);
}

function revoke(state, revocation) {
  const { key_id: id, since, reason } = revocation;
  const key = findKey(state.keys, id) ?? refuse('the key is not known');
  demand(secondsInstant(since) !== null, 'since is no time');
  demand(key.state !== 'revoked' || isWorse(key, revocation), 'the key is revoked already');
  const authority = revocationAuthority(state, revocation, key) ?? refuse('nobody with authority signed');
  demand(revocation.signatures.length === 1 && bears(revocation, authority), 'not the one signature');

  const notAfter = key.state === 'next' ? key.notBefore ?? '1970-01-01T00:00:00Z' : key.notAfter;
  const revoked = { ...key, state: 'revoked', notAfter, revoked: { since, reason } };
  return { ...state, keys: state.keys.map((other) => (other === key ? revoked : other)) };
}

export const move = (state, statement) => (isRotation(statement) ? rotate : revoke)(state, statement);
