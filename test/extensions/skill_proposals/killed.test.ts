import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { projectFolder, startPith } from '../../journeys/pith-process.ts';
import { realTime, until } from '../../waiting.ts';
import { LETTERS, proposalsKernel, step } from './proposals-kernel.ts';

/** 4, in the long form 200. */
const ROUNDS = process.env['PITH_TEST_LONG'] === '1' ? 200 : 4;
const changed = (text: string) =>
  LETTERS.replace('version: 1.0.0', 'version: 1.0.1').replace('2. Write the letter.', `2. Write the letter ${text}.\n3. Read it aloud.`);

it(
  'P6 kill -9 of an approval at random points: the skill is the old one or the new one, and the status of the proposal agrees',
  async () => {
    const project = await projectFolder();
    onTestFinished(() => project.remove());
    const kernel = await proposalsKernel({}, { sandbox: project.sandbox, home: project.path });
    const { proposed, review, run, status, skill, place } = kernel;
    const seen = { open: 0, stale: 0, approved: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      writeFileSync(place('skills/letters/SKILL.md'), LETTERS);
      const id = await proposed(step(`in round ${round}`));
      const { digest } = await review(id);
      const file = place(`data/extensions/skill_registry/proposals/${id}.md`);
      const before = statSync(file, { bigint: true }).ino;
      const killed = startPith(['skills', 'proposals', 'approve', id, '--digest', String(digest)], { cwd: project.path, ownGroup: true });
      const isMoved = () => statSync(file, { bigint: true }).ino !== before;
      await until(() => killed.child.exitCode !== null || isMoved());
      const expected = [LETTERS, changed(`in round ${round}`)];
      await realTime(Math.random() * (round % 2 === 0 ? 40 : 200), 'a kill at a random moment');
      killed.child.kill('SIGKILL');
      await killed.ended;
      age(project.sandbox);
      const mine = round % 3 === 2 && existsSync(place('skills/letters/SKILL.md')) ? `${skill()}Mine ${round}.\n` : null;
      if (mine !== null) writeFileSync(place('skills/letters/SKILL.md'), mine);
      const state = (await status(id)) as keyof typeof seen;
      seen[state] += 1;
      const text = skill();
      expect(mine === null ? expected : [mine], `round ${round}: the old one, the new one, or what a person wrote`).toContain(text);
      const isNew = text.startsWith(changed(`in round ${round}`));
      // Written into before it counted: the edit stays, what it replaced is kept for the person, and the proposal waits.
      const kept = place('skills/.kept');
      const isWrittenInto = mine !== null && isNew && existsSync(kept);
      rmSync(kept, { recursive: true, force: true });
      expect([state, isNew], `round ${round}`).toEqual([
        isWrittenInto ? 'stale' : isNew ? 'approved' : state === 'stale' ? 'stale' : 'open',
        isNew,
      ]);
      if (state !== 'approved') await run(['skills', 'proposals', 'reject', id, 'the next round']);
      // Killed before its journal was whole, it had moved nothing: what it wrote of the journal waits for the next change.
      expect(
        leftovers(project.sandbox).filter((name) => !name.startsWith('.')),
        `round ${round}`,
      ).toEqual([]);
    }
    expect(seen.approved + seen.open + seen.stale).toBe(ROUNDS);
    writeFileSync(place('skills/letters/SKILL.md'), LETTERS);
    const last = await proposed(step('at last'));
    await run(['skills', 'proposals', 'approve', last, '--digest', String((await review(last)).digest)]);
    expect([await status(last), leftovers(project.sandbox)]).toEqual(['approved', []]);
  },
  60_000 + ROUNDS * 15_000,
);

/** Locks of the killed process seem old, as they will be in five seconds. */
function age(sandbox: string): void {
  const staging = path.join(sandbox, 'skills/.staging');
  const folders = ['data/extensions/skill_proposals/.busy', 'data/extensions/skill_registry/proposals/.busy', 'skills/.busy'].map((name) =>
    path.join(sandbox, name),
  );
  for (const place of [staging, path.join(sandbox, 'data/extensions/skill_registry/installs')])
    for (const name of existsSync(place) ? readdirSync(place) : []) folders.push(path.join(place, name));
  for (const folder of folders) if (existsSync(folder)) utimesSync(folder, 1, 1);
}

/** What no reader settled. */
function leftovers(sandbox: string): readonly string[] {
  const journals = path.join(sandbox, 'data/extensions/skill_registry/installs');
  const applying = readdirSync(path.join(sandbox, 'data/extensions/skill_registry/proposals'))
    .filter((name) => name.endsWith('.md'))
    .filter((name) =>
      readFileSync(path.join(sandbox, 'data/extensions/skill_registry/proposals', name), 'utf8').includes('status: applying'),
    );
  return [...applying, ...(existsSync(journals) ? readdirSync(journals) : [])];
}
