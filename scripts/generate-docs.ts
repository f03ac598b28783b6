// Writes the pages that are made from the code. With --check it writes nothing and fails when one is stale.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generatedPages } from './docs/pages.ts';

const root = process.env['PITH_REPOSITORY'] ?? process.cwd();
const check = process.argv.includes('--check');
const stale: string[] = [];

for (const [page, text] of await generatedPages(root)) {
  const file = path.join(root, page);
  if ((await readIfThere(file)) === text) continue;
  stale.push(page);
  if (check) continue;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

for (const page of stale) process.stdout.write(check ? `pith: ${page} is stale; run: npm run docs\n` : `wrote ${page}\n`);
if (check && stale.length > 0) process.exitCode = 1;

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
