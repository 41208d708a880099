// One kind of error for everything the protocol does not accept, so that a caller can tell a refusal from a bug.

export class Refused extends Error {}

export function refuse(why) {
  throw new Refused(why);
}

export function demand(condition, why) {
  if (!condition) refuse(why);
}
