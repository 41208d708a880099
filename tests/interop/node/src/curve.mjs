// What node:crypto does not tell of an Ed25519 point: whether it is in its one spelling, and its order (PROTOCOL §9).

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n; // of the main subgroup

function mod(a) {
  const rest = a % P;
  return rest < 0n ? rest + P : rest;
}

function power(base, exponent) {
  let result = 1n;
  for (let b = mod(base), e = exponent; e > 0n; e >>= 1n, b = (b * b) % P) if (e & 1n) result = (result * b) % P;
  return result;
}

const invert = (a) => power(a, P - 2n);
const D = mod(-121665n * invert(121666n));
const ROOT_OF_MINUS_1 = power(2n, (P - 1n) / 4n);

/** RFC 8032, 5.1.3: the point of 32 bytes in extended coordinates, or null if they are no point's one spelling. */
function decodePoint(bytes) {
  const number = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
  const y = number & (2n ** 255n - 1n);
  const sign = number >> 255n;
  if (y >= P) return null;
  const u = mod(y * y - 1n);
  const v = mod(D * y * y + 1n);
  let x = mod(u * power(v, 3n) * power(u * power(v, 7n), (P - 5n) / 8n));
  if (mod(v * x * x) === mod(-u)) x = mod(x * ROOT_OF_MINUS_1);
  if (mod(v * x * x) !== u) return null;
  if (x === 0n && sign === 1n) return null;
  if ((x & 1n) !== sign) x = P - x;
  return [x, y, 1n, mod(x * y)];
}

const NEUTRAL = [0n, 1n, 1n, 0n];
const isNeutral = ([x, y, z]) => x === 0n && y === z;

// RFC 8032, 5.1.4; the formula is complete, so it doubles too.
function add([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * D * mod(t1 * t2));
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}

function multiply(scalar, point) {
  let result = NEUTRAL;
  for (let p = point, s = scalar; s > 0n; s >>= 1n, p = add(p, p)) if (s & 1n) result = add(result, p);
  return result;
}

/** §9: a point in the main subgroup, and not the neutral one, which is the only one of small order there. */
export function isPublicKey(bytes) {
  const point = decodePoint(bytes);
  return point !== null && !isNeutral(point) && isNeutral(multiply(ORDER, point));
}

export function hasSmallOrder(bytes) {
  const point = decodePoint(bytes);
  return point !== null && isNeutral(multiply(8n, point));
}
