import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { editSettings } from '../../../core/declarations/index.ts';

const SAMPLE = readFileSync('sandbox/pith.sample.yaml', 'utf8');

it('K61 a new block takes the place of its sample, so that uncommenting more of it gives no key twice', () => {
  const changes = { 'extensions.mine.greeting': 'Salve', 'extensions.mine.size': 2, 'models.default': 'a/b' };
  const text = editSettings(SAMPLE, changes, 'pith.yaml');
  expect(parse(text)).toEqual({ extensions: { mine: { greeting: 'Salve', size: 2 } }, models: { default: 'a/b' } });
  expect(text).not.toMatch(/^# (?:extensions|models):/m);
  expect(text).toContain('\n# skills:');
  const uncommented = text.replace(/^# (?=[a-z])/gm, '');
  expect(parseDocument(uncommented).errors).toEqual([]);
});

it('K61 what stands already is changed where it stands, with its comments', () => {
  const text = editSettings('models: { default: x } # mine\n# extensions:\n', { 'models.default': 'y' }, 'pith.yaml');
  expect(text).toMatch(/^models: \{ default: y \} # mine\n\s*# extensions:\n$/);
});
