// Metadata and the canonical record that follows from it (PROTOCOL §2).

import { isCategory, isLicense, isVersion, readArxivId } from './arxiv.mjs';
import { canonicalJson, object, readObject } from './json.mjs';
import { suffixOf } from './number.mjs';
import { demand } from './refused.mjs';
import { sha256Hex, textHash } from './text.mjs';
import { isSubmissionTime } from './time.mjs';
import { byCodePoint, checkText, codePoints, collapse, words } from './unicode.mjs';

const MAX_LENGTH = 2 ** 20;

const isShort = (text) => text.length <= MAX_LENGTH || codePoints(text).length <= MAX_LENGTH;

function textField(metadata, name) {
  const text = metadata.get(name);
  demand(typeof text === 'string', `${name} is no text`);
  return checkText(text);
}

/** Metadata from a document. `license` is null where it is not known. */
export function readMetadata(source) {
  const metadata = readObject(source);
  const [title, abstract, authors, categoryNames] = ['title', 'abstract', 'authors', 'categories']
    .map((name) => textField(metadata, name));
  demand(collapse(title) !== '' && collapse(abstract) !== '', 'title or abstract is empty');
  demand([title, authors, categoryNames].every(isShort), 'a text is too long');

  const version = metadata.get('version');
  demand(isVersion(version), 'no version');
  const named = readArxivId(textField(metadata, 'arxiv_id'));
  demand(named.version === null || named.version === version, 'the id names another version');

  const categories = words(categoryNames);
  demand(categories.length > 0 && categories.every(isCategory), 'no categories');
  demand(new Set(categories).size === categories.length, 'a category twice');

  const license = metadata.get('license') ?? null;
  demand(license === null || (typeof license === 'string' && isLicense(license)), 'no licence');
  const submittedAt = textField(metadata, 'submitted_at');
  demand(isSubmissionTime(submittedAt), 'no submission time');

  const [primary, ...others] = categories;
  return { id: named.id, version, title, abstract, authors, primary, cross: others.sort(byCodePoint), license, submittedAt };
}

/** The canonical record (§2), with its keys in JSONB order. */
export function canonicalRecord(metadata) {
  demand(metadata.license !== null, 'the licence is not known');
  return object({
    source: object({ id: metadata.id, kind: 'arxiv', version: metadata.version }),
    metadata: object({
      license: metadata.license,
      primary_cat: metadata.primary,
      submitted_at: metadata.submittedAt,
      cross_cats_sorted: metadata.cross,
      title_canon_sha256: textHash(metadata.title),
      abstract_canon_sha256: textHash(metadata.abstract),
    }),
    schema_version: '1.0',
  });
}

export const digestOf = (canonical) => sha256Hex(canonicalJson(canonical));

/** The number that follows from a canonical record (§11): null where `submitted_at` has no year. */
export function numberFrom(canonical) {
  const year = /^\d{4}/.exec(canonical.get('metadata').get('submitted_at'));
  return year ? `pith:${year[0]}:${suffixOf(digestOf(canonical))}` : null;
}
