import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOpenAiServer, type OpenAiServer } from '../fixtures/openai-server.ts';
import { projectFolder, type Folder } from './pith-process.ts';

const SCRIPT = '/usr/bin/script';
const OFTEN = { interval: 20 };

const TEST = `import { test } from 'node:test';
import assert from 'node:assert';
import { add } from './add.mjs';
test('adds', () => assert.equal(add(2, 3), 5));
`;

let folder: Folder;
let home: Folder;
let server: OpenAiServer;
let child: ChildProcessWithoutNullStreams;
let shown: string;

beforeEach(async () => {
  server = await startOpenAiServer();
  folder = await projectFolder({ 'pith.yaml': '# empty\n' });
  home = await projectFolder({}); // a project that is the home folder is none
  await mkdir(path.join(folder.path, 'src'), { recursive: true });
  await writeFile(path.join(folder.path, 'src/add.mjs'), 'export function add(a, b) {\n  return a - b;\n}\n');
  await writeFile(path.join(folder.path, 'src/add.test.mjs'), TEST);
  await writeFile(path.join(folder.path, 'package.json'), '{ "scripts": { "test": "node --test src" } }\n');
  execFileSync('git', ['init', '-q'], { cwd: folder.path });
});
afterEach(async () => {
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stdin.end('\u0004');
  if (child.exitCode === null) await ended;
  await server.close();
  await folder.remove();
  await home.remove();
});

function chat(): void {
  const env = {
    PATH: process.env['PATH'],
    PITH_TRUST: '1',
    HOME: home.path,
    OPENAI_BASE_URL: server.url,
    OPENAI_API_KEY: 'sk-x',
    PITH_MODEL: 'openai/test',
    TERM: 'xterm',
  };
  child = spawn(SCRIPT, ['-qec', `stty rows 50 cols 100; "${process.execPath}" "${path.resolve('bin/pith')}" chat`, '/dev/null'], {
    cwd: folder.path,
    env,
  });
  shown = '';
  let raw = '';
  child.stdout.on('data', (chunk: Buffer) => (shown = closed(stripVTControlCharacters((raw += chunk.toString())))));
  child.stdin.on('error', () => undefined);
}

/** Without spaces: a terminal moves the cursor in place of writing them, and breaks lines where it likes. */
const closed = (text: string) => text.replace(/\s+/gu, '');
async function sees(...texts: readonly string[]): Promise<void> {
  for (const text of texts) await expect.poll(() => shown.includes(closed(text)) || shown, OFTEN).toBe(true);
}
const source = () => readFile(path.join(folder.path, 'src/add.mjs'), 'utf8');

describe.skipIf(!existsSync(SCRIPT))('a day’s work in a project', () => {
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
    chat();
    await sees('Ctrl-D leaves');
    child.stdin.write('why does the test fail, and fix it\r');
    await sees('run `npm test`', 'It runs the code of this project', 'sandboxed', 'commands that begin with `npm test`');
    child.stdin.write('a');
    await sees('change src/add.mjs (+1 −1)', '-  return a - b;', '+  return a + b;', 'files in src/');
    expect(await source()).toContain('a - b');
    child.stdin.write('y');
    await sees('Fixed, and the test passes.');
    expect(await source()).toContain('a + b');
    const results = server.requests
      .at(-1)!
      .body.messages.filter(({ role }) => role === 'tool')
      .map(({ content }) => String(content));
    expect(results.join('\n')).toMatch(/src\/add\.mjs:1: export function add/u);
    expect(results.join('\n')).toMatch(/# fail 1[^]*\[exit code 1\]/u);
    expect(results.at(-1)).toMatch(/# pass 1[^]*\[exit code 0\]/u);
    child.stdin.write('/undo\r');
    await sees('Restored src/add.mjs', 'Not undone: what these commands may have changed: `npm test`');
    expect(await source()).toContain('a - b');
  });
});
