import { readFileSync, symlinkSync } from 'node:fs';
import { recordEvents } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { BETTER, LETTERS, proposalsKernel, step } from './proposals-kernel.ts';

const added = (file: string, text = 'x') => `--- /dev/null\n+++ b/${file}\n@@ -0,0 +1 @@\n+${text}\n`;

describe('propose_skill_update', () => {
  it('P2 stores a file for people, and changes nothing of the skill', async () => {
    const { propose, files, skill, place, list } = await proposalsKernel();
    const answer = await propose(BETTER, { evidence: 'A letter to Lyon was in English.' });
    expect(answer).toMatchObject({ status: 'open', next: expect.stringContaining('A person was notified') });
    expect(files()).toEqual([`${String(answer['proposal'])}.md`]);
    const text = readFileSync(place(`data/extensions/skill_registry/proposals/${files()[0]!}`), 'utf8');
    expect(text).toMatch(/^---\nid: letters-\d{8}T\d{9}Z\nskill: letters\nstatus: open\nbase: "sha256:[0-9a-f]{64}"\n/);
    expect(text).toContain('author: reader\nthread: test\n');
    expect(text).toContain('+2. Write the letter in the language of the address.\n');
    expect(text).toContain('> A letter to Lyon was in English.');
    expect(skill()).toBe(LETTERS);
    expect(await list()).toMatchObject([
      { id: answer['proposal'], skill: 'letters', status: 'open', author: 'reader', createdAt: expect.stringMatching(/^\d{4}-/) },
    ]);
  });

  it('P2 refuses a diff that leads out of the skill, and says each thing that is wrong', async () => {
    const { propose, files } = await proposalsKernel({ 'skills/notes/SKILL.md': LETTERS.replaceAll('letters', 'notes') });
    const out = ['../notes/SKILL.md', '/etc/passwd', 'a/../../notes/SKILL.md', 'C:\\x', 'a\\..\\b', '.git/config', './x'];
    const answer = await propose(out.map((file) => added(file)).join(''));
    expect(answer).toMatchObject({ error: 'proposal_invalid' });
    for (const file of out) expect(String(answer['message'])).toContain(`'${file}'`);
    expect(await propose(added('evals/../../notes/evals/evals.yaml'))).toMatchObject({ error: 'proposal_invalid' });
    expect(files()).toEqual([]);
  });

  it('P2 refuses what does not apply, breaks the skill, or is too large, in words with which a model can correct it', async () => {
    const { propose, files } = await proposalsKernel({ 'skills/letters/data.bin': new Uint8Array([1, 0, 2]) });
    const message = async (diff: string) => String((await propose(diff))['message']);
    expect(await message('make it better')).toMatch(/Nothing was proposed.*\n- The patch cannot be used/);
    expect(await message(BETTER.replace(' 1. Ask for the address.', ' 1. Ask.'))).toContain("does not fit 'SKILL.md' at line");
    expect(await message('--- a/other.md\n+++ b/other.md\n@@ -1 +1 @@\n-a\n+b\n')).toContain("'other.md' is not a file of this skill");
    expect(await message(added('SKILL.md'))).toContain("'SKILL.md' exists already");
    expect(await message(added('skill.md'))).toContain('differ only in case');
    expect(await message('--- a/data.bin\n+++ b/data.bin\n@@ -1 +1 @@\n-a\n+b\n')).toContain("'data.bin' is not text");
    expect(
      await message(
        LETTERS.split('\n').reduce(
          (diff, line, at, all) => (at === all.length - 1 ? diff : `${diff}-${line}\n`),
          `--- a/SKILL.md\n+++ /dev/null\n@@ -1,10 +0,0 @@\n`,
        ),
      ),
    ).toMatch(/SKILL\.md/);
    expect(
      await message(
        `--- a/SKILL.md\n+++ b/SKILL.md\n@@ -2,2 +2,2 @@\n-name: letters\n+name: Letters Of All Kinds\n description: Writes letters. Use when asked for a letter.\n`,
      ),
    ).toMatch(/SKILL\.md:2 .*name/);
    expect(await message(added('big.md', 'x'.repeat(300_000)))).toContain('more than 262144 bytes');
    expect(await message('--- a/SKILL.md\n+++ b/SKILL.md\n@@ -8,1 +8,1 @@\n \n')).toContain('nothing');
    expect(files()).toEqual([]);
  });

  it('P2 takes new, removed and renamed files, and paths as they are in the project', async () => {
    const { proposed, review } = await proposalsKernel({ 'skills/letters/references/old.md': 'Old.\n', 'skills/letters/run.sh': 'echo\n' });
    const diff =
      BETTER.replaceAll('/SKILL.md', '/skills/letters/SKILL.md') +
      added('references/new.md', 'New.') +
      'diff --git a/references/old.md b/references/older.md\nsimilarity index 100%\nrename from references/old.md\nrename to references/older.md\n' +
      'diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n';
    const { files } = await review(await proposed(diff));
    expect(files).toMatchObject([
      { path: 'SKILL.md', change: 'changed' },
      { path: 'references/new.md', change: 'added' },
      { path: 'references/old.md', change: 'removed' },
      { path: 'references/older.md', change: 'added' },
      { path: 'run.sh', change: 'changed', mode: 'can be run' },
    ]);
  });

  it('P2 proposes for skills only that the agent can read', async () => {
    const { propose } = await proposalsKernel({
      'skills/secret/SKILL.md': LETTERS.replaceAll('letters', 'secret'),
      'agents/reader/manifest.yaml': 'id: reader\nagent: { uses_tools: [skill_registry, skill_proposals], skills: { deny: [secret] } }\n',
    });
    expect(await propose(BETTER, { skill_id: 'secret' })).toMatchObject({ error: 'skill_not_found' });
    expect(await propose(BETTER, { skill_id: 'nothing' })).toMatchObject({ error: 'skill_not_found' });
  });

  it('P10 keeps at most three open for a skill', async () => {
    const { propose, run, list } = await proposalsKernel();
    for (const text of ['one', 'two', 'three']) expect(await propose(step(text))).toMatchObject({ status: 'open' });
    expect(await propose(step('four'))).toMatchObject({ error: 'proposals_full', message: expect.stringContaining('3 proposals') });
    await run(['skills', 'proposals', 'reject', (await list())[0]!.id]);
    expect(await propose(step('four'))).toMatchObject({ status: 'open' });
  });

  it('P10 a hundred identical proposals are one, with one notice, and the answer says which', async () => {
    const { propose, list, notices, chat } = await proposalsKernel();
    const { proposal } = await propose(BETTER);
    const input = { skill_id: 'letters', diff: BETTER.replace('@@ -7,5 +7,6 @@', '@@ -6,5 +6,6 @@'), justification: 'In other words.' };
    const { results } = await chat(Array.from({ length: 99 }, () => ({ name: 'propose_skill_update', input })));
    for (const result of results) expect(result).toMatchObject({ ok: true, output: { proposal, status: 'open' } });
    expect(await list()).toHaveLength(1);
    expect(notices).toHaveLength(1);
  });

  it('P4 tells people in every channel who proposes what, why, and where to look', async () => {
    const { pith, proposed, notices } = await proposalsKernel();
    const heard = recordEvents(pith.kernel.events);
    const id = await proposed();
    expect(heard.of('notify')).toMatchObject([{ about: { kind: 'proposal', id } }]);
    expect(notices).toEqual([
      `The agent reader proposes a change to the skill letters: Letters came in the wrong language. See: pith skills proposals show ${id}`,
    ]);
  });

  it('P10 a rejected change is refused for 30 days, with the reason, and P21 the next proposer reads it', async () => {
    let now = Date.parse('2026-11-01T10:00:00Z');
    const clock = { now: () => now, sleep: () => Promise.resolve(), after: () => () => undefined };
    const { propose, proposed, run } = await proposalsKernel({}, { clock });
    const id = await proposed();
    await run(['skills', 'proposals', 'reject', id, 'Letters', 'are', 'always', 'in', 'English.']);
    const again = await propose(BETTER, { justification: 'I insist.' });
    expect(again).toMatchObject({ error: 'proposal_rejected', message: expect.stringContaining('Letters are always in English.') });
    expect(await propose(step('slowly'))).toMatchObject({
      status: 'open',
      rejected_before: [{ change: 'Letters came in the wrong language.', reason: 'Letters are always in English.' }],
    });
    now += 31 * 86_400_000;
    expect(await propose(BETTER)).toMatchObject({ status: 'open' });
  });

  it('P19 warns of failures of this machine, of what happened once, and of tickets', async () => {
    const { propose, show } = await proposalsKernel();
    const lines = ['Do not use jq: command not found.', 'Yesterday the user said so, see PROJ-123.', 'Encode in UTF-8, as RFC-2119 says.'];
    const { warnings, proposal } = await propose(
      BETTER.replace('+7,6', '+7,8').replace('+3. Read it aloud.', lines.map((line) => `+- ${line}`).join('\n')),
    );
    expect(warnings).toEqual([
      "SKILL.md tells of a failure of this machine, which others do not have: 'command not found'",
      "SKILL.md tells what happened once; say what to do in general: 'Yesterday'",
      "SKILL.md names a ticket, which says nothing to others: 'PROJ-123'",
    ]);
    expect(await show(String(proposal))).toContain("command not found'");
  });

  it('P10 agents of two processes together have no more than three open', async () => {
    const one = await proposalsKernel();
    const other = await proposalsKernel({}, { sandbox: one.pith.sandbox });
    const texts = [
      ['a', 'b'],
      ['c', 'd'],
    ];
    await Promise.all(
      [one, other].map(async ({ propose }, at) => {
        for (const text of texts[at]!) await propose(step(text), {}, { threadId: `thread-${at}` });
      }),
    );
    expect((await one.list()).map(({ status }) => status)).toEqual(['open', 'open', 'open']);
  });

  it('P13 no message quotes a case of the skill, and none is moved to where agents read', async () => {
    const { propose } = await proposalsKernel({
      'skills/letters/evals/evals.yaml': 'triggers:\n  - { text: held out aunt ABC-123, should: load }\n',
    });
    const guess = await propose('--- a/evals/evals.yaml\n+++ b/evals/evals.yaml\n@@ -1,2 +1,2 @@\n triggers:\n-  - a\n+  - b\n');
    expect(guess).toMatchObject({ error: 'proposal_invalid', message: expect.stringContaining('which only people read') });
    const moved = await propose(
      'diff --git a/evals/evals.yaml b/references/x.md\nsimilarity index 100%\nrename from evals/evals.yaml\nrename to references/x.md\n',
    );
    expect(moved).toMatchObject({ error: 'proposal_invalid', message: expect.stringContaining('which only people read') });
    const copied = await propose(
      'diff --git a/evals/evals.yaml b/evals/copy.yaml\nsimilarity index 100%\ncopy from evals/evals.yaml\ncopy to evals/copy.yaml\n',
    );
    const right = await propose(
      '--- a/evals/evals.yaml\n+++ b/evals/evals.yaml\n@@ -1,2 +1,3 @@\n triggers:\n   - { text: held out aunt ABC-123, should: load }\n+  - { text: more, should: load }\n',
    );
    // A guess that fits gets the answer of one that does not.
    expect([moved, copied, right]).toEqual([guess, guess, guess]);
    expect(JSON.stringify(guess)).not.toMatch(/aunt|ABC/);
  });

  it('P2 a skill that is a link is not changed', async () => {
    const { propose, pith, place } = await proposalsKernel();
    await pith.write('elsewhere/cards/SKILL.md', LETTERS.replaceAll('letters', 'cards'));
    symlinkSync(place('elsewhere/cards'), place('skills/cards'));
    await pith.write(
      'pith.yaml',
      'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, trusted_links: [sandbox/elsewhere], poll_seconds: 0 }\n',
    );
    await pith.restart();
    expect(await propose(BETTER, { skill_id: 'cards' })).toMatchObject({
      error: 'skill_not_writable',
      message: expect.stringContaining('is a link'),
    });
  });
});
