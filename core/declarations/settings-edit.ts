import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { guardedYaml } from '@pith/guarded-yaml';
import { Document, isMap, isScalar, YAMLMap } from 'yaml';
import { PithError, type SettingsChange } from '../contract/index.ts';
import { makeFolders, replaceFile } from '@pith/safe-files';

/** Writes these settings into the file and leaves the others, their order and the comments. Throws `settings_invalid` when the file cannot be read as settings. */
export function editSettingsFile(file: string, changes: SettingsChange): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false)
    throw new PithError('settings_invalid', 'the settings cannot be changed: there is no file, but something else in its place', {
      where: file,
      cure: 'move it away first',
    });
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const next = editSettings(text, changes, file);
  if (next === text) return;
  makeFolders(path.dirname(file));
  replaceFile(existsSync(file) ? realpathSync(file) : file, next, 0o644);
}

function editSettings(text: string, changes: SettingsChange, file: string): string {
  const { document } = guardedYaml(inPlaceOfSamples(text, changes));
  const [error] = document?.errors ?? [];
  if (document === null || error || (document.contents !== null && !isMap(document.contents) && !isEmpty(document.contents)))
    throw new PithError(
      'settings_invalid',
      `the settings cannot be changed: ${document === null || error ? 'the file is not valid YAML' : 'the file has no settings'}`,
      {
        where: file,
        cure: 'correct the file first; see: pith doctor',
      },
    );
  if (!isMap(document.contents)) document.contents = new YAMLMap() as never;
  for (const [dotted, value] of Object.entries(changes)) {
    const keys = dotted.split('.');
    if (value === null) {
      if (document.hasIn(keys)) document.deleteIn(keys);
      continue;
    }
    for (let length = 1; length < keys.length; length += 1) {
      const above = keys.slice(0, length);
      if (!isMap(document.getIn(above))) document.setIn(above, new YAMLMap()); // a key with only comments behind it holds nothing
    }
    const former = document.getIn(keys, true);
    if (isScalar(former) && typeof value !== 'object') former.value = value; // with the comment behind it
    else document.setIn(keys, document.createNode(value));
  }
  return document.toString({ lineWidth: 0 });
}

/** A block that is new is where the sample has it as a comment: uncommenting those lines later would give their keys twice. */
function inPlaceOfSamples(text: string, changes: SettingsChange): string {
  let placed = text;
  for (const key of new Set(Object.keys(changes).map((dotted) => dotted.split('.', 1)[0] ?? ''))) {
    const below = Object.keys(changes).filter((dotted) => dotted.startsWith(`${key}.`));
    const leaves = below.map((dotted) => dotted.slice(key.length + 1).replaceAll(/[^\w-]/gu, String.raw`\$&`));
    const sample = new RegExp(`^# ?${key}:[^\\n]*(?:\\n#   (?:${leaves.join('|')}):[^\\n]*)*$`, 'm');
    if (new RegExp(`^${key}\\s*:`, 'm').test(text) || !sample.test(text)) continue;
    const block = new Document({});
    for (const [dotted, value] of Object.entries(changes))
      if (value !== null && dotted.startsWith(`${key}.`)) block.setIn(dotted.split('.'), block.createNode(value));
    if (block.has(key)) placed = placed.replace(sample, () => block.toString({ lineWidth: 0 }).trimEnd());
  }
  return placed;
}

function isEmpty(node: unknown): boolean {
  return isScalar(node) && node.value === null;
}
