import { expect, it } from 'vitest';
import type { ChatBody } from '../../fixtures/openai-server.ts';
import type { ScriptedReply } from '../../fixtures/scripted-server.ts';
import { evalProject, letters, obedient } from './eval-project.ts';

const TRAINING = 'Write a letter to my aunt.';
const HELD_OUT = 'qwertz for the secret uncle';
const EVALS = `triggers: [{ text: ${HELD_OUT}, should: load, split: held_out }]
tasks:
  - { prompt: ${TRAINING}, expect: [{ contains: ahoy }], split: train }
`;
const diff = (greeting: string) => `--- a/SKILL.md
+++ b/SKILL.md
@@ -3,3 +3,3 @@
 description: Writes letters. Use when somebody wants to write a letter.
 ---
-GREET WITH BONJOUR
+GREET WITH ${greeting}
`;

/** Proposes what a person asks for, and is obedient otherwise. */
function proposing(body: ChatBody): ScriptedReply {
  const [, greeting] = /Propose (\w+)/.exec(JSON.stringify(body.messages)) ?? [];
  if (greeting === undefined) return obedient(body);
  if (body.messages.at(-1)?.role === 'tool') return { text: 'proposed' };
  const input = { skill_id: 'letters', diff: diff(greeting), justification: 'Landlubbers complained about the greeting.' };
  return { calls: [{ name: 'propose_skill_update', input }] };
}

it('P9 P12 P13 P14 a proposal is measured against the version in use and no skill; the next author is told of training cases only', async () => {
  const { pith, server } = await evalProject({
    evals: EVALS,
    settings: 'extensions: { skill_evals: { repeats: 2 } }\n',
    reply: proposing,
    files: {
      'sandbox/skills/letters/SKILL.md': letters('BONJOUR'),
      'sandbox/agents/writer/manifest.yaml':
        'id: writer\nagent: { uses_tools: [skill_registry, skill_proposals], instructions: Answer briefly. }\n',
    },
  });
  await pith('chat', '-p', 'Propose AHOY');
  const [{ id }] = JSON.parse((await pith('skills', 'proposals', 'list', '--json')).out) as [{ readonly id: string }];
  const { code, out, err } = await pith('skills', 'eval', '--proposal', id);
  expect(err).toContain('6 runs with openai/test-model');
  expect(out).toMatch(/aunt\. +train +0\/2 +0\/2 +2\/2 +2\/2 +2\/2 +repaired/);
  expect(out).toContain('Against the version in use: 1 repaired, 0 broken, 0 the same.');
  expect(out).toContain('Against no skill: 1 repaired, 0 broken, 0 the same.');
  expect(code).toBe(0);
  const bodies = server.requests.map(({ body }) => JSON.stringify(body));
  expect(bodies.some((body) => body.includes('AHOY') && body.includes('BONJOUR') && !body.includes('Propose'))).toBe(false);

  const shown = (await pith('skills', 'proposals', 'show', id)).out;
  expect(shown).toContain(`repaired: '${TRAINING}'`);
  expect(shown).toContain('1 task with openai/test-model, 2 runs each: before 0/2, after 2/2 passed (2 loaded it), without the skill 0/2');

  expect(shown).toContain(`to measure more: pith skills eval --proposal ${id}`);
  expect(shown).toContain('against no skill: 1 repaired, 0 broken, 0 the same');
  expect((await pith('skills', 'eval', 'letters', '--proposal', id)).code).toBe(0);
  const other = await pith('skills', 'eval', 'birds', '--proposal', id);
  expect([other.code, other.err]).toEqual([2, expect.stringContaining("the proposal is for the skill 'letters', not for 'birds'")]);

  const before = server.requests.length;
  await pith('chat', '-p', 'Propose MOIN', '--thread', 'again');
  const told = JSON.stringify(server.requests.slice(before).map(({ body }) => body));
  expect(told).toContain(`With the version in use: Of 2 runs of '${TRAINING}' 2 failed: the answer does not contain 'ahoy'.`);
  expect(told).not.toContain('secret uncle');
});
