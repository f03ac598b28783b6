import path from 'node:path';
import { expect, it } from 'vitest';
import { pithHere } from '../../journeys/pith-here.ts';
import { folderWith } from '../../places.ts';
import { skill, skillKernel } from '../skill_registry/skill-kernel.ts';

const OFF = {
  'pith.yaml':
    'default_agent: reader\nextensions: { skill_proposals: { enabled: false } }\nskills: { sources: { replace: [sandbox/skills] } }\n',
};

it('P4 without skill_proposals a conversation has its catalog, and the command says what is switched off', async () => {
  const { chat } = await skillKernel({ ...skill('letters'), ...OFF }, { only: ['skill_registry', 'skill_proposals'] });
  const { requests } = await chat('hello');
  expect(requests[0]!.system).toContain('• `letters` — Knows all about letters.');
  const cwd = folderWith(
    Object.fromEntries(Object.entries({ ...skill('letters'), ...OFF }).map(([file, text]) => [`sandbox/${file}`, text])),
  );
  expect(await pithHere(['skills', 'proposals', 'list'], { cwd })).toMatchObject({
    code: 2,
    err: expect.stringContaining("its extension 'skill_proposals' is switched off"),
  });
  expect(await pithHere(['skills', 'validate', path.join(cwd, 'sandbox/skills/letters')], { cwd })).toMatchObject({ code: 0 });
});
