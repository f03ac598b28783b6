import { describe, expect, it } from 'vitest';
import { checkTemplate } from '@pith/guarded-templates';
import { read } from './repository.ts';
import { listed } from './skill-text.ts';
import { PROMPT_VARIABLES } from '../../core/agent/index.ts';

const guide = read('docs/recipes.md');

describe('the guide to prompt templates', () => {
  it('K41 lists every variable, and no other', () => {
    expect(listed(guide, 'Variables')).toEqual([...PROMPT_VARIABLES]);
  });

  it.each([
    ['filters', '{{ 1 | zzz }}'],
    ['methods', '{{ "a".zzz() }}'],
    ['tests', '{{ 1 is zzz }}'],
  ])('K41 lists all %s, and no other', async (kind, unknown) => {
    const [problem] = await checkTemplate(unknown, {}, []);
    const row = guide.split('\n').find((line) => line.startsWith(`| ${kind} |`)) ?? '';
    expect([...row.matchAll(/`(\w+)`/g)].map(([, name]) => name).join(', ')).toBe(problem?.cure.replace('use one of ', ''));
  });
});
