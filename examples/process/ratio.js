// A speculative decoding verifier to start from, in JavaScript: it speaks the lines of
// docs/process.md. Audit it with `draftproof run "process:node examples/process/ratio.js"`; with
// --broken every row is verified by the target rows of the row before it, if that has as many,
// which must be found.
"use strict";

const broken = process.argv.includes("--broken");
let rows = []; // all rows of probabilities that were sent, by their number

// Returns a function that gives the next number in [0, 1), a multiple of 2^-53 (sfc32).
function uniforms(seed) {
  let a = seed >>> 0, b = Math.floor(seed / 2 ** 32), c = 0x9e3779b9, d = 1;
  const next = () => {
    const t = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 15; i++) next(); // until every bit of the seed has reached every word
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

// Returns a token drawn by weights that need not sum to 1.
function draw(weights, uniform) {
  const bound = uniform() * weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  return weights.findIndex((weight) => (sum += weight) > bound);
}

// Returns the emitted tokens of one row: accept with p / q, else draw from the residual.
function verify(drafted, draftRows, targetRows, uniform) {
  for (let i = 0; i < drafted.length; i++) {
    const p = rows[targetRows[i]], q = rows[draftRows[i]], token = drafted[i];
    if (uniform() < p[token] / q[token]) continue;
    const residual = p.map((value, other) => Math.max(value - q[other], 0));
    return [...drafted.slice(0, i), draw(residual, uniform)];
  }
  return [...drafted, draw(rows[targetRows[drafted.length]], uniform)];
}

// Returns the answer to one line.
function answer(request) {
  if (request.type === "hello")
    return { version: 1, name: "ratio.js", declares: ["ratio"], ragged: true };
  rows = rows.slice(0, request.first_row).concat(request.rows);
  const uniform = uniforms(request.seed), count = request.batch, all = request.target_rows;
  const tokens = request.draft_token_ids.map((drafted, row) => {
    const before = all[(row + count - 1) % count];
    const target = broken && before.length === all[row].length ? before : all[row];
    return verify(drafted, request.draft_rows[row], target, uniform);
  });
  return { number: request.number, tokens };
}

const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n"));
