import { describe, expect, it } from 'vitest';
import { codeOf, LETTERS, proposalsKernel } from '../skill_proposals/proposals-kernel.ts';

const HELD_OUT = 'letters for the held out aunt';
const EVALS = `triggers:
  - { text: asked for a letter, should: load, split: train }
  - { text: ${HELD_OUT}, should: load, split: held_out }
  - { text: feed the birds, should: not_load, split: train }
`;
/** A skill that has all words of the others. */
const BIRDS = '---\nname: birds\ndescription: Feeds birds. Use when asked for bird food.\n---\nSeeds.\n';
const WITH_EVALS = ['skill_registry', 'skill_proposals', 'skill_install', 'skill_search', 'skill_evals', 'web'];
const project = (evals = EVALS) =>
  proposalsKernel(
    { 'skills/letters/evals/evals.yaml': evals, 'skills/birds/SKILL.md': BIRDS },
    { only: WITH_EVALS, isolation: 'in_process' },
  );

/** The skill is about birds from now on. */
const WORSE = `--- a/SKILL.md
+++ b/SKILL.md
@@ -1,6 +1,6 @@
 ---
 name: letters
-description: Writes letters. Use when asked for a letter.
+description: Feed the birds. Use to feed the birds with seeds.
 version: 1.0.0
 ---
 # Letters
`;

describe('a proposal that breaks a trigger', () => {
  it('P9 P12 is marked worse, with the case, and is approved only with --despite-evals', async () => {
    const { proposed, show, run, skill, status } = await project();
    const id = await proposed(WORSE);
    const shown = await show(id);
    expect(shown).toContain("broken: 'feed the birds'");
    expect(shown).toMatch(/3 of 3 triggers passed before, [012] after/);
    expect(await codeOf(run(['skills', 'proposals', 'approve', id]))).not.toBe('done');
    expect(skill()).toBe(LETTERS);
    expect(await status(id)).toBe('open');
    await run(['skills', 'proposals', 'approve', id, '--despite-evals']);
    expect(skill()).toContain('Feed the birds');
  });

  it('P13 its author is told one sentence for each training case that failed, and nothing of a held-out one', async () => {
    const { propose } = await project();
    const answer = JSON.stringify(await propose(WORSE));
    expect(answer).toContain("The skill is found first for 'feed the birds', and should not be.");
    expect(answer).not.toContain('held out aunt');
  });
});

describe('a proposal that changes nothing that is measured', () => {
  it("P12 'no measured gain' is said", async () => {
    const { proposed, show, review } = await project();
    const id = await proposed();
    expect((await show(id)).match(/no measured gain/gu)).toHaveLength(1);
    expect((await review(id))['evaluation']).toMatchObject({ verdict: 'same', broken: [] });
  });

  it('P13 one that adds cases is judged by the old ones, and marked; one that changes cases is refused', async () => {
    const { proposed, propose, show } = await project();
    const added = `${WORSE}--- /dev/null
+++ b/evals/eval_queries.json
@@ -0,0 +1,1 @@
+[{ "query": "feed the birds with seeds", "should_trigger": true }]
`;
    const shown = await show(await proposed(added));
    expect(shown).toContain('it changes evals/: judged by the old cases');
    expect(shown).toMatch(/3 of 3 triggers passed before, [012] after/);
    expect(shown).toContain("broken: 'feed the birds'");
    const easier = `${WORSE}--- a/evals/evals.yaml
+++ b/evals/evals.yaml
@@ -1,4 +1,3 @@
 triggers:
   - { text: asked for a letter, should: load, split: train }
   - { text: ${HELD_OUT}, should: load, split: held_out }
-  - { text: feed the birds, should: not_load, split: train }
`;
    expect(JSON.stringify(await propose(easier))).toContain("'evals/evals.yaml' has cases of the skill, which only people read and change");
  });

  it('P9 cases that cannot be read are said, and hold nothing back', async () => {
    const { proposed, show } = await project('triggers: [{ text: a, shuold: load }]\n');
    expect(await show(await proposed())).toContain("its cases cannot be read: evals/evals.yaml:1:23: unknown key 'shuold'");
  });
});

it('P9 P14 pith skills eval --proposal compares what the proposal would make', async () => {
  const { proposed, run } = await project();
  const id = await proposed(WORSE);
  const { code, text } = await run(['skills', 'eval', '--proposal', id]);
  expect(text).toContain("broken: 'feed the birds'");
  expect(code).toBe(1);
  await expect(run(['skills', 'eval', '--all', '--proposal', id])).rejects.toMatchObject({ code: 'usage' });
  await expect(run(['skills', 'eval', '--proposal', 'nobody'])).rejects.toMatchObject({ code: 'not_found' });
});
