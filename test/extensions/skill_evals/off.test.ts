import path from 'node:path';
import { expect, it } from 'vitest';
import { pithHere } from '../../journeys/pith-here.ts';
import { folderWith } from '../../places.ts';
import { skill, skillKernel } from '../skill_registry/skill-kernel.ts';

const settings = (off: string) => ({
  'pith.yaml': `default_agent: reader\nextensions: { ${off}: { enabled: false } }\nskills: { sources: { replace: [sandbox/skills] } }\n`,
});

function projectWithout(extension: string): string {
  const files = { ...skill('letters', { more: 'examples: [write a letter]\n' }), ...settings(extension) };
  return folderWith(Object.fromEntries(Object.entries(files).map(([file, text]) => [`sandbox/${file}`, text])));
}

it('without skill_evals a conversation has its catalog, the search its figures for itself, and the command says what is switched off', async () => {
  const { chat } = await skillKernel({ ...skill('letters'), ...settings('skill_evals') });
  const { requests } = await chat('hello');
  expect(requests[0]!.system).toContain('• `letters` — Knows all about letters.');
  const cwd = projectWithout('skill_evals');
  expect(await pithHere(['skills', 'eval'], { cwd })).toMatchObject({
    code: 2,
    err: expect.stringContaining("no command 'skills eval': its extension 'skill_evals' is switched off"),
  });
  expect(await pithHere(['skills', 'search', 'letters'], { cwd })).toMatchObject({ code: 0 });
  expect(await pithHere(['skills', 'validate', path.join(cwd, 'sandbox/skills/letters')], { cwd })).toMatchObject({ code: 0 });
});

it('P9 without skill_search it says that how skills are found was not measured', async () => {
  const { code, out } = await pithHere(['skills', 'eval', 'letters'], { cwd: projectWithout('skill_search') });
  expect(out).toContain("How skills are found was not measured: the extension 'skill_search' is switched off.");
  expect(code).toBe(0);
});
