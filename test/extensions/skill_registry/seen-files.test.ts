import { appendFileSync, existsSync, lstatSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type * as pith from 'pith';
import type { SeenFile } from 'pith';
import { expect, it, vi } from 'vitest';
import commands from '../../../sandbox/extensions/skill_registry/commands.ts';
import { commandContext, recordingIO, skillSandbox, skillText, systemClock, type SkillSandbox } from './skill-sandbox.ts';

vi.mock('pith', async (original) => ({ ...(await original<typeof pith>()), shippedSandbox: () => '/nowhere' }));

const SOURCE = '.claude/skills';
const files = {
  'sandbox/skills/own/SKILL.md': skillText({ name: 'own' }),
  'sandbox/skills/small/skill.md': skillText({ name: 'small' }),
  'sandbox/skills/notes/readme.md': 'No skill.\n',
  [`${SOURCE}/letters/SKILL.md`]: skillText({ name: 'letters' }),
  [`${SOURCE}/letters/references/forms.md`]: 'Forms.\n',
};

/** What `skills list` says that its answer was made from; null when it says nothing. */
async function seen(box: SkillSandbox, config = {}): Promise<readonly SeenFile[] | null> {
  let told: readonly SeenFile[] | null = null;
  const io = { ...recordingIO(), madeFrom: (all: Iterable<SeenFile>) => void (told = [...all]) };
  await run(box, 'skills list', io, config);
  return told;
}

function run(box: SkillSandbox, name: string, io = recordingIO(), config = {}): Promise<number | void> {
  const command = commands({ ...commandContext(box, config), clock: later }).find((one) => one.path === name)!;
  return command.run({ arguments: { source: SOURCE }, options: {} }, io, new AbortController().signal);
}

/** What was written just now may change again unseen; an hour later it has settled. */
const later = { ...systemClock, now: () => Date.now() + 3_600_000 };

/** The paths that are not any more what they were, relative to the project. */
function changedOf({ project }: SkillSandbox, all: readonly SeenFile[]): string[] {
  const isSame = ({ path: file, state, link, real }: SeenFile) => {
    const now = (link === true ? lstatSync : statSync)(file, { throwIfNoEntry: false });
    const keys = ['mtimeMs', 'ctimeMs', 'size', 'ino'] as const;
    const isState = state === null || now === undefined ? (now ?? null) === state : keys.every((key) => now[key] === state[key]);
    return isState && (real === undefined || (existsSync(file) ? realpathSync(file) : null) === real);
  };
  return [...new Set(all.filter((one) => !isSame(one)).map((one) => path.relative(project, one.path)))].sort();
}

it('skills list names every file and folder that it looked at, once nothing of it changes any more', async () => {
  const box = await skillSandbox(files);
  const at = (file: string) => path.join(box.project, file);
  expect(await seen(box)).toBeNull(); // what it found it wrote to its index, which it had not read
  const all = (await seen(box))!;
  expect(changedOf(box, all)).toEqual([]);
  const named = new Set(all.map((one) => path.relative(box.project, one.path)));
  for (const file of [
    'sandbox/skills',
    'sandbox/skills/notes',
    'sandbox/data/extensions/skill_registry/index',
    'sandbox/data/extensions/skill_registry/trust.json',
  ])
    expect(named).toContain(file);

  const changes: readonly (readonly [() => void, string])[] = [
    [() => appendFileSync(at('sandbox/skills/own/SKILL.md'), 'More.'), 'sandbox/skills/own/SKILL.md'],
    [() => writeFileSync(at('sandbox/skills/small/SKILL.md'), ''), 'sandbox/skills/small/SKILL.md'],
    [() => writeFileSync(at('sandbox/skills/notes/SKILL.md'), ''), 'sandbox/skills/notes'],
    [() => rmSync(at('sandbox/skills/own'), { recursive: true }), 'sandbox/skills'],
    [() => writeFileSync(at('skills'), ''), 'skills'],
    [() => writeFileSync(at('sandbox/data/extensions/skill_registry/trust.json'), ''), 'sandbox/data/extensions/skill_registry/trust.json'],
    [() => (renameSync(at('.claude'), at('moved')), symlinkSync('moved', at('.claude'))), SOURCE],
  ];
  for (const [change, file] of changes) {
    change();
    expect(changedOf(box, all)).toContain(file);
  }
});

it('skills list names all that lies in the folders of skills that a person trusted', async () => {
  const box = await skillSandbox(files);
  await run(box, 'skills trust', { ...recordingIO(), interactive: true, ask: async () => 'yes' });
  await run(box, 'skills list');
  const all = (await seen(box))!;
  expect(changedOf(box, all)).toEqual([]);
  appendFileSync(path.join(box.project, SOURCE, 'letters/references/forms.md'), 'More.');
  expect(changedOf(box, all)).toEqual([`${SOURCE}/letters/references/forms.md`]);
  writeFileSync(path.join(box.project, SOURCE, 'letters/run.sh'), '');
  expect(changedOf(box, all)).toContain(`${SOURCE}/letters`);
});

it('skills list names nothing while a folder cannot be looked into, or has changed a moment ago', async () => {
  const box = await skillSandbox(files);
  await run(box, 'skills list');
  const io = { ...recordingIO(), madeFrom: () => expect.unreachable() };
  await box.write('sandbox/skills/new/SKILL.md', skillText({ name: 'new' }));
  const now = commands(commandContext(box)).find((one) => one.path === 'skills list')!;
  await now.run({ arguments: {}, options: {} }, io, new AbortController().signal);
  await now.run({ arguments: {}, options: {} }, io, new AbortController().signal);
});
