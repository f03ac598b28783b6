import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../core/store/index.ts';
import { canMount, mountDisk, takeAllBut } from './full-disk.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
/** How many files a command may open beside those that are open when it first opens one of its state, or how many KiB are left on the disk. */
type Scarcity = { readonly descriptors: number } | { readonly left: number };
const LIMIT_MS = 120_000;
const PITH = path.resolve('bin/pith');

let folder: string;
let sandbox: string;
let unmount: (() => void) | null = null;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'pith-exhausted-'));
  sandbox = path.join(folder, 'sandbox');
});
afterEach(async () => {
  unmount?.();
  unmount = null;
  await rm(folder, { recursive: true, force: true });
});

/** Takes all descriptors but `LEFT`, once the command is loaded: that needs more than all else does. */
const HOG = `
const fs = require('node:fs');
const { openSync } = fs;
let isTaken = false;
fs.openSync = (file, ...given) => {
  if (!isTaken && String(file).startsWith(process.env.HOME)) {
    isTaken = true;
    const held = [];
    try { for (;;) held.push(openSync('/dev/null')); } catch {}
    for (const one of held.splice(0, Number(process.env.LEFT))) fs.closeSync(one);
  }
  return openSync(file, ...given);
};
require('node:module').syncBuiltinESMExports();`;

/** One command, whose home is the project. It ends by itself, without a stack trace. */
function pith(argv: readonly string[], descriptors?: number): { readonly code: number | null; readonly out: string; readonly err: string } {
  const hog = descriptors === undefined ? [] : ['--require', path.join(folder, 'hog.cjs')];
  const { status, signal, stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', `ulimit -n 256; exec "$0" "$@"`, process.execPath, ...hog, PITH, ...argv],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, PITH_MODEL: 'offline/librarian', LEFT: String(descriptors) },
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  expect(signal, `${argv.join(' ')}: ${stderr}`).toBeNull();
  expect(stderr).not.toMatch(/^pith: the command cannot be loaded|^\s+at |node:internal|Unhandled|Fatal/m);
  return { code: status, out: stdout, err: stderr };
}

const said: string[] = [];
/** Says it, and remembers it when the answer came. Where only the `untrust` before it had succeeded, it is kept apart from the project. */
function say(text: string, descriptors?: number): void {
  const { code, err } = pith(['chat', '--thread', 't', '-p', text], descriptors);
  if (code === 0 && !err.includes('pith: restricted ')) said.push(text);
}

function begin(): void {
  said.length = 0;
  writeFileSync(path.join(folder, 'hog.cjs'), HOG);
  expect(pith(['init', '.'])).toMatchObject({ code: 0 });
  say('the first message');
  expect(said).toEqual(['the first message']);
}

/** With room again: nothing is torn, nothing that was answered is lost, and all works. */
function expectWell(): void {
  for (const at of [path.join(folder, '.pith'), path.join(sandbox, 'data')])
    for (const name of existsSync(at) ? readdirSync(at, { recursive: true, encoding: 'utf8' }) : [])
      if (name.endsWith('.json')) JSON.parse(readFileSync(path.join(at, name), 'utf8'));
  say('the last message');
  expect(said.at(-1)).toBe('the last message');
  const shown = pith(['threads', 'show', 't', '--last', '1000', '--json']).out;
  expect(said.filter((text) => !shown.includes(`"${text}"`))).toEqual([]);
  expect(pith(['trust', '--list'])).toMatchObject({ code: 0, out: expect.stringContaining('trusted') });
  expect(pith(['doctor'])).toMatchObject({ code: 0 });
  const database = openDatabase(path.join(sandbox, 'data/pith.db'));
  expect(database.get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' });
  database.close();
}

/** Each in a project of its own: in the long form every number of descriptors up to 30, with which all works, and every page up to 640 KiB. */
const CASES: readonly (readonly Scarcity[])[] = isLong
  ? [
      ...Array.from({ length: 31 }, (_, descriptors) => [{ descriptors }]),
      ...Array.from({ length: 160 }, (_, page) => [{ left: page * 4 }]),
    ]
  : [[{ descriptors: 2 }, { descriptors: 12 }, { left: 0 }, { left: 100 }]];
const isRoot = canMount();

describe.skipIf(process.platform === 'win32')(
  `a machine with nothing left${isRoot ? '' : ' (without a full disk: only root may mount one)'}`,
  () => {
    const possible = CASES.map((all) => all.filter((one) => isRoot || 'descriptors' in one)).filter(({ length }) => length > 0);
    it.each(possible.map((scarce) => [scarce.map(wordsOf).join(', then '), scarce] as const))(
      'T7 F27 with %s: no answered message and no decision is lost',
      (_, scarce) => {
        if (isRoot) unmount = mountDisk(folder);
        begin();
        for (const one of scarce) {
          const fill = path.join(folder, 'fill');
          if ('left' in one) takeAllBut(one.left, fill);
          const descriptors = 'descriptors' in one ? one.descriptors : undefined;
          say(wordsOf(one), descriptors);
          const isHopeless = descriptors !== undefined && descriptors < 5;
          expect(isHopeless && said.includes(wordsOf(one))).toBe(false);
          pith(['untrust'], descriptors);
          pith(['trust', '--yes', '--state'], descriptors);
          pith(['skills', 'list'], descriptors);
          rmSync(fill, { force: true });
        }
        expect(pith(['trust', '--yes', '--state'])).toMatchObject({ code: 0 });
        expectWell();
      },
      LIMIT_MS,
    );
  },
);

function wordsOf(one: Scarcity): string {
  return 'left' in one ? `${one.left} KiB left` : `${one.descriptors} descriptors`;
}
