// Runs a command over the vectors and counts, as `pith-build vectors check` does: node run.mjs [RULE…]

import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';

const folder = new URL('../../../fixtures/vectors/', import.meta.url);
const child = spawn(process.execPath, [new URL('serve.mjs', import.meta.url).pathname], { stdio: ['pipe', 'pipe', 'inherit'] });
const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const escape = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
const ascii = (value) => JSON.stringify(value).replace(/[^\x00-\x7e]/g, escape);

function isRight(test, reply) {
  if (reply.id !== test.id) return false;
  if (test.result === 'invalid') return typeof reply.error === 'string';
  if (test.result === 'implementation-defined' && (reply.error !== undefined || test.expected === null)) return true;
  return isDeepStrictEqual(reply.output, test.expected);
}

const wanted = process.argv.slice(2);
const short = (value) => JSON.stringify(value)?.slice(0, 600);
let [all, good] = [0, 0];
const start = performance.now();
for (const file of readdirSync(folder).sort()) {
  const { rule, tests } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
  if (!tests || (wanted.length > 0 && !wanted.includes(rule))) continue;
  const began = performance.now();
  const failures = [];
  for (const test of tests) {
    child.stdin.write(`${ascii({ rule, id: test.id, input: test.input })}\n`);
    const { value, done } = await answers.next();
    if (done) throw new Error(`${rule} ${test.id}: the command ended`);
    const reply = JSON.parse(value);
    if (!isRight(test, reply)) failures.push({ test, reply });
  }
  all += tests.length;
  good += tests.length - failures.length;
  console.log(`${rule.padEnd(16)}${tests.length - failures.length}/${tests.length}  ${Math.round(performance.now() - began)} ms`);
  for (const { test, reply } of failures) {
    console.log(`  ${test.id} ${test.comment} [${test.result}]`);
    console.log(`    expected ${short(test.expected)} ${test.error ?? ''}\n    came     ${short(reply)}`);
  }
}
child.stdin.end();
const seconds = (performance.now() - start) / 1000;
console.log(`${good}/${all} passed, ${Math.round(all / seconds)} a second`);
process.exitCode = good === all ? 0 : 1;
