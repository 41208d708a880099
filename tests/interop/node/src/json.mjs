// Strict JSON (PROTOCOL §2), canonical JSON, and PostgreSQL's order of keys (§4).
//
// An object is a Map, since a JavaScript object puts keys such as "1" first and treats "__proto__" in its own way. An
// integer is a number where it may be hashed and a bigint beyond; a number with a point or an exponent is a Float.

import { demand, refuse } from './refused.mjs';

export const MAX_BYTES = 2 ** 24;
const MAX_DEPTH = 64;
export const ENRICHMENT_DEPTH = 56;

export class Float {
  constructor(value) {
    this.value = value;
  }
}

export const isObject = (value) => value instanceof Map;
/** An integer as a document's is read. */
export const asInteger = (big) => (Number.isSafeInteger(Number(big)) ? Number(big) : big);

export const isInteger = (value) => typeof value === 'bigint' || Number.isSafeInteger(value);

/** A Map from the fields of a plain object. For keys of our own alone. */
export const object = (fields) => new Map(Object.entries(fields));

class Reader {
  constructor(text, maxDepth, loneSurrogates) {
    this.text = text;
    this.at = 0;
    this.maxDepth = maxDepth;
    this.loneSurrogates = loneSurrogates;
  }

  document() {
    const value = this.value(0);
    this.blanks();
    demand(this.at === this.text.length, 'something behind the JSON text');
    return value;
  }

  match(sticky) {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text);
    if (found) this.at = sticky.lastIndex;
    return found;
  }

  blanks() {
    this.match(/[ \t\n\r]*/y);
  }

  take(character) {
    this.blanks();
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  value(depth) {
    this.blanks();
    switch (this.text[this.at]) {
      case '{':
        return this.object(depth + 1);
      case '[':
        return this.list(depth + 1);
      case '"':
        return this.string();
    }
    const word = this.match(/true|false|null/y);
    if (word) return { true: true, false: false, null: null }[word[0]];
    return this.number();
  }

  open(depth) {
    demand(depth <= this.maxDepth, 'nested too deep');
    this.at++;
  }

  object(depth) {
    this.open(depth);
    const result = new Map();
    if (this.take('}')) return result;
    do {
      this.blanks();
      demand(this.text[this.at] === '"', 'no key');
      const key = this.string();
      demand(!result.has(key), 'a key twice');
      demand(this.take(':'), 'no colon behind a key');
      result.set(key, this.value(depth));
    } while (this.take(','));
    demand(this.take('}'), 'an object without end');
    return result;
  }

  list(depth) {
    this.open(depth);
    const result = [];
    if (this.take(']')) return result;
    do result.push(this.value(depth));
    while (this.take(','));
    demand(this.take(']'), 'a list without end');
    return result;
  }

  string() {
    const start = this.at++;
    const plain = this.match(/[^"\\\x00-\x1f]*/y)[0];
    if (this.text[this.at] === '"') {
      this.at++;
      return plain;
    }
    // Where there are escapes the runtime undoes them; it is as strict as RFC 8259 about them.
    while (this.match(/\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4}|[^"\\\x00-\x1f]+/y));
    demand(this.text[this.at] === '"', 'a string that is broken');
    this.at++;
    const value = JSON.parse(this.text.slice(start, this.at));
    demand(this.loneSurrogates || value.isWellFormed(), 'a lone surrogate');
    return value;
  }

  number() {
    const found = this.match(/-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y) ?? refuse('no JSON value');
    const value = Number(found[0]);
    demand(Number.isFinite(value), 'a number that no double can hold');
    if (found[1] !== undefined || found[2] !== undefined) return new Float(value);
    return asInteger(BigInt(found[0])); // so that "-0" is 0, too
  }
}

/** Read a document (§2) from its bytes, or from a text that stands for them. */
export function readJson(source, maxDepth = MAX_DEPTH) {
  let text = source;
  if (typeof source === 'string') {
    demand(source.isWellFormed(), 'a lone surrogate');
    demand(Buffer.byteLength(source) <= MAX_BYTES, 'too long');
  } else {
    demand(source.length <= MAX_BYTES, 'too long');
    try {
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source);
    } catch {
      refuse('invalid UTF-8');
    }
  }
  return new Reader(text, maxDepth, false).document();
}

/** Read a line of the vectors' protocol, whose texts may hold lone surrogates. */
export const readLine = (line) => new Reader(line, 1000, true).document();

export function readObject(source, maxDepth) {
  const value = readJson(source, maxDepth);
  demand(isObject(value), 'no object');
  return value;
}

// A float must stay one when it is written again; its spelling is not fixed (§4).
function spellFloat({ value }) {
  const text = Object.is(value, -0) ? '-0' : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** Compact JSON with the keys as they stand. JSON.stringify has the escapes of §2. */
export function writeJson(value) {
  if (value instanceof Float) return spellFloat(value);
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  if (isObject(value)) return `{${[...value].map(([key, item]) => `${JSON.stringify(key)}:${writeJson(item)}`).join(',')}}`;
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

function checkHashable(value) {
  if (value instanceof Float) refuse('a float has no canonical form');
  if (typeof value === 'bigint') refuse('the integer is too large for a canonical form');
  if (typeof value === 'string') demand(value.isWellFormed(), 'a lone surrogate');
  return value;
}

/** Canonical JSON (§2). Keys are sorted by UTF-16 units, which is JavaScript's own order. */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isObject(value)) {
    const keys = [...value.keys()].sort();
    return `{${keys.map((key) => `${JSON.stringify(checkHashable(key))}:${canonicalJson(value.get(key))}`).join(',')}}`;
  }
  return JSON.stringify(checkHashable(value));
}

/** The value with its keys in JSONB order at every depth (§4): by length in UTF-8, then by bytes. */
export function jsonbOrder(value) {
  if (Array.isArray(value)) return value.map(jsonbOrder);
  if (!isObject(value)) return value;
  return new Map(
    [...value]
      .map(([key, item]) => ({ key, bytes: Buffer.from(key), item }))
      .sort((a, b) => a.bytes.length - b.bytes.length || Buffer.compare(a.bytes, b.bytes))
      .map(({ key, item }) => [key, jsonbOrder(item)]),
  );
}
