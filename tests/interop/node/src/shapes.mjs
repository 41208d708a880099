// The shape of a published record: its fields in their order, with their types (PROTOCOL §4, §5 and §6).

import { isVersion } from './arxiv.mjs';
import { receiptShape } from './receipt.mjs';
import {
  anyObject, anything, boolean, closed, constant, either, integer, list, mapOf, nullable, open, rows, text,
} from './shape.mjs';

const version = { test: isVersion };
const texts = (...names) => open(Object.fromEntries(names.map((name) => [name, text])));

const paperShape = open({
  title: text,
  license: text,
  headline: text,
  cross_cats: list(text),
  primary_cat: text,
  authors_text: text,
  submitted_at: text,
  abstract_excerpt: text,
});

const flagsShape = open({
  content_addressed: boolean,
  pith_receipt: boolean,
  author_attested: boolean,
  weak_author_claims: integer,
  strong_author_claims: integer,
  externally_anchored: boolean,
  storage_verified: boolean,
  citation_signatures: integer,
  replication_records: integer,
  graph_snapshot: boolean,
  references_resolved: boolean,
  formal_links_present: boolean,
});

const canonicalShape = closed({
  source: closed({ id: text, kind: constant('arxiv'), version }),
  metadata: closed({
    license: text,
    primary_cat: text,
    submitted_at: text,
    cross_cats_sorted: list(text),
    title_canon_sha256: text,
    abstract_canon_sha256: text,
  }),
  schema_version: constant('1.0'),
});

const idOrNull = nullable(either(text, integer));

export const verdictShape = open({
  id: idOrNull,
  model_set: anyObject,
  created_at: nullable(text),
  strongest_claim: nullable(text),
  one_line_summary: nullable(text),
  pipeline_version: idOrNull,
  weakest_assumption: nullable(text),
  pith_extraction_headline: nullable(text),
});

const countsShape = open({ total: integer, advisory: integer, critical: integer, informational: integer });

const integrityShape = open({
  clean: boolean,
  summary: open({ advisory: integer, critical: integer, by_detector: mapOf(countsShape), informational: integer }),
  endpoint: text,
  findings: rows,
  available: boolean,
  detectors_run: rows,
  snapshot_sha256: text,
});

const snapshotShape = open(
  {
    paper: paperShape,
    claims: open({ count: integer, items: rows, snapshot_sha256: text }),
    source: open({ id: text, kind: constant('arxiv'), version }),
    verdict: verdictShape,
    integrity: integrityShape,
    references: open({
      count: integer,
      sample: rows,
      resolved_work: integer,
      snapshot_sha256: text,
      internal_anchors: integer,
    }),
    formal_canon: open({ evidence_count: integer, snapshot_sha256: text }),
    author_claims: open({ count: integer, strong_count: integer, snapshot_sha256: text }),
    builder_version: text,
  },
  ['integrity'],
);

export const recordShape = open({
  record_type: constant('pith_number_record'),
  schema_url: text,
  pith_number: text,
  short_pith_number: text,
  schema_version: constant('1.0'),
  canonical_sha256: text,
  source: open({ kind: constant('arxiv'), id: text, version: integer }),
  attestation_state: text,
  paper: paperShape,
  verification_status: flagsShape,
  canonical_record: canonicalShape,
  receipt: receiptShape,
  graph_snapshot: snapshotShape,
  aliases: list(texts('alias_kind', 'alias_value', 'created_at')),
  events: rows,
  event_summary: mapOf(integer),
  paper_claims: list(anything),
  inbound_citations: open({ count: integer, internal_anchor_count: integer, sample: rows }),
  formal_canon: open({ evidence_count: integer, sample: rows, anchors: list(anything) }),
  links: texts('html', 'json', 'graph_json', 'events_json', 'paper'),
  agent_actions: open({
    ...texts('view_html', 'download_json', 'view_paper', 'resolve_alias', 'fetch_graph', 'fetch_events').fields,
    actions: texts('anchor_timestamp', 'attest_storage', 'attest_author', 'sign_citation', 'submit_replication'),
  }),
  created_at: text,
  updated_at: text,
});

/** The parts whose keys are in JSONB order (§4). */
export const BLOCKS = ['paper', 'canonical_record', 'receipt', 'graph_snapshot'];
