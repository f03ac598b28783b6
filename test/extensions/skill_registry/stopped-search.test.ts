import { expect, it } from 'vitest';
import { diagnosticText } from '../../../sandbox/extensions/skill_registry/commands/rows.ts';
import { search } from '../../../sandbox/extensions/skill_registry/commands/search.ts';
import type { SkillRegistry } from '../../../sandbox/extensions/skill_registry/registry.ts';
import type { SkillIndex } from '../../../sandbox/extensions/skill_registry/search/skill-index.ts';
import { SkillSearch } from '../../../sandbox/extensions/skill_registry/search/skill-search.ts';
import { recordingIO } from './skill-sandbox.ts';

const registry = { refreshIfOlderThan: async () => ({ skills: new Map() }) } as unknown as SkillRegistry;
const foundBy = (settled: Promise<void>) =>
  new SkillSearch({
    sync: () => {},
    prepare: async () => {},
    settled: () => settled,
    rank: () => ({ ranked: [], ready: true, by: 'lexical' }),
  } as unknown as SkillIndex);

it('R3 a search that is stopped while bodies are read ends at once', async () => {
  const stop = new AbortController();
  const command = search(registry, foundBy(new Promise(() => {})));
  const ended = command.run({ arguments: { query: ['x'] }, options: { limit: 8 } }, recordingIO({}), stop.signal);
  stop.abort(new Error('stopped'));
  await expect(ended).rejects.toThrow('stopped');
});

it('T19: nothing that a file holds or somebody typed moves the cursor', async () => {
  const io = recordingIO({});
  const command = search(registry, foundBy(Promise.resolve()));
  await command.run({ arguments: { query: ['\u001b[2Jgone\u202e'] }, options: { limit: 8 } }, io, new AbortController().signal);
  const told = diagnosticText({ severity: 'warning', code: 'x', message: 'is\u001b]0;title\u0007\nodd', file: '/a\u001b[1A/b', line: 1 });
  expect(told).toBe('/a\\x1b[1A/b:1: warning: is\\x1b]0;title\\x07 odd');
  for (const text of [io.text(), told]) expect(text.trim()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
