// Unicode 14.0 as PROTOCOL §1 publishes it. The runtime ships another version, so what depends on the version comes from
// the tables, and only mappings that Unicode keeps for ever come from the runtime.

import { readFileSync } from 'node:fs';
import { demand } from './refused.mjs';

const tables = JSON.parse(readFileSync(new URL('../../../../fixtures/vectors/unicode-14.0.json', import.meta.url), 'utf8'));

const UNASSIGNED = 1;
const CASE_IGNORABLE = 2;
const CASED = 4;

const properties = new Uint8Array(0x110000);
for (const [name, bit] of [['unassigned', UNASSIGNED], ['case_ignorable', CASE_IGNORABLE], ['cased', CASED]]) {
  for (const [first, last] of tables[name]) {
    for (let c = parseInt(first, 16); c <= parseInt(last, 16); c++) properties[c] |= bit;
  }
}

// Every whitespace character of §1 is in the BMP, so UTF-16 units do here.
const SPACE = `[${tables.whitespace.map(([first, last]) => `\\u${first.padStart(4, '0')}-\\u${last.padStart(4, '0')}`).join('')}]`;
const spaceRuns = new RegExp(`${SPACE}+`, 'g');
const space = new RegExp(SPACE);

export const isAscii = (text) => !/[^\x00-\x7f]/.test(text);
export const codePoints = (text) => Array.from(text);
export const isUnassigned = (character) => (properties[character.codePointAt(0)] & UNASSIGNED) !== 0;

const isSurrogate = (unit) => unit >= 0xd800 && unit <= 0xdfff;

/** The order by code point. It is not that of UTF-16, where surrogates stand before U+E000 to U+FFFF. */
export function byCodePoint(a, b) {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : Number(isSurrogate(x)) - Number(isSurrogate(y));
  }
  return a.length - b.length;
}

/** Title, abstract and their like: §1 has neither U+0000 nor lone surrogates. */
export function checkText(text) {
  demand(text.isWellFormed(), 'a lone surrogate');
  demand(!text.includes('\0'), 'U+0000');
  return text;
}

export function strip(text) {
  let start = 0;
  let end = text.length;
  while (start < end && space.test(text[start])) start++;
  while (end > start && space.test(text[end - 1])) end--;
  return text.slice(start, end);
}

export const collapse = (text) => strip(text.replace(spaceRuns, ' '));

/** The words between whitespace. */
export const words = (text) => collapse(text).split(' ').filter((word) => word !== '');

// §1: a sigma is final if something cased stands before it and nothing cased behind it, case-ignorables passed over.
// A piece ends at an unassigned code point, which is neither cased nor ignorable and so stops the search.
function isFinalSigma(characters, at) {
  const casedBeside = (step) => {
    let i = at + step;
    while (i >= 0 && i < characters.length && properties[characters[i].codePointAt(0)] & CASE_IGNORABLE) i += step;
    return i >= 0 && i < characters.length && (properties[characters[i].codePointAt(0)] & CASED) !== 0;
  };
  return casedBeside(-1) && !casedBeside(1);
}

/** Lower-casing by Unicode 14.0 (§1). */
export function lower(text) {
  if (isAscii(text)) return text.toLowerCase();
  const characters = codePoints(text);
  return characters
    .map((character, i) => {
      if (isUnassigned(character)) return character;
      if (character === 'Σ') return isFinalSigma(characters, i) ? 'ς' : 'σ';
      return character.toLowerCase();
    })
    .join('');
}
