import path from 'node:path';
import { expect, it } from 'vitest';
import { pithHere } from '../../journeys/pith-here.ts';
import { folderWith } from '../../places.ts';
import { skill, skillKernel } from '../skill_registry/skill-kernel.ts';

const OFF = {
  'pith.yaml':
    'default_agent: reader\nextensions: { skill_lint: { enabled: false } }\nskills: { sources: { replace: [sandbox/skills] } }\n',
};

it('without skill_lint a conversation has its catalog, and the command says what is switched off', async () => {
  const { chat } = await skillKernel({ ...skill('letters'), ...OFF });
  const { requests } = await chat('hello');
  expect(requests[0]!.system).toContain('• `letters` — Knows all about letters.');
  const cwd = folderWith(
    Object.fromEntries(Object.entries({ ...skill('letters'), ...OFF }).map(([file, text]) => [`sandbox/${file}`, text])),
  );
  expect(await pithHere(['skills', 'lint'], { cwd })).toMatchObject({
    code: 2,
    err: expect.stringContaining("no command 'skills lint': its extension 'skill_lint' is switched off"),
  });
  expect(await pithHere(['skills', 'validate', path.join(cwd, 'sandbox/skills/letters')], { cwd })).toMatchObject({ code: 0 });
});
