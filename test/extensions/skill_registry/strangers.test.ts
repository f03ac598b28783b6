import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { HOPELESS, writeStrangers } from '../../fixtures/strangers.ts';
import { skillSandbox } from './skill-sandbox.ts';

describe('2,000 skills of strangers', () => {
  it('S6 S11 S16 none breaks another, and each refusal has line, reason and cure', async () => {
    const box = await skillSandbox();
    const written = writeStrangers(path.join(box.project, 'team'), 2000);
    const { skills, all, diagnostics } = await box.registry({ config: { sources: ['team'] } }).refresh();
    const found = [...written].filter(([, shape]) => shape !== 'nested'); // a SKILL.md ends the descent
    expect([...skills.keys()].sort()).toEqual(found.map(([id]) => id).sort());
    const invalid = all.filter(({ state }) => state === 'invalid');
    expect(invalid.map(({ id }) => id)).toEqual(
      found
        .filter(([, shape]) => HOPELESS.has(shape))
        .map(([id]) => id)
        .sort(),
    );
    expect(invalid.length).toBeGreaterThan(30);
    for (const { reason, diagnostics: its, file } of invalid) {
      expect(reason).toMatch(/line \d+/);
      expect(its).toContainEqual(
        expect.objectContaining({ severity: 'error', file, line: expect.any(Number), cure: expect.stringMatching(/\w/) }),
      );
    }
    expect(all.filter(({ state }) => state === 'offered').length).toBe(all.length - invalid.length);
    expect(diagnostics).toEqual([]);
  });
});
