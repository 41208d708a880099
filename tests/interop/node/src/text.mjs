// Canonical text (PROTOCOL §1), the published author list and the excerpt (§4).

import { createHash } from 'node:crypto';
import { byCodePoint, checkText, codePoints, collapse, isUnassigned, lower, strip } from './unicode.mjs';

export const sha256 = (data) => createHash('sha256').update(data).digest();
export const sha256Hex = (data) => sha256(data).toString('hex');

export const canonicalText = (text) => collapse(lower(checkText(text)));
export const textHash = (text) => sha256Hex(canonicalText(text));

/** The canonical hash, or null for a text that has none (§11: nothing that is compared with it fits). */
export function textHashOrNull(text) {
  return text.includes('\0') ? null : textHash(text);
}

export const publishedTitle = (title) => collapse(checkText(title));

// §4: letters and digits alone, without case. Decomposition needs no table: it never changes for an assigned code point.
function authorKey(name) {
  const assigned = codePoints(name).filter((character) => !isUnassigned(character)).join('');
  return lower(assigned.normalize('NFKD').replace(/[^\p{L}\p{N}]/gu, ''));
}

/** `authors_text` from arXiv's raw string (§4). */
export function authorsText(raw) {
  const pieces = collapse(checkText(raw)).replaceAll(' and ', ',').split(',');
  const names = new Set(pieces.map(strip).filter((name) => name !== ''));
  return [...names]
    .map((name) => ({ name, key: authorKey(name) }))
    .sort((a, b) => byCodePoint(a.key, b.key) || byCodePoint(a.name, b.name))
    .map(({ name }) => name)
    .join(', ');
}

// §4's pattern `(\n {2,})|[ \t]*\n(?! {2})[ \t]*`, newline by newline: as a regular expression it takes quadratic time
// on long runs of blanks.
function unwrap(text) {
  const isBlank = (c) => c === ' ' || c === '\t';
  let out = '';
  let done = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', done)) {
    let end = at + 1;
    if (text.startsWith('  ', end)) {
      while (text[end] === ' ') end++;
      out += text.slice(done, end);
    } else {
      let start = at;
      while (start > done && isBlank(text[start - 1])) start--;
      while (isBlank(text[end])) end++;
      out += `${text.slice(done, start)} `;
    }
    done = end;
  }
  return out + text.slice(done);
}

export const EXCERPT_LENGTH = 600;

/** `abstract_excerpt` from arXiv's raw abstract (§4). */
export function excerpt(raw) {
  const unwrapped = unwrap(strip(checkText(raw)).replace(/\r\n?/g, '\n'));
  // 600 code points are at most 1200 UTF-16 units, so the rest need not be taken apart.
  return codePoints(unwrapped.slice(0, 2 * EXCERPT_LENGTH)).slice(0, EXCERPT_LENGTH).join('');
}
