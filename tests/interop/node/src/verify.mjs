// Verifying a record with the named checks (PROTOCOL §11).

import { checks } from './checks.mjs';
import { readJson } from './json.mjs';
import { knownKey, readKeyring } from './keyring.mjs';
import { digestOf, numberFrom, readMetadata } from './metadata.mjs';
import { suffixOf } from './number.mjs';
import { Refused, refuse } from './refused.mjs';
import { misfit, unknownFields } from './shape.mjs';
import { recordShape } from './shapes.mjs';
import { secondsInstant } from './time.mjs';

function gather(record, ring, given, at) {
  const canonical = record.get('canonical_record');
  const receipt = record.get('receipt');
  const digest = digestOf(canonical);
  return {
    record,
    receipt,
    snapshot: record.get('graph_snapshot'),
    source: canonical.get('source'),
    metadata: canonical.get('metadata'),
    digest,
    suffix: suffixOf(digest),
    number: numberFrom(canonical),
    key: knownKey(ring, receipt.get('key_id'), receipt.get('public_key_fingerprint')),
    given,
    at,
  };
}

function passes(check, facts) {
  try {
    return check(facts);
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

/**
 * Checks a record against a key ring, and perhaps the paper's metadata and a time (`YYYY-MM-DDTHH:MM:SSZ`). Documents
 * are bytes or texts. Gives `checks`, a list of [name, passed: true, failed: false, or not checked: null], and the paths
 * of `unknown` fields. Refuses a record that is no strict JSON, and a ring, metadata or a time that can't be.
 */
export function verifyRecord(recordSource, keyringSource, metadataSource = null, time = null) {
  const ring = readKeyring(keyringSource);
  const given = metadataSource === null ? null : readMetadata(metadataSource);
  const at = time === null ? null : secondsInstant(time) ?? refuse('no time');
  const record = readJson(recordSource);

  const wrong = misfit(record, recordShape, 'record');
  if (wrong !== null) return { checks: [['form', false]], why: wrong, unknown: [] };
  const facts = gather(record, ring, given, at);
  const outcome = Object.entries(checks).map(([name, check]) => [name, passes(check, facts)]);
  return { checks: [['form', true], ...outcome], why: null, unknown: unknownFields(record, recordShape) };
}

export const failedChecks = (result) => result.checks.filter(([, passed]) => passed === false).map(([name]) => name);
