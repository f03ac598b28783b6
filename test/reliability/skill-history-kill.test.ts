import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { treeDigest } from '@pith/skill-files';
import { bundleText, exitOf, startProgram } from '../core/store/child-process.ts';
import { skillSandbox, skillText, type SkillSandbox } from '../extensions/skill_registry/skill-sandbox.ts';
import { folderWith } from '../places.ts';
import { realTime } from '../waiting.ts';

const ROUNDS = process.env['PITH_TEST_LONG'] === '1' ? 200 : 10;
const IDS = ['alpha', 'beta'];
const REGISTRY = path.resolve('sandbox/extensions/skill_registry');

/** Replaces both skills without end, by proposals, rollbacks and removals, each time with one mark in all files. */
const program = ({ project, sandbox }: SkillSandbox) => `
import fs from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { SkillRegistry } from '${REGISTRY}/registry.ts';
import { Writer } from '${REGISTRY}/writing/writer.ts';
const logger = { debug() {}, info() {}, warn() {}, error() {} };
const registry = new SkillRegistry({ sandbox: '${sandbox}', project: '${project}', bundled: null, config: {}, clock: systemClock, logger,
  dataDirectory: '${sandbox}/data/extensions/skill_registry' });
const { history, targets } = registry;
const writer = new Writer({ targets, before: (target, staged) => history.announce(target, staged, () => null), after() {}, keepVersion: null, proposals: null });
const run = async () => {
  await registry.refresh();
  for (let at = 0; ; at += 1) {
    const staged = await writer.stage('project');
    const changes = [];
    const how = at % 5 === 4 ? 'remove' : at % 3 === 2 ? 'rollback' : 'proposal';
    for (const id of ${JSON.stringify(IDS)}) {
      const subject = { id, label: 'sandbox/skills', folder: id };
      const { versions } = await history.record(subject);
      const last = versions.at(-1);
      const from = how === 'remove' ? null : id;
      const earlier = versions.findLast((each) => each.digest !== null && each.how === 'proposal' && each.digest !== last.digest);
      if (how === 'remove' && last.digest === null) continue;
      if (how === 'rollback' && earlier === undefined) continue;
      if (how === 'rollback') await history.putInto(path.join(staged, id), subject, earlier);
      if (how === 'proposal') {
        const mark = process.pid + ' ' + at;
        fs.mkdirSync(path.join(staged, id, 'references'), { recursive: true });
        fs.writeFileSync(path.join(staged, id, 'SKILL.md'), '---\\nname: ' + id + '\\ndescription: Does. Use it.\\n---\\n' + mark + '\\n');
        for (const name of ['one', 'two']) fs.writeFileSync(path.join(staged, id, 'references', name + '.md'), mark + '\\n');
      }
      changes.push({ folder: id, id: '', from, entry: null, expects: last?.digest ?? null });
    }
    await writer.change(staged, changes, { how, by: how === 'proposal' ? 'writer' : 'person', reason: 'round ' + at });
    await writer.unstage(staged);
    if (at === 0) console.log('ready');
  }
};
void run().catch((error) => { console.error(error); process.exit(1); });
`;

const skills = ({ sandbox }: SkillSandbox) => path.join(sandbox, 'skills');

/** Nobody has said for long that he lives. */
function dead(box: SkillSandbox): void {
  const staging = path.join(skills(box), '.staging');
  const staged = existsSync(staging) ? readdirSync(staging).map((name) => path.join(staging, name)) : [];
  const locks = [path.join(skills(box), '.busy'), path.join(box.sandbox, 'data/extensions/skill_registry/history/.busy')];
  const journals = path.join(box.sandbox, 'data/extensions/skill_registry/installs');
  const written = existsSync(journals) ? readdirSync(journals).map((name) => path.join(journals, name)) : [];
  for (const folder of [...locks, ...staged, ...written]) if (existsSync(folder)) utimesSync(folder, 1, 1);
}

/** The marks of a skill's files that no person wrote; empty where the skill is gone. */
function marksOf(box: SkillSandbox, id: string): readonly string[] {
  const files = ['SKILL.md', 'references/one.md', 'references/two.md'].map((name) => path.join(skills(box), id, name));
  return existsSync(path.join(skills(box), id)) ? files.map((file) => readFileSync(file, 'utf8').trimEnd().split('\n').at(-1)!) : [];
}

it(
  'P7 P23: kill -9 while skills are changed and rolled back: every tree is the old one or the new one, its history says which and why, and a later edit stays',
  async () => {
    const box = await skillSandbox(Object.fromEntries(IDS.map((id) => [`sandbox/skills/${id}/SKILL.md`, skillText({ name: id })])));
    for (const id of IDS) for (const name of ['one', 'two']) await box.write(`sandbox/skills/${id}/references/${name}.md`, 'Body.\n');
    const file = await bundleText(program(box), folderWith());
    let edits = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const child = startProgram(file);
      const ended = exitOf(child);
      await Promise.race([new Promise((resolve) => child.stdout?.once('data', resolve)), ended]);
      await realTime(Math.random() * 300, 'a kill at a random moment');
      expect(child.exitCode, 'it ended by itself').toBe(null);
      child.kill('SIGKILL');
      await ended;
      dead(box);
      const edited = round % 3 === 1 && existsSync(path.join(skills(box), 'alpha')) ? path.join(skills(box), 'alpha/notes.md') : null;
      if (edited !== null) writeFileSync(edited, `mine, round ${round}\n`);
      if (edited !== null) edits += 1;

      const registry = box.registry();
      await registry.refresh();
      const swept = await registry.targets[0]!.folders.stage(); // as the next change does
      await swept.remove();
      const marks = IDS.map((id) => marksOf(box, id));
      for (const [at, id] of IDS.entries()) {
        expect([round, id, new Set(marks[at]).size]).toEqual([round, id, marks[at]!.length === 0 ? 0 : 1]); // whole
        const subject = { id, label: 'sandbox/skills', folder: id };
        const { versions, pending } = await registry.history.record(subject, { mustKeep: true });
        const folder = path.join(skills(box), id);
        expect([round, versions.at(-1)!.digest, pending]).toEqual([round, existsSync(folder) ? await treeDigest(folder) : null, null]);
        const byHand = versions.filter(({ how }) => how === 'by_hand').length;
        expect([round, id, versions[0]!.how, byHand]).toEqual([round, id, 'found', id === 'alpha' ? edits : 0]); // all else has its author
        for (const version of versions.slice(-3)) await registry.history.folderOf(subject, version); // and is kept whole
      }
      expect(edited && readFileSync(edited, 'utf8')).toBe(edited && `mine, round ${round}\n`);
      expect([round, readdirSync(path.join(box.sandbox, 'data/extensions/skill_registry/installs'))]).toEqual([round, []]);
      expect([round, readdirSync(skills(box)).filter((name) => name === '.staging' || name === '.busy')]).toEqual([round, []]);
    }
  },
  60_000 + ROUNDS * 6000,
);
