// Where a package lies that was installed into a folder of its own, or below one that NODE_PATH names.
import { existsSync } from 'node:fs';
import path from 'node:path';

export function installed(name, folder) {
  const places = [path.join(folder, 'node_modules'), ...(process.env.NODE_PATH ?? '').split(path.delimiter)];
  const found = places
    .filter((place) => place !== '')
    .map((place) => path.resolve(place, name))
    .find((place) => existsSync(place));
  if (found !== undefined) return found;
  process.stderr.write(`${name} is not installed in ${folder}; run \`npm install --ignore-scripts ${name}\` there\n`);
  process.exit(1);
}
