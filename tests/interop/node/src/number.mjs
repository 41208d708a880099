// Pith numbers, short forms, aliases and the transcription form (PROTOCOL §3).

import { isCanonicalId, isVersion } from './arxiv.mjs';
import { demand, refuse } from './refused.mjs';
import { isAscii, strip } from './unicode.mjs';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CHECK_SYMBOLS = `${CROCKFORD}*~$=U`;
const LENGTH = 26;

export const isHash = (text) => /^[0-9a-f]{64}$/.test(text);
const isYear = (year) => Number.isInteger(year) && year >= 1900 && year <= 2099;

/** The first 26 symbols of the digest's base32. */
export function suffixOf(digestHex) {
  demand(isHash(digestHex), 'no SHA-256 in hex');
  const bits = BigInt(`0x${digestHex}`) >> BigInt(256 - 5 * LENGTH);
  return Array.from({ length: LENGTH }, (_, i) => BASE32[Number((bits >> BigInt(5 * (LENGTH - 1 - i))) & 31n)]).join('');
}

export function numberOf(digestHex, year) {
  demand(isYear(year), 'no year from 1900 to 2099');
  return `pith:${year}:${suffixOf(digestHex)}`;
}

export const shortNumber = (suffix) => `pith:${suffix.slice(0, 8)}`;

/** The six aliases in their order, as pairs of kind and value. */
export function aliasesOf(suffix, id, version) {
  return [
    ['arxiv', id],
    ['arxiv_version', `${id}v${version}`],
    ['doi', `10.48550/arxiv.${id}`.toLowerCase()],
    ['pith_short_12', suffix.slice(0, 12)],
    ['pith_short_16', suffix.slice(0, 16)],
    ['pith_short_8', suffix.slice(0, 8)],
  ];
}

export function shortForms(digestHex, year, id, version) {
  demand(isYear(year) && isCanonicalId(id) && isVersion(version), 'no year, id or version');
  const suffix = suffixOf(digestHex);
  return { short_pith_number: shortNumber(suffix), aliases: aliasesOf(suffix, id, version) };
}

const SUFFIX = '([A-Z2-7]{26}|[A-Z2-7]{16}|[A-Z2-7]{12}|[A-Z2-7]{8})';
const WITH_YEAR = /^pith:(19\d\d|20\d\d):([A-Z2-7]{26})$/i;
const PLAIN = new RegExp(`^(?:pith:)?${SUFFIX}$`, 'i');
const ADDRESS = new RegExp(
  '^(?:https?://)?[a-z0-9.-]+(?::\\d+)?/(?:pith|\\.well-known/pith|paper|api/pith-number)/' +
    `${SUFFIX}(?:\\.json|/[a-z0-9_./-]*)?(?:[?#][^\\t-\\r ]*)?$`,
  'i',
);

/** A number as people paste it: the suffix or a short form of it, and the year or null. */
export function readNumber(pasted) {
  const text = strip(pasted);
  demand(isAscii(text), 'a number is ASCII');
  const full = WITH_YEAR.exec(text);
  if (full) return { suffix: full[2].toUpperCase(), year: Number(full[1]) };
  const found = (text.includes('/') ? ADDRESS : PLAIN).exec(text) ?? refuse('no Pith number');
  return { suffix: found[1].toUpperCase(), year: null };
}

// 5 bits a symbol, modulo 37 as it goes.
const checkSymbol = (values) => CHECK_SYMBOLS[values.reduce((sum, value) => (sum * 32 + value) % 37, 0)];

export function transcribe(suffix) {
  demand(/^[A-Z2-7]{26}$/.test(suffix), 'no suffix of 26 symbols');
  const values = Array.from(suffix, (symbol) => BASE32.indexOf(symbol));
  const symbols = values.map((value) => CROCKFORD[value]).join('') + checkSymbol(values);
  return symbols.match(/.../g).join('-');
}

export function readTranscription(heard) {
  demand(isAscii(heard), 'a transcription is ASCII');
  const symbols = heard.toUpperCase().replace(/[ -]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1');
  const values = Array.from(symbols.slice(0, LENGTH), (symbol) => CROCKFORD.indexOf(symbol));
  demand(symbols.length === LENGTH + 1 && !values.includes(-1), 'no transcription of 27 symbols');
  demand(symbols[LENGTH] === checkSymbol(values), 'the check symbol does not fit');
  return values.map((value) => BASE32[value]).join('');
}
