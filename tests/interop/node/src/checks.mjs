// The named checks of a record (PROTOCOL §11), but those of the snapshot's sections.
//
// A check takes what `verify` has gathered and gives true (passed), false (failed) or null (not checked). Refusals inside
// of a check count as a failure: they come from rows that can't be counted or hashed.

import { isCanonicalId, isCategory, isLicense } from './arxiv.mjs';
import { attestationState, flagsOf, linksOf } from './derived.mjs';
import { decodeBase64, decodePublicKey, fits } from './ed25519.mjs';
import { isHash, aliasesOf } from './number.mjs';
import { inOrder, receiptTimes } from './receipt.mjs';
import { eventCounts } from './snapshot.mjs';
import { countsFit, hashesFit } from './sections.mjs';
import { EXCERPT_LENGTH, authorsText, excerpt, publishedTitle, textHash, textHashOrNull } from './text.mjs';
import { isSubmissionTime, receiptInstant, recordInstant } from './time.mjs';
import { byCodePoint, codePoints, collapse } from './unicode.mjs';

const isSameList = (a, b) => a.length === b.length && a.every((item, i) => item === b[i]);
const isSame = (a, b) => (Array.isArray(a) ? isSameList(a, b) : a === b);
const agree = (a, b, names) => names.every((name) => isSame(a.get(name), b.get(name)));

function canonicalBytes({ source, metadata }) {
  const cross = metadata.get('cross_cats_sorted');
  return isHash(metadata.get('title_canon_sha256'))
    && isHash(metadata.get('abstract_canon_sha256'))
    && isSubmissionTime(metadata.get('submitted_at'))
    && isLicense(metadata.get('license'))
    && [metadata.get('primary_cat'), ...cross].every(isCategory)
    && cross.every((name, i) => i === 0 || byCodePoint(cross[i - 1], name) < 0)
    && !cross.includes(metadata.get('primary_cat'))
    && isCanonicalId(source.get('id'));
}

function aliases({ record, suffix, source }) {
  const wanted = aliasesOf(suffix, source.get('id'), source.get('version'));
  const found = record.get('aliases');
  return found.length === wanted.length && found.every((alias, i) =>
    alias.get('alias_kind') === wanted[i][0]
    && alias.get('alias_value') === wanted[i][1]
    && alias.get('created_at') === record.get('created_at'));
}

function links({ record, suffix, source }) {
  const base = /^(https?:\/\/[\x21-\x7e]+)\/pith\/[A-Z2-7]{26}$/.exec(record.get('links').get('html'))?.[1];
  if (base === undefined) return false;
  const wanted = linksOf(base, suffix, source.get('id'));
  const actions = wanted.agentActions.get('actions');
  const pages = [...wanted.agentActions.keys()].filter((name) => name !== 'actions');
  const found = record.get('agent_actions');
  return record.get('schema_url') === wanted.schemaUrl
    && agree(record.get('links'), wanted.links, [...wanted.links.keys()])
    && agree(found, wanted.agentActions, pages)
    && agree(found.get('actions'), actions, [...actions.keys()]);
}

function paper({ record, snapshot, metadata }) {
  const own = record.get('paper');
  const title = own.get('title');
  const shown = own.get('abstract_excerpt');
  const length = codePoints(shown).length;
  return agree(own, snapshot.get('paper'), ['title', 'license', 'headline', 'cross_cats', 'primary_cat', 'authors_text',
    'submitted_at', 'abstract_excerpt'])
    && agree(own, metadata, ['license', 'primary_cat', 'submitted_at'])
    && isSameList(own.get('cross_cats'), metadata.get('cross_cats_sorted'))
    && title === collapse(title)
    && textHashOrNull(title) === metadata.get('title_canon_sha256')
    && length <= EXCERPT_LENGTH
    && (length === EXCERPT_LENGTH || textHashOrNull(shown) === metadata.get('abstract_canon_sha256'));
}

function eventSummary({ record }) {
  const counts = eventCounts(record.get('events'));
  const summary = record.get('event_summary');
  return summary.size === counts.size && [...counts].every(([type, count]) => summary.get(type) === count);
}

function flags({ record, snapshot }) {
  const wanted = flagsOf({
    authorClaims: snapshot.get('author_claims').get('count'),
    strongClaims: snapshot.get('author_claims').get('strong_count'),
    references: snapshot.get('references').get('count'),
    resolved: snapshot.get('references').get('resolved_work'),
    evidence: snapshot.get('formal_canon').get('evidence_count'),
    events: eventCounts(record.get('events')),
  });
  return agree(record.get('verification_status'), wanted, [...wanted.keys()])
    && record.get('attestation_state') === attestationState(wanted);
}

function builderVersion({ record, receipt, snapshot }) {
  const isReissued = receipt.get('last_reissued_at') !== receipt.get('first_computed_at')
    || record.get('updated_at') !== record.get('created_at');
  return isReissued ? null : receipt.get('builder_version') === snapshot.get('builder_version');
}

function timesInOrder({ record, receipt }) {
  const [first, reissued, signed] = receiptTimes(receipt);
  const [created, updated] = ['created_at', 'updated_at'].map((name) => recordInstant(record.get(name)));
  return inOrder([first, created, updated]) && inOrder([first, reissued, signed]);
}

function signature({ receipt, key, digest }) {
  const text = receipt.get('signature_b64');
  if (decodeBase64(text, 64) === null) return false;
  return key === null ? null : fits(decodePublicKey(key.publicKeyB64), Buffer.from(digest, 'hex'), text);
}

function keyValid({ receipt, key, at }) {
  if (key === null) return null;
  const signed = receiptInstant(receipt.get('signed_at'));
  if (signed === null || (at !== null && signed > at)) return false;
  // A time in whole seconds as an instant; both are of the same length then.
  const instant = (time) => time.replace('Z', '.000000');
  const inTime = (key.notBefore === null || signed >= instant(key.notBefore))
    && (key.notAfter === null || signed < instant(key.notAfter));
  if (key.use === 'recovery' || key.state === 'next' || !inTime) return false;
  if (key.revoked === null) return true;
  const since = instant(key.revoked.since);
  const counts = at === null || at >= since;
  return !counts || (key.revoked.reason !== 'compromised' && signed < since);
}

const ifKnown = (check) => (facts) => (facts.given === null ? null : check(facts, facts.given));

function sameMetadata({ source, metadata }, given) {
  if (given.license === null) return null;
  return source.get('id') === given.id
    && source.get('version') === given.version
    && metadata.get('license') === given.license
    && metadata.get('primary_cat') === given.primary
    && isSameList(metadata.get('cross_cats_sorted'), given.cross)
    && metadata.get('submitted_at') === given.submittedAt;
}

/** Every check behind `form`, in the order of §11. */
export const checks = {
  canonical_bytes: canonicalBytes,
  digest: ({ record, receipt, digest }) =>
    record.get('canonical_sha256') === digest && receipt.get('canonical_sha256') === digest,
  number: ({ record, number }) => number !== null && record.get('pith_number') === number,
  short_forms: ({ record, number, suffix }) =>
    number !== null && record.get('short_pith_number') === `pith:${suffix.slice(0, 8)}`,
  source: ({ record, snapshot, source }) =>
    [record, snapshot].every((part) => agree(part.get('source'), source, ['id', 'version'])),
  aliases: (facts) => facts.number !== null && aliases(facts),
  links: (facts) => facts.number !== null && links(facts),
  paper,
  snapshot_hashes: hashesFit,
  counts: countsFit,
  event_summary: eventSummary,
  flags,
  builder_version: builderVersion,
  times_in_order: timesInOrder,
  signature,
  key_known: ({ key }) => key !== null,
  key_valid: keyValid,
  metadata: ifKnown(sameMetadata),
  title: ifKnown(({ record, metadata }, given) =>
    metadata.get('title_canon_sha256') === textHash(given.title)
    && record.get('paper').get('title') === publishedTitle(given.title)),
  abstract: ifKnown(({ metadata }, given) => metadata.get('abstract_canon_sha256') === textHash(given.abstract)),
  excerpt: ifKnown(({ record }, given) => record.get('paper').get('abstract_excerpt') === excerpt(given.abstract)),
  authors: ifKnown(({ record }, given) => record.get('paper').get('authors_text') === authorsText(given.authors)),
};
