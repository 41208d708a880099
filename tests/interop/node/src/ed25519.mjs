// Signatures, fingerprints and base64 as PROTOCOL §6 has them.

import { createPrivateKey, createPublicKey, sign as cryptoSign, verify as cryptoVerify } from 'node:crypto';
import { hasSmallOrder, isPublicKey } from './curve.mjs';
import { demand } from './refused.mjs';
import { sha256 } from './text.mjs';

// node:crypto takes keys in DER alone: these are the bytes in front of 32 raw ones (RFC 8410).
const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
const PRIVATE_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The bytes of a base64 text, or null: only the spelling of an encoder counts, and only the length that is asked for. */
export function decodeBase64(text, length) {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === length && bytes.toString('base64') === text ? bytes : null;
}

export const fingerprintOf = (publicKey) => sha256(publicKey).subarray(0, 16).toString('hex');

// The order of a point takes milliseconds, and few keys are asked about again and again.
const judged = new Map();

/** The 32 bytes of a public key that §9 allows, or null. */
export function decodePublicKey(text) {
  const bytes = decodeBase64(text, 32);
  if (bytes === null) return null;
  if (!judged.has(text)) {
    if (judged.size > 10_000) judged.clear();
    judged.set(text, isPublicKey(bytes));
  }
  return judged.get(text) ? bytes : null;
}

/** A signer from its seed. */
export function signerOf(seedB64) {
  const seed = decodeBase64(seedB64, 32);
  demand(seed !== null, 'no seed of 32 bytes');
  const key = createPrivateKey({ key: Buffer.concat([PRIVATE_HEAD, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(PUBLIC_HEAD.length);
  return { fingerprint: fingerprintOf(publicKey), sign: (message) => cryptoSign(null, message, key) };
}

/**
 * Whether a signature fits, under a key that §9 allows. OpenSSL refuses an S that is not below the group's order, and
 * compares R byte for byte; that R is not of small order is left to us (§6).
 */
export function fits(publicKey, message, signatureB64) {
  const signature = decodeBase64(signatureB64, 64);
  if (signature === null || hasSmallOrder(signature.subarray(0, 32))) return false;
  const key = createPublicKey({ key: Buffer.concat([PUBLIC_HEAD, publicKey]), format: 'der', type: 'spki' });
  return cryptoVerify(null, message, key, signature);
}
