// What follows from other parts of a record: flags (PROTOCOL §7) and links (§8). Builder and verifier share them.

import { asInteger, object } from './json.mjs';

/** `verification_status` from the counts of the snapshot and the events by type. */
export function flagsOf({ authorClaims, strongClaims, references, resolved, evidence, events }) {
  const ofType = (type) => events.get(type) ?? 0;
  return object({
    content_addressed: true,
    pith_receipt: true,
    author_attested: strongClaims > 0,
    weak_author_claims: asInteger(BigInt(authorClaims) - BigInt(strongClaims)),
    strong_author_claims: strongClaims,
    externally_anchored: ofType('timestamp_anchor') > 0,
    storage_verified: ofType('storage_attestation') > 0,
    citation_signatures: ofType('citation_signature'),
    replication_records: ofType('replication_record'),
    graph_snapshot: true,
    references_resolved: references > 0 && resolved === references,
    formal_links_present: evidence > 0,
  });
}

export const attestationState = (flags) => (flags.get('author_attested') ? 'author_attested' : 'computed');

/** Every link of a record: `schema_url`, `links` and `agent_actions`. */
export function linksOf(base, suffix, id) {
  const page = `${base}/pith/${suffix}`;
  const api = `${base}/api/pith-number`;
  const links = {
    html: page,
    json: `${page}.json`,
    graph_json: `${api}/${suffix}/graph.json`,
    events_json: `${api}/${suffix}/events.json`,
    paper: `${base}/paper/${suffix.slice(0, 8)}`,
  };
  return {
    schemaUrl: `${base}/schemas/pith-number/v1.json`,
    links: object(links),
    agentActions: object({
      view_html: links.html,
      download_json: links.json,
      view_paper: links.paper,
      resolve_alias: `${api}/resolve?arxiv=${id}&json=true`,
      fetch_graph: links.graph_json,
      fetch_events: links.events_json,
      actions: object({
        anchor_timestamp: `${page}/action/timestamp_anchor`,
        attest_storage: `${page}/action/storage_attestation`,
        attest_author: `${page}/action/author_attestation`,
        sign_citation: `${page}/action/citation_signature`,
        submit_replication: `${page}/action/replication_record`,
      }),
    }),
  };
}
