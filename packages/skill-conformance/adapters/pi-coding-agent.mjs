// node pi-coding-agent.mjs FOLDER {dir}: FOLDER holds node_modules/@mariozechner/pi-coding-agent.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { installed } from './installed.mjs';

const [folder = '.', skills = '.'] = process.argv.slice(2);
const module = path.join(installed('@mariozechner/pi-coding-agent', folder), 'dist', 'core', 'skills.js');
const { loadSkillsFromDir } = await import(pathToFileURL(module).href);
const found = loadSkillsFromDir({ dir: path.resolve(skills), source: 'conformance' }).skills;
process.stdout.write(JSON.stringify(found.map(({ name, description, filePath }) => ({ name, description, path: filePath }))));
