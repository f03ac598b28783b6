import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Says of a file that it puts something in the place of a module, loads modules anew, asks which are loaded, or measures CPU: what a heap of
 * others costs to collect, or others' work in the background, is not the work that is measured.
 */
const OWN_PROCESS = /\bvi\.(?:mock|doMock|resetModules)\(|createRequire\(import\.meta\.url\)\.cache|(?:await|=>) leastC(?:pu|ost)\(/;

/**
 * Patterns of the tests that need a process which no other test has used: whatever OWN_PROCESS fits, and what imports it.
 * All others share the modules of a worker, which spares each of them a second of its CPU; what they change of its process they put back.
 */
export function filesApart(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const texts = new Map(names.map((name) => [path.join(folder, name), readFileSync(path.join(folder, name), 'utf8')]));
  const apart = new Set([...texts].flatMap(([file, text]) => (OWN_PROCESS.test(text) ? [file] : [])));
  for (let before = -1; before < apart.size;) {
    before = apart.size;
    for (const [file, text] of texts) if (importsOf(file, text).some((imported) => apart.has(imported))) apart.add(file);
  }
  const tests = [...apart].filter((file) => file.endsWith('.test.ts')).map((file) => path.relative(folder, file).split(path.sep).join('/'));
  return tests.sort().map((name) => `test/${name}`);
}

function importsOf(file: string, text: string): readonly string[] {
  return [...text.matchAll(/from '(\.{1,2}\/[\w./-]+\.ts)'/g)].map(([, name = '']) => path.join(path.dirname(file), name));
}
