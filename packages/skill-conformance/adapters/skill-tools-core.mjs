// node skill-tools-core.mjs FOLDER {dir}: FOLDER holds node_modules/@skill-tools/core.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { installed } from './installed.mjs';

const [folder = '.', skills = '.'] = process.argv.slice(2);
const module = path.join(installed('@skill-tools/core', folder), 'dist', 'index.js');
const { parseSkill, resolveSkillFiles } = await import(pathToFileURL(module).href);
const found = [];
for (const { skillFile } of await resolveSkillFiles(path.resolve(skills))) {
  const result = await parseSkill(skillFile);
  if (!result.ok) continue;
  const { metadata, body } = result.skill;
  found.push({ name: metadata.name, description: metadata.description, body, path: skillFile });
}
process.stdout.write(JSON.stringify(found));
