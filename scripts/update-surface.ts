// Writes the lists of what people use of the package. With --released they become those of the version in package.json.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { currentSurface, fileOfList, LISTS, readList, releaseOf } from './release/surface.ts';
import { listProblems, printList, releasedList, updatedList } from './release/surface-list.ts';

const root = process.env['PITH_REPOSITORY'] ?? process.cwd();
const { values } = parseArgs({ options: { released: { type: 'boolean' } } });

for (const name of LISTS) {
  const now = await currentSurface(root, name);
  const list = readList(root, name);
  const release = releaseOf(root, list.released);
  const updated = values.released ? releasedList(release.version, now) : updatedList(list, now);
  writeFileSync(path.join(root, fileOfList(name)), printList(updated));
  const open = values.released ? [] : listProblems(updated, now, release);
  for (const problem of open) process.stdout.write(`pith: ${fileOfList(name)}: ${problem}\n`);
  if (open.length > 0) process.exitCode = 1;
}
