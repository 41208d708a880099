// Receipts (PROTOCOL §6).

import { decodePublicKey, fingerprintOf, fits } from './ed25519.mjs';
import { object } from './json.mjs';
import { isHash } from './number.mjs';
import { demand } from './refused.mjs';
import { closed, constant, misfit, text } from './shape.mjs';
import { asReceiptTime, receiptInstant } from './time.mjs';

export const receiptShape = closed({
  kind: constant('pith_receipt'),
  key_id: text,
  algorithm: constant('ed25519'),
  signed_at: text,
  signature_b64: text,
  signed_message: constant('canonical_sha256_bytes'),
  builder_version: text,
  receipt_version: constant('0.3'),
  canonical_sha256: text,
  last_reissued_at: text,
  signature_status: constant('signed_v1'),
  first_computed_at: text,
  public_key_fingerprint: text,
});

/** A receipt over a digest. `times` are the instants first computed, last reissued and signed. */
export function makeReceipt({ signer, keyId, digest, builderVersion, times: [first, reissued, signed] }) {
  return object({
    kind: 'pith_receipt',
    key_id: keyId,
    algorithm: 'ed25519',
    signed_at: asReceiptTime(signed),
    signature_b64: signer.sign(Buffer.from(digest, 'hex')).toString('base64'),
    signed_message: 'canonical_sha256_bytes',
    builder_version: builderVersion,
    receipt_version: '0.3',
    canonical_sha256: digest,
    last_reissued_at: asReceiptTime(reissued),
    signature_status: 'signed_v1',
    first_computed_at: asReceiptTime(first),
    public_key_fingerprint: signer.fingerprint,
  });
}

/** The instants first computed, last reissued and signed; null for those that are no receipt times. */
export const receiptTimes = (receipt) =>
  ['first_computed_at', 'last_reissued_at', 'signed_at'].map((name) => receiptInstant(receipt.get(name)));

export const inOrder = (instants) =>
  instants.every((instant, i) => instant !== null && (i === 0 || instants[i - 1] <= instant));

/** Refuses what is not the key's receipt over the digest, with times in order. */
export function checkReceipt(receipt, digest, keyId, publicKeyB64) {
  const wrong = misfit(receipt, receiptShape, 'receipt');
  demand(wrong === null, `${wrong} has not its form`);
  demand(isHash(digest) && receipt.get('canonical_sha256') === digest, 'another digest');
  const publicKey = decodePublicKey(publicKeyB64);
  demand(publicKey !== null, 'no public key');
  demand(receipt.get('key_id') === keyId, 'the id of another key');
  demand(receipt.get('public_key_fingerprint') === fingerprintOf(publicKey), 'the fingerprint of another key');
  demand(fits(publicKey, Buffer.from(digest, 'hex'), receipt.get('signature_b64')), 'the signature does not fit');
  demand(inOrder(receiptTimes(receipt)), 'the times are not in order');
}
