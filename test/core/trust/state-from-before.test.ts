import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { cli } from '../cli/fakes.ts';
import { flat } from '../../flat.ts';
import { folderWith } from '../../places.ts';

let root: string;
let project: string;
let data: string;

beforeEach(async () => {
  root = folderWith();
  project = path.join(root, 'project');
  data = path.join(project, 'sandbox/data');
  mkdirSync(path.join(root, 'home'));
  mkdirSync(project);
  vi.stubEnv('HOME', path.join(root, 'home'));
  await mustRun(['init', '.']);
  await mustRun(['chat', '-p', 'remember this']);
  rmSync(path.join(data, 'state-id')); // as an earlier version left it
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const run = (argv: readonly string[], more: { readonly terminal?: boolean; readonly input?: string } = {}) =>
  cli(argv, { cwd: project, openKernel, env: { PITH_TRUST: '0' }, input: '', ...more });
async function mustRun(argv: readonly string[]): Promise<void> {
  const { code, out, err } = await run(argv);
  if (code !== 0) throw new Error(out + err);
}
const threads = async (argv: readonly string[] = []) =>
  JSON.parse((await run(['threads', 'list', '--json', ...argv])).out) as readonly unknown[];

describe('state from before there were markers', () => {
  it('T6: without a terminal a line says so, started with fresh state beside it, and nothing in it changes', async () => {
    const before = readFileSync(path.join(data, 'pith.db'));
    const ran = await run(['threads', 'list', '--json']);
    expect(ran).toMatchObject({ code: 0, out: '[]\n', err: expect.stringContaining('pith: started with fresh state') });
    expect(ran.err).toContain(`pith trust ${project}`);
    expect(readFileSync(path.join(data, 'pith.db'))).toEqual(before);
    expect(existsSync(path.join(data, 'state-id'))).toBe(false);
    expect(JSON.parse((await run(['doctor', '--json'])).out).notes).toContainEqual(expect.objectContaining({ code: 'state_unknown' }));
  });

  it('T6: --trust uses it for this process; pith trust takes it for good', async () => {
    expect(await threads(['--trust'])).toHaveLength(1);
    expect(await threads()).toHaveLength(0);
    expect((await run(['trust', '--yes', '--state'])).code).toBe(0);
    const ran = await run(['threads', 'list', '--json']);
    expect(ran.err).toBe('');
    expect(JSON.parse(ran.out)).toHaveLength(1);
  });

  it('T6: a terminal is asked once; yes takes it, and no is kept', async () => {
    const yes = await run(['threads', 'list'], { terminal: true, input: 'no\n' });
    expect(flat(yes.out)).toContain('Is it yours?');
    const again = await run(['threads', 'list'], { terminal: true, input: 'yes\n' });
    expect(flat(again.out)).not.toContain('Is it yours?');
    expect(again.err).toContain('started with fresh state');
    expect((await run(['trust', '--yes', '--state'])).code).toBe(0);
    expect(await threads()).toHaveLength(1);
  });

  it('T6: a marker that came with a clone is not believed', async () => {
    writeFileSync(path.join(data, 'state-id'), '6f1c1b52-58d4-4c62-9f10-6d1a3a4a8a11\n');
    expect(await threads()).toHaveLength(0);
  });
});
