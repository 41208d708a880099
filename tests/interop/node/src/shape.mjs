// Shapes of documents: which fields an object has, in their published order, and of which type. One description serves
// for checking the form (PROTOCOL §11), for writing a record again (§4), and for reporting unknown fields.

import { isInteger, isObject } from './json.mjs';

const leaf = (test) => ({ test });

export const text = leaf((value) => typeof value === 'string');
export const integer = leaf(isInteger);
export const boolean = leaf((value) => typeof value === 'boolean');
export const anyObject = leaf(isObject);
export const anything = leaf(() => true);
export const constant = (wanted) => leaf((value) => value === wanted);
export const oneOf = (...values) => leaf((value) => values.includes(value));
export const either = (...leaves) => leaf((value) => leaves.some(({ test }) => test(value)));
export const nullable = ({ test }) => leaf((value) => value === null || test(value));
export const list = (item) => ({ item });
export const rows = list(anyObject);
/** An object with any keys, and values of one shape. */
export const mapOf = (values) => ({ values });

/** An open object. Fields named in `optional` may be absent. */
export const open = (fields, optional = []) => ({ fields, optional, closed: false });
export const closed = (fields, optional = []) => ({ fields, optional, closed: true });

/** The path of the first place that has not the shape, or null. */
export function misfit(value, shape, path = '') {
  if (shape.test) return shape.test(value) ? null : path;
  if (shape.item) return misfitInList(value, shape, path);
  if (!isObject(value)) return path;
  if (shape.values) return misfitInMap(value, shape, path);
  for (const [name, inner] of Object.entries(shape.fields)) {
    const here = `${path}.${name}`;
    if (!value.has(name)) {
      if (shape.optional.includes(name)) continue;
      return here;
    }
    const wrong = misfit(value.get(name), inner, here);
    if (wrong !== null) return wrong;
  }
  const extra = shape.closed ? [...value.keys()].find((name) => !Object.hasOwn(shape.fields, name)) : undefined;
  return extra === undefined ? null : `${path}.${extra}`;
}

function misfitInList(value, shape, path) {
  if (!Array.isArray(value)) return path;
  for (const [i, item] of value.entries()) {
    const wrong = misfit(item, shape.item, `${path}[${i}]`);
    if (wrong !== null) return wrong;
  }
  return null;
}

function misfitInMap(value, shape, path) {
  for (const [name, item] of value) {
    const wrong = misfit(item, shape.values, `${path}.${name}`);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** The paths of the fields that the shape doesn't name. */
export function unknownFields(value, shape, path = '') {
  if (shape.item) return value.flatMap((item, i) => unknownFields(item, shape.item, `${path}[${i}]`));
  if (shape.values) return [...value].flatMap(([name, inner]) => unknownFields(inner, shape.values, `${path}.${name}`));
  if (!shape.fields) return [];
  return [...value].flatMap(([name, inner]) => {
    const known = Object.hasOwn(shape.fields, name);
    return known ? unknownFields(inner, shape.fields[name], `${path}.${name}`) : [`${path}.${name}`];
  });
}

/** §4: known fields in their published order, each run of unknown ones behind the known one that it followed. */
export function inPublishedOrder(value, shape) {
  if (shape.item) return value.map((item) => inPublishedOrder(item, shape.item));
  if (shape.values) return new Map([...value].map(([name, inner]) => [name, inPublishedOrder(inner, shape.values)]));
  if (!shape.fields) return value;
  const runs = new Map([[null, []]]);
  let followed = null;
  for (const [name, inner] of value) {
    if (Object.hasOwn(shape.fields, name)) runs.set((followed = name), []);
    else runs.get(followed).push([name, inner]);
  }
  const known = Object.keys(shape.fields).filter((name) => value.has(name));
  return new Map([
    ...runs.get(null),
    ...known.flatMap((name) => [[name, inPublishedOrder(value.get(name), shape.fields[name])], ...runs.get(name)]),
  ]);
}
