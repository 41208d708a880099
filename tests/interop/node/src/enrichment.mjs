// Enrichment (PROTOCOL §4): what comes from outside the paper. What isn't given has the published default.

import { ENRICHMENT_DEPTH, isObject, object, readObject } from './json.mjs';
import { demand } from './refused.mjs';
import { anything, closed, integer, list, misfit, nullable, open, rows, text } from './shape.mjs';
import { checkRows, countTrue } from './snapshot.mjs';
import { verdictShape } from './shapes.mjs';

const verdictDefaults = object({
  id: null,
  model_set: new Map(),
  created_at: null,
  strongest_claim: '',
  one_line_summary: '',
  pipeline_version: null,
  weakest_assumption: '',
  pith_extraction_headline: '',
});

const allOptional = (make, fields) => make(fields, Object.keys(fields));

const shape = allOptional(open, {
  headline: text,
  verdict: allOptional(open, verdictShape.fields),
  claims: rows,
  integrity: allOptional(open, { detectors_run: rows, findings: rows }),
  references: rows,
  formal_canon: allOptional(open, { evidence: rows, anchors: list(anything) }),
  author_claims: rows,
  inbound_citations: anything,
  events: rows,
  paper_claims: list(anything),
});
const citationsShape = allOptional(closed, {
  sample: rows,
  count: nullable(integer),
  internal_anchor_count: nullable(integer),
});

function citationsOf(given) {
  const value = isObject(given) ? given : object({ sample: given });
  const wrong = misfit(value, citationsShape, 'inbound_citations');
  demand(wrong === null, `${wrong} has not its form`);
  const sample = checkRows(value.get('sample') ?? [], 'inbound_citations');
  const internal = countTrue(sample, 'is_internal_anchor');
  const count = value.get('count') ?? sample.length;
  const internalCount = value.get('internal_anchor_count') ?? internal;
  demand(count >= sample.length, 'fewer citations than rows');
  demand(internalCount >= internal, 'fewer internal citations than rows');
  demand(BigInt(internalCount) <= BigInt(internal) + BigInt(count) - BigInt(sample.length), 'too many internal citations');
  return { sample, count, internalCount };
}

/** Enrichment from a document, or the defaults for null. */
export function readEnrichment(source) {
  const value = source === null ? new Map() : readObject(source, ENRICHMENT_DEPTH);
  const wrong = misfit(value, shape, 'enrichment');
  demand(wrong === null, `${wrong} has not its form`);
  const part = (name) => value.get(name) ?? new Map();
  return {
    headline: value.get('headline') ?? '',
    verdict: new Map([...verdictDefaults, ...part('verdict')]),
    claims: value.get('claims') ?? [],
    detectorsRun: part('integrity').get('detectors_run') ?? [],
    findings: part('integrity').get('findings') ?? [],
    references: value.get('references') ?? [],
    evidence: part('formal_canon').get('evidence') ?? [],
    anchors: part('formal_canon').get('anchors') ?? [],
    authorClaims: value.get('author_claims') ?? [],
    citations: citationsOf(value.has('inbound_citations') ? value.get('inbound_citations') : []),
    events: value.get('events') ?? [],
    paperClaims: value.get('paper_claims') ?? [],
  };
}
