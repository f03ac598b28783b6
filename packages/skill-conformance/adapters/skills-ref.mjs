// node skills-ref.mjs FOLDER {dir}: FOLDER holds node_modules/skills-ref.
// It knows one skill at a time: a folder is listed if it is valid, with the properties that the package reads.
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { installed } from './installed.mjs';

const [folder = '.', skills = '.'] = process.argv.slice(2);
const { readProperties, validate } = await import(pathToFileURL(path.join(installed('skills-ref', folder), 'dist', 'index.js')).href);
const found = [];
for (const name of readdirSync(path.resolve(skills))) {
  const directory = path.resolve(skills, name);
  if (!statSync(directory).isDirectory()) continue;
  try {
    if ((await validate(directory)).length > 0) continue;
    const { name: told, description } = await readProperties(directory);
    found.push({ name: told, description, path: directory });
  } catch (error) {
    process.stderr.write(`${name}: ${error.message}\n`); // the package says so of a skill that it cannot read
  }
}
process.stdout.write(JSON.stringify(found));
