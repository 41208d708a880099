// arXiv ids as people paste them, and the forms of metadata (PROTOCOL §2).

import { demand, refuse } from './refused.mjs';
import { strip } from './unicode.mjs';

const ARCHIVES = new Set(
  `acc-phys adap-org alg-geom ao-sci astro-ph atom-ph bayes-an chao-dyn chem-ph cmp-lg comp-gas cond-mat cs dg-ga funct-an
  gr-qc hep-ex hep-lat hep-ph hep-th math math-ph mtrl-th nlin nucl-ex nucl-th patt-sol physics plasm-ph q-alg q-bio
  quant-ph solv-int supr-con`.split(/\s+/),
);

// Letters and digits are those of ASCII: without the flag `u`, ignoring case takes nothing beyond it for a letter.
const BLANK = '[\\t-\\r ]';
const PREFIXES = new RegExp(
  [
    `^arxiv:${BLANK}*`,
    `^(?:doi:${BLANK}*|(?:https?://)?(?:dx\\.)?doi\\.org/)?10\\.48550/arxiv\\.`,
    '^(?<page>(?:https?://)?(?:www\\.|export\\.)?arxiv\\.org/(?:abs|pdf|html|ps|format|e-print|src)/)',
  ].join('|'),
  'i',
);
const NEW_ID = /^(\d{4})\.(\d{4,5})(?!\d)/;
const OLD_ID = /^([A-Za-z-]+)(?:\.[A-Za-z-]+)?\/(\d{4})(\d{3})(?!\d)/;
const BEHIND_PAGE = /^(?:\.pdf)?\/?(?:[?#][^\t-\r ]*)?$/;
const STAMP = new RegExp(`^(?:${BLANK}*\\[[A-Za-z.-]+\\](?:${BLANK}+\\d{1,2} [A-Z][a-z]{2} \\d{4})?)?$`);

const isMonth = (yymm) => yymm.slice(2) >= '01' && yymm.slice(2) <= '12';

function newId([, yymm, number]) {
  const digits = yymm <= '1412' ? 4 : 5;
  if (yymm < '0704' || yymm > '9012' || !isMonth(yymm) || number.length !== digits || Number(number) === 0) return null;
  return `${yymm}.${number}`;
}

function oldId([, archive, yymm, number]) {
  const name = archive.toLowerCase();
  if (!ARCHIVES.has(name) || !isMonth(yymm) || Number(number) === 0) return null;
  return yymm <= '0703' || yymm >= '8601' ? `${name}/${yymm}${number}` : null;
}

/** The canonical id and the version, null if none is named. */
export function readArxivId(pasted) {
  let rest = strip(pasted);
  const prefix = PREFIXES.exec(rest);
  rest = rest.slice(prefix?.[0].length ?? 0);

  const isNew = NEW_ID.exec(rest);
  const found = isNew ?? OLD_ID.exec(rest) ?? refuse('no arXiv id');
  const id = (isNew ? newId(found) : oldId(found)) ?? refuse('no arXiv id that can be');
  rest = rest.slice(found[0].length);

  const version = (isNew ? /^v([1-9]\d{0,3})(?!\d)/ : /^[vV]([1-9]\d{0,3})(?!\d)/).exec(rest);
  rest = rest.slice(version?.[0].length ?? 0);
  demand((prefix?.groups.page ? BEHIND_PAGE : STAMP).test(rest), 'something behind the arXiv id');
  return { id, version: version ? Number(version[1]) : null };
}

export function isCanonicalId(text) {
  const isNew = NEW_ID.exec(text);
  const found = isNew ?? OLD_ID.exec(text);
  return found !== null && (isNew ? newId(found) : oldId(found)) === text;
}

export const isVersion = (value) => typeof value === 'number' && value >= 1 && value <= 9999;
export const isCategory = (name) => /^[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)?$/.test(name);
export const isLicense = (text) => text === '' || /^https?:\/\/[\x21-\x7e]+$/.test(text);
