// Building a record byte for byte (PROTOCOL §4).

import { attestationState, flagsOf, linksOf } from './derived.mjs';
import { signerOf } from './ed25519.mjs';
import { readEnrichment } from './enrichment.mjs';
import { MAX_BYTES, jsonbOrder, object, writeJson } from './json.mjs';
import { isKeyId } from './keyring.mjs';
import { canonicalRecord, digestOf, readMetadata } from './metadata.mjs';
import { aliasesOf, numberOf, shortNumber, suffixOf } from './number.mjs';
import { makeReceipt } from './receipt.mjs';
import { demand, refuse } from './refused.mjs';
import { BLOCKS } from './shapes.mjs';
import { SAMPLE, eventCounts, integrityEndpoint, integrityOf, sectionOf } from './snapshot.mjs';
import { authorsText, excerpt, publishedTitle } from './text.mjs';
import { asRecordTime, raiseReadings, receiptInstant } from './time.mjs';
import { byCodePoint } from './unicode.mjs';

/** The instants of readings of the clock. */
export function readReadings(readings) {
  demand(readings.length === 3, 'not three readings');
  return readings.map((reading) => receiptInstant(reading) ?? refuse('a reading is no time'));
}

export function checkIssuer(keyId, builderVersion) {
  demand(isKeyId(keyId), 'no key id');
  demand(typeof builderVersion === 'string' && builderVersion.isWellFormed(), 'no builder version');
}

const BASE = /^https?:\/\/[\x21-\x7e]+$/;

function baseOf(url) {
  // §8: slashes at its end are taken away.
  let end = url.length;
  while (url[end - 1] === '/') end--;
  const base = url.slice(0, end);
  demand(BASE.test(base), 'no base URL');
  return base;
}

/** The record as bytes go: its blocks in JSONB order, everything else as it stands. */
export function publish(record) {
  const ordered = new Map([...record].map(([name, value]) => [name, BLOCKS.includes(name) ? jsonbOrder(value) : value]));
  const written = writeJson(ordered);
  demand(Buffer.byteLength(written) <= MAX_BYTES, 'the record is too long');
  return written;
}

function paperOf(metadata, headline) {
  return object({
    title: publishedTitle(metadata.title),
    license: metadata.license,
    headline,
    cross_cats: metadata.cross,
    primary_cat: metadata.primary,
    authors_text: authorsText(metadata.authors),
    submitted_at: metadata.submittedAt,
    abstract_excerpt: excerpt(metadata.abstract),
  });
}

function snapshotOf(metadata, enrichment, paper, builderVersion) {
  const integrity = integrityOf(enrichment.detectorsRun, enrichment.findings);
  return object({
    paper,
    claims: object({ ...sectionOf('claims', enrichment.claims), items: enrichment.claims }),
    source: object({ id: metadata.id, kind: 'arxiv', version: metadata.version }),
    verdict: enrichment.verdict,
    integrity: object({
      ...integrity,
      endpoint: integrityEndpoint(metadata.id),
      findings: enrichment.findings,
      available: true,
      detectors_run: enrichment.detectorsRun,
    }),
    references: object({
      ...sectionOf('references', enrichment.references),
      sample: enrichment.references.slice(0, SAMPLE),
    }),
    formal_canon: object(sectionOf('formal_canon', enrichment.evidence)),
    author_claims: object(sectionOf('author_claims', enrichment.authorClaims)),
    builder_version: builderVersion,
  });
}

/**
 * A record from documents of metadata and enrichment (or null). `readings` are three readings of the clock, as receipt
 * times; the seed is base64.
 */
export function buildRecord(given) {
  const { seed, keyId, baseUrl, builderVersion, readings } = given;
  checkIssuer(keyId, builderVersion);
  const signer = signerOf(seed);
  const base = baseOf(baseUrl);
  const metadata = readMetadata(given.metadata);
  const enrichment = readEnrichment(given.enrichment);
  const [first, created, signed] = raiseReadings(readReadings(readings));

  const canonical = canonicalRecord(metadata);
  const digest = digestOf(canonical);
  const suffix = suffixOf(digest);
  const paper = paperOf(metadata, enrichment.headline);
  const snapshot = snapshotOf(metadata, enrichment, paper, builderVersion);
  const events = eventCounts(enrichment.events);
  const flags = flagsOf({
    authorClaims: snapshot.get('author_claims').get('count'),
    strongClaims: snapshot.get('author_claims').get('strong_count'),
    references: snapshot.get('references').get('count'),
    resolved: snapshot.get('references').get('resolved_work'),
    evidence: enrichment.evidence.length,
    events,
  });
  const { schemaUrl, links, agentActions } = linksOf(base, suffix, metadata.id);
  const createdAt = asRecordTime(created);

  return publish(object({
    record_type: 'pith_number_record',
    schema_url: schemaUrl,
    pith_number: numberOf(digest, Number(metadata.submittedAt.slice(0, 4))),
    short_pith_number: shortNumber(suffix),
    schema_version: '1.0',
    canonical_sha256: digest,
    source: object({ kind: 'arxiv', id: metadata.id, version: metadata.version }),
    attestation_state: attestationState(flags),
    paper,
    verification_status: flags,
    canonical_record: canonical,
    receipt: makeReceipt({ signer, keyId, digest, builderVersion, times: [first, first, signed] }),
    graph_snapshot: snapshot,
    aliases: aliasesOf(suffix, metadata.id, metadata.version).map(([kind, value]) =>
      object({ alias_kind: kind, alias_value: value, created_at: createdAt })),
    events: enrichment.events,
    event_summary: new Map([...events].sort(([a], [b]) => byCodePoint(a, b))),
    paper_claims: enrichment.paperClaims,
    inbound_citations: object({
      count: enrichment.citations.count,
      internal_anchor_count: enrichment.citations.internalCount,
      sample: enrichment.citations.sample,
    }),
    formal_canon: object({
      evidence_count: enrichment.evidence.length,
      sample: enrichment.evidence.slice(0, SAMPLE),
      anchors: enrichment.anchors,
    }),
    links,
    agent_actions: agentActions,
    created_at: createdAt,
    updated_at: createdAt,
  }));
}
