import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { loadSettingsEdit } from '../../../core/declarations/index.ts';
import { folderWith } from '../../places.ts';

const { editSettingsFile } = await loadSettingsEdit();

/** The text of a settings file after these changes. */
function edited(text: string, changes: Parameters<typeof editSettingsFile>[1]): string {
  const file = path.join(folderWith({ 'pith.yaml': text }), 'pith.yaml');
  editSettingsFile(file, changes);
  return readFileSync(file, 'utf8');
}

const SAMPLE = readFileSync('sandbox/pith.sample.yaml', 'utf8');

it('K61 a new block takes the place of its sample, so that uncommenting more of it gives no key twice', () => {
  const changes = { 'extensions.mine.greeting': 'Salve', 'extensions.mine.size': 2, 'models.default': 'a/b' };
  const text = edited(SAMPLE, changes);
  expect(parse(text)).toEqual({ extensions: { mine: { greeting: 'Salve', size: 2 } }, models: { default: 'a/b' } });
  expect(text).not.toMatch(/^# (?:extensions|models):/m);
  expect(text).toContain('\n# skills:');
  const uncommented = text.replace(/^# (?=[a-z])/gm, '');
  expect(parseDocument(uncommented).errors).toEqual([]);
});

it('K61 a pipe in the place of the file is refused at once, not read', async () => {
  const file = path.join(folderWith(), 'pith.yaml');
  execFileSync('mkfifo', [file]);
  const { editSettingsFile } = await loadSettingsEdit();
  expect(() => editSettingsFile(file, { effort: 'low' })).toThrow('there is no file, but something else in its place');
});

it('K61 what stands already is changed where it stands, with its comments', () => {
  const text = edited('models: { default: x } # mine\n# extensions:\n', { 'models.default': 'y' });
  expect(text).toMatch(/^models: \{ default: y \} # mine\n\s*# extensions:\n$/);
});

it('K61 a sample goes with the lines of it that are set, and keeps the others', () => {
  const text = edited('# models:\n#   default: x/y\n#   fast: x/z\n\n# skills:\n', {
    'models.default': 'a/b',
    'providers.p.base_url': 'u',
  });
  expect(text).not.toContain('x/y');
  expect(text).toContain('#   fast: x/z');
  expect(parse(text)).toEqual({ models: { default: 'a/b' }, providers: { p: { base_url: 'u' } } });
});
