import { expect, it } from 'vitest';
import type { ChatBody } from '../../fixtures/openai-server.ts';
import type { ScriptedReply } from '../../fixtures/scripted-server.ts';
import { evalProject, obedient } from './eval-project.ts';

const TRAINING = 'Write a letter to my aunt.';
const HELD_OUT = 'Write a letter to the secret uncle.';
const EVALS = `tasks:
  - { prompt: ${TRAINING}, expect: [{ contains: ahoy }], split: train }
  - { prompt: ${HELD_OUT}, expect: [{ contains: ahoy }], split: held_out }
`;
const diff = (greeting: string) => `--- a/SKILL.md
+++ b/SKILL.md
@@ -3,3 +3,3 @@
 description: Writes letters. Use when somebody wants to write a letter.
 ---
-GREET WITH AHOY
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

it('P9 P12 P13 P14 a proposal is measured against the version in use and no skill, and what it breaks holds it back', async () => {
  const { pith, server } = await evalProject({
    evals: EVALS,
    settings: 'extensions: { skill_evals: { repeats: 2 } }\n',
    reply: proposing,
    files: {
      'sandbox/agents/writer/manifest.yaml':
        'id: writer\nagent: { uses_tools: [skill_registry, skill_proposals], instructions: Answer briefly. }\n',
    },
  });
  await pith('chat', '-p', 'Propose BONJOUR');
  const [{ id }] = JSON.parse((await pith('skills', 'proposals', 'list', '--json')).out) as [{ readonly id: string }];
  const { code, out, err } = await pith('skills', 'eval', '--proposal', id);
  expect(err).toContain('12 runs with openai/test-model');
  expect(out).toMatch(/aunt\. +train +0\/2 +2\/2 +2\/2 +0\/2 +2\/2 +broken/);
  expect(out).toContain('Against the version in use: 0 repaired, 2 broken, 0 the same.');
  expect(out).toContain('Against no skill: no measured gain, 2 the same.');
  expect(code).toBe(1);
  const bodies = server.requests.map(({ body }) => JSON.stringify(body));
  expect(bodies.some((body) => body.includes('AHOY') && body.includes('BONJOUR') && !body.includes('Propose'))).toBe(false);

  const shown = (await pith('skills', 'proposals', 'show', id)).out;
  expect(shown).toContain(`broken: '${HELD_OUT}'`);
  expect(shown).toContain('2 tasks with openai/test-model, 2 runs each: before 4/4, after 0/4 passed (4 loaded it), without the skill 0/4');
  expect(await pith('skills', 'proposals', 'approve', id)).toMatchObject({ code: 1, err: expect.stringContaining('--despite-evals') });

  const before = server.requests.length;
  await pith('chat', '-p', 'Propose BONJOUR', '--thread', 'again'); // the same again: its author is told what failed
  const told = JSON.stringify(server.requests.slice(before).map(({ body }) => body));
  expect(told).toContain(`Of 2 runs of '${TRAINING}' 2 failed: the answer does not contain 'ahoy'.`);
  expect(told).not.toContain('secret uncle');
});
