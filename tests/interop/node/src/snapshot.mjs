// Hashes and counts of the sections of a graph snapshot (PROTOCOL §4 and §5), and the rows they are made of.

import { canonicalJson, object } from './json.mjs';
import { demand } from './refused.mjs';
import { anyObject, boolean, list, misfit, oneOf, open, text } from './shape.mjs';
import { sha256Hex } from './text.mjs';

export const SAMPLE = 5;

export const payloadHash = (payload) => sha256Hex(canonicalJson(object({ payload })));
export const EMPTY_HASH = payloadHash([]);
export const integrityHash = (detectorsRun, findings) =>
  payloadHash(object({ detectors: detectorsRun, findings }));

const SEVERITIES = ['advisory', 'critical', 'informational'];

// Rows are open objects; named here are the fields that are counted.
const rowShapes = {
  claims: anyObject,
  references: open({ resolved: boolean, is_internal_anchor: boolean }, ['resolved', 'is_internal_anchor']),
  formal_canon: anyObject,
  author_claims: open({ strength: oneOf('weak', 'strong') }),
  inbound_citations: open({ is_internal_anchor: boolean }, ['is_internal_anchor']),
  events: open({ event_type: text }),
  detectors_run: open({ name: text }),
  findings: open({ detector: text, severity: oneOf(...SEVERITIES) }),
};

/** Refuses what is no list of rows of the kind. */
export function checkRows(value, kind) {
  const wrong = misfit(value, list(rowShapes[kind]), kind);
  demand(wrong === null, `${wrong} has not its form`);
  return value;
}

export const countTrue = (rows, field) => rows.filter((row) => row.get(field) === true).length;

const sectionCounts = {
  claims: (rows) => ({ count: rows.length }),
  references: (rows) => ({
    count: rows.length,
    resolved_work: countTrue(rows, 'resolved'),
    internal_anchors: countTrue(rows, 'is_internal_anchor'),
  }),
  formal_canon: (rows) => ({ evidence_count: rows.length }),
  author_claims: (rows) => ({
    count: rows.length,
    strong_count: rows.filter((row) => row.get('strength') === 'strong').length,
  }),
};

/** Counts and hash of a section of rows. */
export function sectionOf(name, rows) {
  demand(Object.hasOwn(sectionCounts, name), 'no such section');
  checkRows(rows, name);
  return { ...sectionCounts[name](rows), snapshot_sha256: payloadHash(rows) };
}

function severityCounts(findings) {
  const counts = SEVERITIES.map((severity) => [severity, findings.filter((row) => row.get('severity') === severity).length]);
  return new Map(counts);
}

/** The counts of findings, in all and for each detector (§4). */
export function integritySummary(findings) {
  checkRows(findings, 'findings');
  const grouped = new Map();
  for (const row of findings) {
    const detector = row.get('detector');
    if (!grouped.has(detector)) grouped.set(detector, []);
    grouped.get(detector).push(row);
  }
  const byDetector = new Map(
    [...grouped].map(([detector, own]) => [detector, new Map([['total', own.length], ...severityCounts(own)])]),
  );
  return new Map([...severityCounts(findings), ['by_detector', byDetector]]);
}

export function integrityOf(detectorsRun, findings) {
  checkRows(detectorsRun, 'detectors_run');
  const summary = integritySummary(findings);
  return { clean: findings.length === 0, summary, snapshot_sha256: integrityHash(detectorsRun, findings) };
}

export const integrityEndpoint = (id) => `/pith/${id}/integrity.json`;

/** How many events there are of each type; refuses events without one. */
export function eventCounts(events) {
  checkRows(events, 'events');
  const counts = new Map();
  for (const event of events) {
    const type = event.get('event_type');
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return counts;
}

/** §11: whether a value can be that of `count` rows, of which only `rows` are shown. Refuses rows that can't be counted. */
export function fitsShown(value, count, rows, field, kind) {
  const inShown = countTrue(checkRows(rows, kind), field);
  // In bigints, since a record may hold any integer.
  return value >= inShown && BigInt(value) <= BigInt(inShown) + BigInt(count) - BigInt(rows.length);
}

