import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseSkillFile } from '@pith/skill-files';
import { skillSandbox } from '../skill-sandbox.ts';
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

  it('S6 as folders of a project each is found, and none is invalid', async () => {
    const { registry, write, project } = await skillSandbox();
    for (const { repo, path: file, text } of samples) await write(`corpus/${repo.replace('/', '-')}/${file}`, text);
    const repos = [...new Set(samples.map(({ repo }) => repo.replace('/', '-')))];
    const opened = registry({ config: { sources: repos.map((repo) => path.join(project, 'corpus', repo)) } });
    await opened.refresh();
    const states = opened.current().all.map(({ file, state }) => [path.relative(path.join(project, 'corpus'), file), state] as const);
    expect(states.map(([file]) => file).sort()).toEqual(samples.map(({ repo, path: file }) => `${repo.replace('/', '-')}/${file}`).sort());
    expect(states.filter(([, state]) => state !== 'offered' && state !== 'shadowed')).toEqual([]);
  });
});
