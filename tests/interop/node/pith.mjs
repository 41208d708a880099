// The pith record, schema 1.0: a second implementation, from docs/protocol.md and docs/vectors.md alone.

export { readArxivId } from './src/arxiv.mjs';
export { buildRecord } from './src/build.mjs';
export { follow } from './src/follow.mjs';
export { Float, canonicalJson, jsonbOrder, readJson, readLine, writeJson } from './src/json.mjs';
export { activeKey, readKeyring } from './src/keyring.mjs';
export { numberOf, readNumber, readTranscription, shortForms, transcribe } from './src/number.mjs';
export { checkReceipt } from './src/receipt.mjs';
export { Refused, refuse } from './src/refused.mjs';
export { reissueRecord } from './src/reissue.mjs';
export { integrityOf, sectionOf } from './src/snapshot.mjs';
export { authorsText, canonicalText, excerpt, sha256Hex, textHash } from './src/text.mjs';
export { failedChecks, verifyRecord } from './src/verify.mjs';
