import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseSkillFile } from '../../../../sandbox/extensions/skill_registry/format/skill-file.ts';
import { bodyOf } from './body-of.ts';

const FILE = path.resolve(import.meta.dirname, '../../../../../shared/corpus/skills.jsonl');
const present = existsSync(FILE);
interface Sample {
  readonly repo: string;
  readonly path: string;
  readonly text: string;
}

describe.skipIf(!present)('real skills (skipped where the corpus is not there)', () => {
  const samples = present
    ? readFileSync(FILE, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Sample)
    : [];

  it('S4 every one loads, with its own words', async () => {
    expect(samples).toHaveLength(56);
    for (const { repo, path: file, text } of samples) {
      const { valid, fields, diagnostics } = await parseSkillFile(text, {
        id: path.basename(path.dirname(file)),
        file: `/${repo}/${file}`,
        mode: 'load',
      });
      const body = bodyOf(text);
      const head = text.slice(0, text.length - body.length);
      expect({ repo, file, valid, errors: diagnostics.filter(({ severity }) => severity === 'error') }).toEqual({
        repo,
        file,
        valid: true,
        errors: [],
      });
      expect(fields.description.length).toBeGreaterThan(10);
      expect(head + body).toBe(text);
      expect(head).toMatch(/^---\n(?:(?!---).*\n)+---\r?\n$/);
    }
  });
});
