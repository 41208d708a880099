// A new receipt for a record (PROTOCOL §6), and writing the record again (§4).

import { checkIssuer, publish, readReadings } from './build.mjs';
import { signerOf } from './ed25519.mjs';
import { readJson } from './json.mjs';
import { digestOf, numberFrom } from './metadata.mjs';
import { makeReceipt, receiptTimes } from './receipt.mjs';
import { demand } from './refused.mjs';
import { inPublishedOrder, misfit } from './shape.mjs';
import { recordShape } from './shapes.mjs';
import { asRecordTime, raiseReadings, recordInstant } from './time.mjs';

export function reissueRecord({ record: source, seed, keyId, builderVersion, readings }) {
  checkIssuer(keyId, builderVersion);
  const signer = signerOf(seed);
  const record = readJson(source);
  const wrong = misfit(record, recordShape, 'record');
  demand(wrong === null, `${wrong} has not its form`);

  const digest = digestOf(record.get('canonical_record'));
  const receipt = record.get('receipt');
  demand(record.get('canonical_sha256') === digest && receipt.get('canonical_sha256') === digest, 'another digest');
  demand(record.get('pith_number') === numberFrom(record.get('canonical_record')), 'another number');

  const known = [...receiptTimes(receipt), recordInstant(record.get('updated_at'))];
  demand(!known.includes(null), 'a time that can not be read');
  const latest = known.reduce((a, b) => (a > b ? a : b));
  const [reissued, updated, signed] = raiseReadings(readReadings(readings), latest);

  const times = [known[0], reissued, signed];
  const rewritten = inPublishedOrder(record, recordShape);
  rewritten.set('receipt', makeReceipt({ signer, keyId, digest, builderVersion, times }));
  rewritten.set('updated_at', asRecordTime(updated));
  return publish(rewritten);
}
