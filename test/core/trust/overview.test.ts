import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { printableLine } from '@pith/plain-text';
import { type SandboxOverview, shownOverview } from '../../../core/compose/index.ts';
import { askText, openTrustFile } from '../../../core/trust/index.ts';
import { cli } from '../cli/fakes.ts';
import { folderWith, writeFiles } from '../../places.ts';

const NOTHING: SandboxOverview = {
  sandbox: '/s/sandbox',
  project: '/s',
  extensions: [],
  agents: [],
  commands: [],
  addresses: [],
  secrets: [],
  weakened: [],
  settings: [],
  files: [],
  others: [],
  unreadable: [],
};

let root: string;
beforeEach(() => {
  vi.stubEnv('TMPDIR', '/tmp'); // no extension is given anything below /dev
  root = folderWith({ 'home/.keep': '', 'clone/sandbox/extensions/.keep': '' });
  vi.stubEnv('HOME', path.join(root, 'home'));
});
afterEach(() => void vi.unstubAllEnvs());
const put = (file: string, text: string) => writeFiles(path.join(root, 'clone'), { [file]: text });
const trust = () => cli(['trust', '--yes'], { cwd: path.join(root, 'clone'), openKernel, env: { PITH_TRUST: '0' } });

describe('the question about a sandbox', () => {
  it('T1 T10: shows each ask on a line of its own, however many stand before it, and gives no more than was shown', async () => {
    const long = Array.from({ length: 12 }, (_, index) => `docs/${'x'.repeat(60)}${index}`);
    put('sandbox/extensions/helper/main.ts', 'export default class { getTools() { return []; } }\n');
    const asks = { secrets: ['AWS_SECRET_ACCESS_KEY'], permissions: { read: long } };
    const manifest = { id: 'helper', entrypoint: 'main.ts', provides: ['tool'], ...asks };
    put('sandbox/extensions/helper/manifest.yaml', JSON.stringify(manifest));
    const { out, code } = await trust();
    expect(code).toBe(0);
    for (const file of long) expect(out).toContain(`read ${file}\n`);
    expect(out).toContain('the secret AWS_SECRET_ACCESS_KEY\n');
    const given = openTrustFile(path.join(root, 'home')).read().grants[path.join(root, 'clone/sandbox')]?.['helper'];
    expect(given).toEqual([...long.map((file) => `read ${file}`), 'secret AWS_SECRET_ACCESS_KEY'].sort());
  });

  it('T1 T10: what is too long or too much to be shown is not given, and cannot be trusted for good', () => {
    const huge = `read docs/${'x'.repeat(5000)}`;
    const many = Array.from({ length: 600 }, (_, index) => `secret KEY_${index}`);
    const { lines, grants, isWhole } = shownOverview({
      ...NOTHING,
      extensions: [{ id: 'helper', asks: [huge, ...many].map((ask) => ({ ask, text: askText(ask), never: false })) }],
    });
    expect(isWhole).toBe(false);
    expect(shownOverview({ ...NOTHING, commands: ['sh -c "true' + ' '.repeat(1100) + '; touch x"'] }).lines.join()).toContain(
      '(1100 blanks) ; touch x',
    );
    expect(grants['helper']).not.toContain(huge);
    expect(grants['helper']).toHaveLength(lines.filter((line) => line.includes('the secret KEY_')).length);
    expect(lines.at(-1)).toMatch(/more lines/);
  });

  it('T1 T4: names every setting that would hold, each loosened safeguard, and variables in lists', async () => {
    const skills = { enabled: true, sources: [{ path: '~/' }], scripts: { env: ['AWS_SECRET_ACCESS_KEY'] } };
    put('sandbox/pith.yaml', JSON.stringify({ extensions_sandbox: 'off', quotas: { data_mb: 90_000 }, skills }));
    const { out } = await trust();
    for (const text of ['extensions_sandbox', 'data_mb 90000', 'skills.sources', 'AWS_SECRET_ACCESS_KEY', 'skills.scripts.env'])
      expect(out).toContain(text);
  });

  it('T1: a contract is code that runs, in those that import it', async () => {
    put('sandbox/extensions/helper/manifest.yaml', 'id: helper\ndefines: { protocols: { helper.one: [help] } }\n');
    put('sandbox/extensions/helper/contract.ts', "import { defineProtocol } from 'pith';\n");
    expect((await trust()).out).toMatch(/code that runs \(extensions\):\s+helper\n/);
  });

  it.each(['\u00a0', '\u2003', '\u3000', '\u2800', '   \u00a0'])('T1: blanks of any script push nothing out of sight: %j', (blank) => {
    const { lines } = shownOverview({ ...NOTHING, commands: [`sh -c true${blank.repeat(60)}; touch x`] });
    expect(lines.join()).toMatch(/\(\d+ blanks\) ; touch x/);
  });

  it('T10: what is never given is said, and is not part of a yes', () => {
    const asks = [{ ask: 'read .env', text: 'read .env, which it is never given: x', never: true }];
    const { lines, grants } = shownOverview({ ...NOTHING, extensions: [{ id: 'helper', asks }] });
    expect(lines.join()).toContain('never given');
    expect(grants['helper']).toEqual([]);
  });

  it.each([
    ['a file .claude', () => put('.claude', 'x')],
    ['a link .claude to itself', () => symlinkSync('.claude', path.join(root, 'clone/.claude'))],
    ['a link in the sandbox to itself', () => symlinkSync('loop', path.join(root, 'clone/sandbox/loop'))],
    ['a link pith.yaml to itself', () => symlinkSync('pith.yaml', path.join(root, 'clone/sandbox/pith.yaml'))],
  ] as const)('T1: %s keeps nobody from looking and from trusting', async (_, place) => {
    place();
    expect(await trust()).toMatchObject({ code: 0, out: expect.stringContaining('Trusted:') });
  });

  it('T1: a folder that brings too much to be shown stays restricted on a terminal, without a question; pith trust says what to do', async () => {
    put('sandbox/pith.yaml', JSON.stringify({ skills: { sources: [{ path: 'x'.repeat(5000) }] } }));
    const cwd = path.join(root, 'clone');
    const listed = await cli(['skills', 'list'], { cwd, openKernel, env: { PITH_TRUST: '0' }, terminal: true });
    expect(listed).toMatchObject({ code: 0, err: expect.stringContaining('pith: restricted') });
    expect(listed.out + listed.err).toContain('more than Pith can show');
    expect(await trust()).toMatchObject({ code: 1, err: expect.stringContaining('pith untrust') });
  });

  it('T19: hostile names steer no terminal and stay on their line', () => {
    const { lines } = shownOverview({ ...NOTHING, agents: ['a\u001b]0;title\u0007\nTrust it? yes'], files: ['\u202egnp.exe'] });
    for (const line of lines) expect(printableLine(line)).toBe(line);
    expect(lines.filter((line) => line.includes('Trust it?'))).toHaveLength(1);
  });
});
