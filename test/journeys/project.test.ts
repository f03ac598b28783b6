import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { probeSandboxing } from '@pith/supervised-process';
import { runs } from '../core/process/hosts.ts';
import { until } from '../waiting.ts';
import { pithHere } from './pith-here.ts';
import { startPith, type Folder } from './pith-process.ts';
import { HAS_TERMINALS, terminalChat } from './terminal-chat.ts';
import { ownFolder, ownServer, type OwnServer } from './until-test-ends.ts';

const TEST = `import { test } from 'node:test';
import assert from 'node:assert';
import { add } from './add.mjs';
test('adds', () => assert.equal(add(2, 3), 5));
`;

let folder: Folder;
let server: OwnServer;

beforeEach(async () => {
  server = await ownServer();
  folder = await ownFolder({ 'pith.yaml': '# empty\n' });
  await mkdir(path.join(folder.path, 'src'), { recursive: true });
  await writeFile(path.join(folder.path, 'src/add.mjs'), 'export function add(a, b) {\n  return a - b;\n}\n');
  await writeFile(path.join(folder.path, 'src/add.test.mjs'), TEST);
  await writeFile(path.join(folder.path, 'package.json'), '{ "scripts": { "test": "node --test src" } }\n');
  execFileSync('git', ['init', '-q'], { cwd: folder.path });
});

const source = () => readFile(path.join(folder.path, 'src/add.mjs'), 'utf8');

describe.skipIf(!HAS_TERMINALS)('a day’s work in a project', () => {
  it('U1 U2 U3 U5 U10 U11: "why does the test fail, and fix it": reads, searches, runs the tests after one approval, edits with a shown diff, undoes', async () => {
    server.script(
      {
        calls: [
          { name: 'search_files', input: { pattern: 'add' } },
          { name: 'read_file', input: { path: 'src/add.mjs' } },
        ],
      },
      { calls: [{ name: 'shell', input: { command: 'npm test' } }] },
      { calls: [{ name: 'edit_file', input: { path: 'src/add.mjs', edits: [{ old_text: 'a - b', new_text: 'a + b' }] } }] },
      { calls: [{ name: 'shell', input: { command: 'npm test' } }] },
      { text: 'It subtracted. Fixed, and the test passes.' },
    );
    const home = await ownFolder(); // a project that is the home folder is none
    const { sees, type } = terminalChat(folder.path, { ...server.env, HOME: home.path }, 'stty rows 50 cols 100; ');
    await sees('Ctrl-D leaves');
    type('why does the test fail, and fix it\r');
    await sees('run `npm test`', 'It runs the code of this project', 'sandboxed', 'exactly `npm test`');
    type('a');
    await sees('change src/add.mjs (+1 −1)', '-  return a - b;', '+  return a + b;', 'ordinary files of this project');
    expect(await source()).toContain('a - b');
    type('y');
    await sees('Fixed, and the test passes.');
    expect(await source()).toContain('a + b');
    const results = server.requests
      .at(-1)!
      .body.messages.filter(({ role }) => role === 'tool')
      .map(({ content }) => String(content));
    expect(results.join('\n')).toMatch(/src\/add\.mjs:1: export function add/u);
    expect(results.join('\n')).toMatch(/# fail 1[^]*\[exit code 1\]/u);
    expect(results.at(-1)).toMatch(/# pass 1[^]*\[exit code 0\]/u);
    type('/undo\r');
    await sees('Restored src/add.mjs', 'Not undone: what these commands may have changed: `npm test`');
    expect(await source()).toContain('a - b');
  });
});

it.skipIf(!(await probeSandboxing()).available)(
  'S1 S2 kill -9 of Pith while a command works in the repository: the command ends, git starts nothing of it, and the next Pith says what was left',
  async () => {
    const home = await ownFolder();
    const options = { cwd: folder.path, env: { HOME: home.path } };
    const nap = `97.${process.pid}`;
    const evil = 'git init -q new; git -C new config core.fsmonitor "touch ran"; cp -r new/.git evil; echo ../evil > .git/commondir';
    const input = JSON.stringify({ command: `${evil}; touch begun; sleep ${nap}` });
    const called = startPith(['tools', 'call', 'shell', '--input', input, '--approve'], options);
    await until(() => existsSync(path.join(folder.path, 'begun')));
    called.child.kill('SIGKILL');
    await called.ended;
    await until(() => !runs(nap));
    execFileSync('git', ['status'], { cwd: folder.path });
    expect(existsSync(path.join(folder.path, 'ran'))).toBe(false);
    expect((await pithHere(['doctor'], options)).out).toMatch(
      /while `git init [^]* ran and Pith was ended, files came [^]* new\/\.git is a new repository: git in new starts core\.fsmonitor=touch ran/u,
    );
  },
);
