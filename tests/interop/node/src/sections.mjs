// The checks of the snapshot's sections: `snapshot_hashes` and `counts` (PROTOCOL §11).

import { isObject } from './json.mjs';
import { isHash } from './number.mjs';
import {
  EMPTY_HASH, SAMPLE, fitsShown, integrityEndpoint, integrityHash, integritySummary, payloadHash,
} from './snapshot.mjs';

// Where not every row is shown, the hash can only be looked at.
function hashFits(hash, count, shown) {
  if (count === shown.length) return hash === payloadHash(shown);
  return isHash(hash) && hash !== EMPTY_HASH;
}

export function hashesFit({ record, snapshot }) {
  const section = (name) => snapshot.get(name);
  const hash = (name) => section(name).get('snapshot_sha256');
  const integrity = section('integrity');
  return hash('claims') === payloadHash(section('claims').get('items'))
    && (integrity === undefined
      || hash('integrity') === integrityHash(integrity.get('detectors_run'), integrity.get('findings')))
    && hashFits(hash('references'), section('references').get('count'), section('references').get('sample'))
    && hashFits(hash('formal_canon'), section('formal_canon').get('evidence_count'), record.get('formal_canon').get('sample'))
    && hashFits(hash('author_claims'), section('author_claims').get('count'), []);
}

const SEVERITIES = ['advisory', 'critical', 'informational'];
const agree = (a, b, names) => isObject(a) && names.every((name) => a.get(name) === b.get(name));

function integrityFits(integrity, id) {
  const wanted = integritySummary(integrity.get('findings'));
  const summary = integrity.get('summary');
  const byDetector = summary.get('by_detector');
  return integrity.get('clean') === (integrity.get('findings').length === 0)
    && integrity.get('available') === true
    && integrity.get('endpoint') === integrityEndpoint(id)
    && agree(summary, wanted, SEVERITIES)
    && byDetector.size === wanted.get('by_detector').size
    && [...wanted.get('by_detector')].every(([name, counts]) =>
      agree(byDetector.get(name), counts, ['total', ...SEVERITIES]));
}

const showsEnough = (rows, count) => count >= 0 && rows.length === Math.min(Number(count), SAMPLE);

export function countsFit({ record, snapshot, source }) {
  const claims = snapshot.get('claims');
  const integrity = snapshot.get('integrity');
  const references = snapshot.get('references');
  const formal = record.get('formal_canon');
  const authors = snapshot.get('author_claims');
  const citations = record.get('inbound_citations');

  const cited = references.get('sample');
  const count = references.get('count');
  const citing = citations.get('sample');
  return claims.get('count') === claims.get('items').length
    && (integrity === undefined || integrityFits(integrity, source.get('id')))
    && showsEnough(cited, count)
    && fitsShown(references.get('resolved_work'), count, cited, 'resolved', 'references')
    && fitsShown(references.get('internal_anchors'), count, cited, 'is_internal_anchor', 'references')
    && formal.get('evidence_count') === snapshot.get('formal_canon').get('evidence_count')
    && showsEnough(formal.get('sample'), formal.get('evidence_count'))
    && authors.get('strong_count') >= 0
    && authors.get('strong_count') <= authors.get('count')
    && citations.get('count') >= citing.length
    && fitsShown(citations.get('internal_anchor_count'), citations.get('count'), citing, 'is_internal_anchor',
      'inbound_citations');
}
