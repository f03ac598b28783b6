import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { skillText } from '../skill_registry/skill-sandbox.ts';
import { installSandbox } from './install-sandbox.ts';

const isRoot = process.getuid?.() === 0;
const KINDS: readonly (readonly [string, (file: string) => unknown])[] = [
  ['a fifo', (file) => execFileSync('mkfifo', [file])],
  [
    'a socket',
    (file) =>
      new Promise<void>((listening) => {
        const server = createServer().listen(file, listening);
        onTestFinished(() => void server.close());
      }),
  ],
  ...(isRoot ? [['a device', (file: string) => execFileSync('mknod', [file, 'c', '1', '5'])] as const] : []), // /dev/zero never ends
];
const WHY = /is not a regular file/;
const CURE = /put a text file in its place/;
const RAW = /ESPIPE|ENXIO|RangeError|Error:/;

it.each(KINDS)('S12 S80 S81 S83 %s as SKILL.md is no regular file, to whoever meets it, and nobody waits for it', async (_, make) => {
  const box = await installSandbox({ 'sandbox/skills/good/SKILL.md': skillText({ name: 'good' }) });
  const folder = path.join(box.sandbox, 'skills/pipe');
  mkdirSync(folder);
  await make(path.join(folder, 'SKILL.md'));
  const listed = await box.run('list', [], { all: true });
  expect(listed.text).toMatch(WHY);
  const said = [
    listed.text,
    (await box.run('validate', [folder])).text,
    (await box.run('validate', [path.join(folder, 'SKILL.md')])).text,
    (await box.run('lint', ['pipe'])).text,
    (await box.run('lint', [])).text,
    (await box.run('install', folder)).error,
    (await box.run('show', 'pipe')).error,
  ];
  for (const text of said) {
    expect(text).toMatch(WHY);
    expect(text).not.toMatch(RAW);
  }
  for (const text of said.slice(0, -1)) expect(text).toMatch(CURE);
  expect(said.at(-1)).toMatch(/restore the file, or choose another skill/);
});
