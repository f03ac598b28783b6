import { readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { printedHints } from '../../../sandbox/extensions/cli_channel/commands.ts';
import { BETTER, codeOf, LETTERS, proposalsKernel, step } from './proposals-kernel.ts';

const FOLDER = 'data/extensions/skill_registry/proposals';
const DAY = 86_400_000;

function movableClock(at = '2026-11-01T10:00:00Z') {
  let now = Date.parse(at);
  return {
    clock: { now: () => now, sleep: () => Promise.resolve(), after: () => () => undefined },
    pass: (ms: number) => void (now += ms),
  };
}

describe('proposals that were decided, or cannot be', () => {
  it('P21 a malformed file is listed with its problem, and can be rejected; its text is kept', async () => {
    const { pith, run, place, status, list } = await proposalsKernel({ [`${FOLDER}/letters-x.md`]: 'Dear all,\n' });
    expect(await list()).toEqual([
      {
        id: 'letters-x',
        skill: null,
        status: 'malformed',
        author: null,
        createdAt: null,
        problem: expect.stringContaining('lacks'),
        path: place(`${FOLDER}/letters-x.md`),
      },
    ]);
    expect((await run('skills proposals')).text).toMatch(/letters-x +malformed/);
    expect((await run('skills proposals show letters-x')).text).toContain('correct the file, or reject it');
    expect(await codeOf(run('skills proposals approve letters-x'))).toBe('proposal_malformed');
    expect((await run('skills proposals reject letters-x')).text).toContain("kept in the folder 'removed'");
    expect(await status('letters-x')).toBeUndefined();
    const [kept] = readdirSync(place(`${FOLDER}/removed`));
    expect(readFileSync(place(`${FOLDER}/removed/${kept!}`), 'utf8')).toBe('Dear all,\n');
    await pith.write(`${FOLDER}/letters-y.md`, '');
    expect(await status('letters-y')).toBe('malformed');
    expect(await codeOf(run('skills proposals reject letters-y'))).toBe('done');
  });

  it('P21 what is rejected and cannot be read as text is kept as it is', async () => {
    const { run, pith, place, list } = await proposalsKernel({ [`${FOLDER}/letters-b.md`]: Buffer.from([0xff, 0xfe, 0x80]) });
    await pith.write(`${FOLDER}/letters-f.md/notes.txt`, 'Mine.\n');
    await pith.write(`${FOLDER}/letters-l.md`, 'x'.repeat(4 * 1024 * 1024 + 1));
    for (const id of ['b', 'f', 'l']) expect(await codeOf(run(`skills proposals reject letters-${id}`))).toBe('done');
    expect(await list()).toEqual([]);
    const kept = (id: string) => place(`${FOLDER}/removed/${readdirSync(place(`${FOLDER}/removed`)).find((name) => name.endsWith(id))!}`);
    expect([...readFileSync(kept('letters-b.md'))]).toEqual([0xff, 0xfe, 0x80]);
    expect(readFileSync(`${kept('letters-f.md')}/notes.txt`, 'utf8')).toBe('Mine.\n');
    expect(readFileSync(kept('letters-l.md'))).toHaveLength(4 * 1024 * 1024 + 1);
  });

  it('P21 a stale one, and one whose skill is gone, can be rejected and is listed as it is', async () => {
    const { proposed, run, pith, status, show } = await proposalsKernel();
    const [one, two] = [await proposed(BETTER), await proposed(step('slowly'))];
    await pith.write('skills/letters/SKILL.md', `${LETTERS}More.\n`);
    expect(await status(one)).toBe('stale');
    await run(['skills', 'proposals', 'reject', one, 'no']);
    await pith.remove('skills/letters');
    expect(await show(two)).toContain("there is no skill named 'letters'");
    expect(await codeOf(run(['skills', 'proposals', 'approve', two]))).toBe('proposal_conflict');
    await run(['skills', 'proposals', 'reject', two, 'gone']);
    expect([await status(one), await status(two)]).toEqual(['rejected', 'rejected']);
  });

  it('P21 a person can open a rejected one again, and approve it', async () => {
    const { proposed, run, show, skill, status } = await proposalsKernel();
    const id = await proposed();
    await run(['skills', 'proposals', 'reject', id, 'Too', 'long.']);
    expect((await run(['skills', 'proposals', 'show', id])).text).toMatch(/: rejected by local, .*: Too long\./);
    expect(await codeOf(run(['skills', 'proposals', 'reject', id]))).toBe('proposal_decided');
    await expect(run(['skills', 'proposals', 'approve', id])).rejects.toMatchObject({
      cure: expect.stringContaining('skills proposals reopen'),
    });
    await run(['skills', 'proposals', 'reopen', id]);
    expect(await status(id)).toBe('open');
    await show(id);
    await run(['skills', 'proposals', 'approve', id]);
    expect([skill().includes('Read it aloud.'), await status(id)]).toEqual([true, 'approved']);
    await expect(run(['skills', 'proposals', 'reject', id])).rejects.toMatchObject({
      code: 'proposal_decided',
      cure: expect.stringContaining('pith skills rollback letters'),
    });
    expect(await codeOf(run(['skills', 'proposals', 'reopen', id]))).toBe('proposal_decided');
  });

  it('P21 on a terminal a rejection asks for its reason', async () => {
    const { proposed, typed, review } = await proposalsKernel();
    const id = await proposed();
    const { asked } = await typed(`skills proposals reject ${id}`, ' Not for us. ');
    expect(asked).toEqual(['Why? The agent reads it; Enter for no reason.']);
    expect(await review(id)).toMatchObject({ status: 'rejected', reason: 'Not for us.' });
  });

  it('P21 a hand edit with the same result closes it as superseded, also where the person did more', async () => {
    const { proposed, run, pith, status, skill } = await proposalsKernel();
    const [one, two] = [await proposed(BETTER), await proposed(step('slowly'))];
    const same = LETTERS.replace('2. Write the letter.', '2. Write the letter in the language of the address.\n3. Read it aloud.');
    await pith.write('skills/letters/SKILL.md', same);
    expect([await status(one), await status(two)]).toEqual(['superseded', 'stale']);
    const more = LETTERS.replace('2. Write the letter.', '2. Write the letter slowly.\n3. Read it aloud.').replace(
      '# Letters',
      '# Letters to all',
    );
    await pith.write('skills/letters/SKILL.md', more);
    expect((await run(['skills', 'proposals', 'approve', two])).text).toContain('has this change already');
    expect([await status(two), skill()]).toEqual(['superseded', more]);
  });

  it('P21 nothing times out on a person for 30 days; then it expires with a notice, and can be opened again', async () => {
    const { clock, pass } = movableClock();
    const { proposed, run, status, notices } = await proposalsKernel({}, { clock });
    const id = await proposed();
    pass(30 * DAY);
    expect(await status(id)).toBe('open');
    pass(1);
    expect(await status(id)).toBe('expired');
    expect(notices.at(-1)).toMatch(
      /^A change to the skill letters expired, because nobody decided in 30 days\. Open it again: pith skills proposals reopen /,
    );
    await run(['skills', 'proposals', 'reopen', id]);
    pass(29 * DAY);
    expect(await status(id)).toBe('open');
    expect(notices).toHaveLength(2);
  });

  it('P4 W12 the list says why each was proposed and what it changes, as data; of a diff that is none any more, nothing', async () => {
    const { proposed, list, place } = await proposalsKernel();
    const id = await proposed(BETTER, { justification: 'First.\nSecond.' });
    const change = { files: [{ path: 'SKILL.md', change: 'changed' }], added: 2, removed: 1 };
    expect(await list()).toMatchObject([{ id, justification: 'First.\nSecond.', change }]);
    const file = place(`${FOLDER}/${id}.md`);
    writeFileSync(file, readFileSync(file, 'utf8').replace('--- a/SKILL.md', 'somewhere'));
    const [edited] = await list();
    expect([edited?.id, 'change' in edited!]).toEqual([id, false]);
  });

  it('P4 the list shows what waits, and all with --all; an empty one says so', async () => {
    const { proposed, run, place } = await proposalsKernel();
    expect((await run('skills proposals list')).text).toBe('Nothing was proposed.');
    const id = await proposed();
    expect((await run('skills proposals list')).text).toMatch(
      new RegExp(`${id} +open +letters +reader .*Letters came in the wrong language`),
    );
    expect((await run('skills proposals count')).text).toBe('1 proposal of 1 waits for you.');
    await run(['skills', 'proposals', 'reject', id]);
    expect((await run('skills proposals list')).text).toContain('Nothing waits for you');
    expect((await run('skills proposals count', { json: true })).values).toEqual([{ total: 1, waiting: 0 }]);
    expect((await run('skills proposals list --all')).text).toContain('rejected');
    unlinkSync(place(`${FOLDER}/${id}.md`));
    expect((await run('skills proposals list')).text).toBe('Nothing was proposed.');
  });

  it('P6 the id of a skill means its open proposal, though others of it were decided; to reopen, the decided one', async () => {
    const { proposed, run, status } = await proposalsKernel({
      'skills/letters-by-hand/SKILL.md': LETTERS.replace('letters\n', 'letters-by-hand\n'),
    });
    const [one, two, three] = [await proposed(step('slowly')), await proposed(step('twice')), await proposed(BETTER)];
    await proposed(BETTER, { skill_id: 'letters-by-hand' });
    expect(await codeOf(run('skills proposals show letters'))).toBe('proposal_ambiguous');
    for (const id of [one, two]) await run(['skills', 'proposals', 'reject', id, 'no']);
    expect((await run('skills proposals show letters')).text).toContain(`${three} (open)`);
    expect((await run('skills proposals diff letters')).text).toContain('+2. Write the letter in the language of the address.');
    await run('skills proposals approve letters');
    expect(await status(three)).toBe('approved');
    expect(await codeOf(run('skills proposals reopen letters'))).toBe('proposal_ambiguous');
    await run(['skills', 'proposals', 'reopen', one]);
    expect((await run('skills proposals reopen letters')).text).toContain(two);
  });

  it('P6 a rejection says how long the change is refused, and what becomes of the reason', async () => {
    const { proposed, run } = await proposalsKernel();
    const say = async (...why: string[]) => (await run(['skills', 'proposals', 'reject', 'letters', ...why])).text;
    const one = await proposed();
    expect(await say()).toContain('Rejected. The same change is refused for 30 days.');
    await run(['skills', 'proposals', 'reopen', one]);
    expect(await say('Too', 'long')).toContain('Rejected. The same change is refused for 30 days; agents read your reason.');
  });

  it('P6 T18 a chat names the commands that decide as they are typed there', async () => {
    const { proposed, run } = await proposalsKernel();
    const id = await proposed();
    const shown = printedHints((await run(['skills', 'proposals', 'show', id])).text, [
      'skills proposals approve',
      'skills proposals reject',
    ]);
    expect(shown).toContain(`Approve it with: /skills proposals approve ${id}`);
    expect(shown).toContain(`Reject it with: /skills proposals reject ${id} WHY`);
  });
});
