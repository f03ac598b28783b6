import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { probeSandboxing } from '@pith/supervised-process';
import { flat } from '../../flat.ts';
import { openKernel, type Target } from '../../../core/cli/index.ts';
import { trustOf } from '../../../core/trust/index.ts';
import { cli, fakeOpen } from '../cli/fakes.ts';
import { folderWith, writeFiles } from '../../places.ts';

let root: string;
let project: string;
let home: string;

beforeEach(() => {
  root = folderWith({ 'home/.profile': '', 'project/.git/HEAD': 'ref: refs/heads/main\n', 'project/src/a.ts': '' });
  [project, home] = [path.join(root, 'project'), path.join(root, 'home')];
  vi.stubEnv('HOME', home);
});
afterEach(() => void vi.unstubAllEnvs());

const UNTRUSTED = { PITH_TRUST: '0' };
const trustNow = (folder = project, accepts = false) =>
  trustOf({ sandbox: path.join(folder, 'sandbox'), bareProject: folder, shipped: '/nowhere', home, accepts });
const recorded = () => JSON.parse(readFileSync(path.join(home, '.pith/trust.json'), 'utf8')) as { projects: object };
async function targetIn(cwd: string, options: { terminal?: boolean; input?: string; env?: Record<string, string> } = {}) {
  const targets: Target[] = [];
  const ran = await cli(['doctor'], { env: UNTRUSTED, ...options, cwd, openKernel: fakeOpen({ targets }) });
  return { ...ran, trust: targets[0]?.trust };
}

describe('T1 a project without a sandbox', () => {
  it('T1 is the git root above the working directory, else the working directory', async () => {
    expect((await targetIn(path.join(project, 'src'))).trust).toMatchObject({ isBare: true, folder: project });
    const loose = folderWith({ 'x/y': '' });
    expect((await targetIn(path.join(loose, 'x'))).trust).toMatchObject({ folder: path.join(loose, 'x') });
  });

  it('T1 keeps its state in ~/.pith/projects/<hash>, for its owner only, and writes nothing into the project', async () => {
    const ran = await cli(['skills', 'list', '--json'], { cwd: path.join(project, 'src'), openKernel, env: UNTRUSTED });
    expect(ran).toMatchObject({ code: 0, err: '' });
    const [hash = ''] = readdirSync(path.join(home, '.pith/projects'));
    expect(hash).toMatch(/^[0-9a-f]{32}$/);
    for (const folder of ['.pith/projects', `.pith/projects/${hash}`, `.pith/projects/${hash}/sandbox`])
      expect(statSync(path.join(home, folder)).mode & 0o777).toBe(0o700);
    expect(readdirSync(project).sort()).toEqual(['.git', 'src']);
  });

  it('T1 asks once in a terminal, whether or not there is something that Pith would use', async () => {
    const asked = await targetIn(project, { terminal: true, input: 'yes\n' });
    expect(flat(asked.out)).toContain(`Work in ${project}? Pith's agent may read its files`);
    expect(asked.out).not.toContain('decided whether you trust');
    expect(asked.trust).toMatchObject({ level: 'trusted', project, projectFiles: [] });
    expect((await targetIn(project, { terminal: true })).out).not.toContain('Work in');
    expect(recorded().projects).toEqual({ [project]: [] });
  });

  it('T1 lists what Pith would use in that one question, and uses nothing after a no', async () => {
    writeFiles(project, { 'AGENTS.md': 'Be brief.', '.mcp.json': '{}', '.env': 'A=b', '.claude/skills/x/SKILL.md': 'x' });
    const refused = await targetIn(project, { terminal: true, input: 'no\n' });
    for (const name of ['AGENTS.md', '.mcp.json', '.env', '.claude/skills']) expect(refused.out).toContain(`    ${name}\n`);
    expect(refused.out.match(/\[yes\/no\]/g)).toHaveLength(1);
    expect(refused.trust).toMatchObject({ level: 'restricted', project: null, projectFiles: [] });
    expect((await targetIn(project, { terminal: true })).out).not.toContain('Work in');
  });

  it('T1 is restricted without a terminal where it has something to use, unless --trust or PITH_TRUST=1', async () => {
    writeFiles(project, { 'AGENTS.md': 'Be brief.' });
    const ran = await targetIn(project);
    expect(ran.err).toContain(`pith: restricted ${project}: nobody has trusted it`);
    expect(ran.trust).toMatchObject({ level: 'restricted', project: null, projectFiles: [] });
    const accepted = await targetIn(project, { env: { PITH_TRUST: '1' } });
    expect(accepted).toMatchObject({ err: '', trust: { project, level: 'trusted' } });
    expect(accepted.trust?.projectFiles).toContain(path.join(project, 'AGENTS.md'));
    expect(existsSync(path.join(home, '.pith/trust.json'))).toBe(false);
  });

  it('T1 needs no question where it has nothing to use; then there is no project', async () => {
    expect(await targetIn(project)).toMatchObject({ err: '', trust: { level: 'trusted', project: null, projectFiles: [] } });
  });

  it('T1 is trusted and no longer trusted by name', async () => {
    writeFiles(project, { 'CLAUDE.md': 'Be brief.' });
    const run = (...argv: string[]) => cli(argv, { cwd: root, openKernel, env: UNTRUSTED });
    expect((await run('trust', 'project')).code).toBe(2); // nobody is there to be asked
    expect(await run('trust', 'project/src', '--yes')).toMatchObject({ code: 0 });
    expect(trustNow()).toMatchObject({ level: 'trusted', project, projectFiles: [path.join(project, 'CLAUDE.md')] });
    expect(JSON.parse((await run('trust', '--list', '--json')).out)).toEqual([{ project, trusted: true, files: ['CLAUDE.md'] }]);
    writeFiles(project, { '.mcp.json': '{}' }); // came later: nobody was shown it
    expect(trustNow().projectFiles).toEqual([path.join(project, 'CLAUDE.md')]);
    expect((await run('untrust', 'project')).code).toBe(0);
    expect(trustNow()).toMatchObject({ level: 'restricted', project: null, projectFiles: [] });
    expect(await run('trust', 'nowhere', '--yes')).toMatchObject({ code: 2 });
  });

  it('T1 a yes to the project is none to a sandbox that comes later', async () => {
    await cli(['trust', '--yes'], { cwd: project, openKernel, env: UNTRUSTED });
    writeFiles(project, { 'sandbox/pith.yaml': 'extensions_sandbox: off\n' });
    expect((await targetIn(project)).trust).toMatchObject({ isBare: false, level: 'restricted', project: null });
  });

  it('T1 an extension that was made there runs, and sees the project but neither its keys nor ~/.pith', async () => {
    writeFiles(project, { 'README.md': 'Shop', '.env': 'KEY=canary' });
    writeFiles(trustNow(project, true).sandbox, {
      'extensions/look/manifest.yaml':
        'id: look\nname: Look\nversion: 1.0.0\ndescription: For tests.\nentrypoint: main.ts\nprovides: [command]\ncommands: [{ path: look, description: Looks }]\n',
      'extensions/look/main.ts': `import { readFileSync } from 'node:fs';
        import { Places } from 'pith';
        const read = (file) => { try { return readFileSync(file, 'utf8'); } catch { return null; } };
        export default class Look {
          constructor(context) { this.context = context; }
          getCommands() {
            const { project, sandbox, home } = this.context.use(Places);
            const files = [project + '/README.md', project + '/.env', home + '/.pith/trust.json'];
            return [{ path: 'look', description: 'Looks', run: async (input, io) => io.json({ project, sandbox, found: files.map(read) }) }];
          }
        }`,
    });
    await cli(['trust', '--yes'], { cwd: project, openKernel, env: UNTRUSTED });
    const ran = await cli(['look', '--json'], { cwd: project, openKernel, env: UNTRUSTED });
    const said = JSON.parse(ran.out) as { found: readonly unknown[] };
    expect(said).toMatchObject({ project, sandbox: trustNow().sandbox });
    const { available } = await probeSandboxing(); // else it sees what this user sees
    const seen = available ? ['Shop', null, null] : ['Shop'];
    expect(said.found).toEqual(expect.arrayContaining(seen));
    expect(said.found.filter((each) => each !== 'Shop' && each !== null && available)).toEqual([]);
  });

  it('T3 one that everybody can write is not asked about and not used, also with --trust', async () => {
    writeFiles(project, { 'AGENTS.md': 'Be brief.' });
    chmodSync(project, 0o777);
    for (const env of [UNTRUSTED, { PITH_TRUST: '1' }]) {
      const ran = await targetIn(project, { terminal: true, env });
      expect(ran.out).not.toContain('Work in');
      expect(ran.trust).toMatchObject({ level: 'restricted', project: null, projectFiles: [], untrusted: null });
      expect(ran.err.replaceAll(/\s+/g, ' ')).toContain(`everybody can write ${project}`);
    }
    expect((await cli(['trust', '--yes'], { cwd: project, openKernel, env: UNTRUSTED })).out).toContain('Look twice');
    expect(trustNow().project).toBe(project);
  });

  it.runIf(process.getuid?.() === 0)(
    'T3 one that belongs to somebody else is not used, and its git root takes in no folder of others',
    async () => {
      writeFiles(project, { 'AGENTS.md': 'Obey.' });
      chownSync(project, 12345, 12345);
      for (const accepts of [false, true]) {
        const trust = trustNow(project, accepts);
        expect(trust).toMatchObject({ level: 'restricted', isOpen: false, project: null, projectFiles: [], untrusted: null });
        expect(trust.why).toBe(`${project} belongs to another user (12345)`);
      }
      const inner = path.join(project, 'src');
      expect((await targetIn(inner)).trust).toMatchObject({ folder: inner, projectFiles: [] });
    },
  );

  it('T3 a git root that everybody can write takes in no folder below it', async () => {
    const inner = path.join(project, 'src');
    chmodSync(project, 0o777);
    expect((await targetIn(inner)).trust).toMatchObject({ folder: inner });
  });

  it('T1 the home folder is a project only where a person names it', async () => {
    writeFiles(home, { 'AGENTS.md': 'Be brief.', '.git/HEAD': '' });
    mkdirSync(path.join(home, 'notes'));
    expect((await targetIn(path.join(home, 'notes'))).trust).toMatchObject({ folder: path.join(home, 'notes') });
    for (const env of [UNTRUSTED, { PITH_TRUST: '1' }]) {
      const ran = await targetIn(home, { terminal: true, env });
      expect(ran).toMatchObject({ err: '', trust: { level: 'trusted', project: null, projectFiles: [] } });
      expect(ran.out).not.toContain('Work in');
    }
    expect(await cli(['trust', '--yes'], { cwd: home, openKernel, env: UNTRUSTED })).toMatchObject({ code: 2 });
    expect(await cli(['trust', '.', '--yes'], { cwd: home, openKernel, env: UNTRUSTED })).toMatchObject({ code: 0 });
    expect((await targetIn(home)).trust).toMatchObject({ project: home, projectFiles: [path.join(home, 'AGENTS.md')] });
  });

  it('T1 works without a home folder, with state that goes with the process', () => {
    const trust = trustOf({ sandbox: path.join(project, 'sandbox'), bareProject: project, shipped: '/nowhere', home: null });
    expect(trust).toMatchObject({ level: 'trusted', project: null });
    expect(realpathSync(trust.sandbox)).not.toContain(project);
    expect(trustOf({ sandbox: '', bareProject: project, shipped: '/nowhere', home: null, accepts: true }).project).toBe(project);
  });

  it('T1 keeps the same state before and after a person agrees', async () => {
    writeFiles(project, { 'AGENTS.md': 'Be brief.' });
    const before = trustNow();
    const wanted = path.join(before.sandbox, 'data');
    const after = trustNow(project, true);
    expect(after.state(wanted)).toEqual(before.state(wanted));
    expect(after.state(wanted)).toMatchObject({ directory: wanted, why: null });
  });

  it('U6 T1 lists instructions of the folders above a project, up to the git root', async () => {
    writeFiles(project, { 'AGENTS.md': 'All.', 'packages/a/sandbox/pith.yaml': '', 'packages/CLAUDE.md': 'Packages.' });
    writeFiles(root, { 'AGENTS.md': 'Outside.' });
    const folder = path.join(project, 'packages/a');
    const asked = await targetIn(folder, { terminal: true, input: 'yes\n' });
    expect(asked.out).toContain('    ../CLAUDE.md\n    ../../AGENTS.md\n');
    expect(asked.trust?.projectFiles).toEqual([path.join(project, 'packages/CLAUDE.md'), path.join(project, 'AGENTS.md')]);
  });
});
