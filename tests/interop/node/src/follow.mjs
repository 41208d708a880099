// Following (PROTOCOL §10): what a verifier that pinned one ring trusts of another.

import { canonicalJson } from './json.mjs';
import { bears, findKey, isRotation, isWorse, move } from './moves.mjs';
import { Refused, demand } from './refused.mjs';
import { sha256Hex } from './text.mjs';

const signatureList = ({ signatures }) => signatures.map((signature) => [signature.key_id, signature.signature_b64]);

const isSame = (a, b) =>
  canonicalJson(a.body) === canonicalJson(b.body) && JSON.stringify(signatureList(a)) === JSON.stringify(signatureList(b));

// What following makes of a further statement.
const PASS = 'pass';
const NOTE = 'note';
const MOVE = 'move';

function judgeRevocation(keys, statement, saidBefore) {
  const key = findKey(keys, statement.key_id);
  if (key === null) return PASS;
  return key.state === 'revoked' && !isWorse(key, statement) && !saidBefore ? PASS : MOVE;
}

/** For a rotation while the following has not begun: it may be older than the pins. */
function judgeFirstRotation(keys, statement) {
  const from = findKey(keys, statement.from);
  if (from === null) return PASS;
  const to = findKey(keys, statement.to);
  const isOlder = (from.state === 'retired' || from.state === 'revoked') && to !== null && to.state !== 'next';
  if (!isOlder) return MOVE;
  const namesBoth = statement.from_fingerprint === from.fingerprint && statement.to_public_key_b64 === to.publicKeyB64;
  return namesBoth && bears(statement, from) && bears(statement, to) ? NOTE : PASS;
}

/** The keys and statements that are trusted, given pins and a ring as read; refuses a ring with a fault. */
export function follow(pins, ring) {
  const pinned = pins.statements.length;
  const atFault = (index, why) => `statement ${index}: ${why}`;
  pins.statements.forEach((statement, i) => {
    demand(i < ring.statements.length && isSame(statement, ring.statements[i]), atFault(i, 'not the pinned one'));
  });

  // Of the pins' own rotations those count that bear both signatures: others were passed over, and verified by nobody.
  const isSigned = (rotation) =>
    [rotation.from, rotation.to].every((id) => findKey(pins.keys, id) !== null && bears(rotation, findKey(pins.keys, id)));
  const led = pins.statements.filter(isRotation).filter(isSigned).map(({ from, to }) => [from, to]);
  let state = { keys: pins.keys, led };
  let begun = pinned > 0;
  let last = pinned;
  const bodies = ring.statements.map(({ body }) => canonicalJson(body));

  for (const [i, statement] of ring.statements.entries()) {
    if (i < pinned) continue;
    let judgement = MOVE;
    if (isRotation(statement)) {
      const previous = i === 0 ? null : sha256Hex(bodies[i - 1]);
      demand(statement.previous_sha256 === previous, atFault(i, 'names another statement before it'));
      if (!begun) judgement = judgeFirstRotation(state.keys, statement);
    } else {
      judgement = judgeRevocation(state.keys, statement, bodies.indexOf(bodies[i]) < i);
    }
    if (judgement === PASS) continue;
    if (judgement === NOTE) state = { ...state, led: [...state.led, [statement.from, statement.to]] };
    else state = moveOrFault(state, statement, (why) => atFault(i, why));
    begun = true;
    last = i + 1;
  }
  return { keys: state.keys, statements: ring.statements.slice(0, last) };
}

function moveOrFault(state, statement, atFault) {
  try {
    return move(state, statement);
  } catch (error) {
    throw error instanceof Refused ? new Refused(atFault(error.message)) : error;
  }
}
