import { chmodSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { trustOf } from '../../../core/trust/index.ts';
import { cli } from '../cli/fakes.ts';
import { folderWith } from '../../places.ts';

let root: string;
let project: string;
let sandbox: string;
let home: string;

beforeEach(() => {
  const hello = '---\nname: hello\ndescription: Greets. Use when somebody greets.\n---\nHi.\n';
  root = folderWith({ 'home/.keep': '', 'project/sandbox/skills/hello/SKILL.md': hello });
  [project, home] = [path.join(root, 'project'), path.join(root, 'home')];
  sandbox = path.join(project, 'sandbox');
  vi.stubEnv('HOME', home);
});
afterEach(() => void vi.unstubAllEnvs());

const list = (...argv: string[]) =>
  cli(['skills', 'list', '--all', '--json', ...argv], { cwd: project, openKernel, env: { PITH_TRUST: '0' } });
const idsOf = (out: string) => (JSON.parse(out) as readonly { readonly id: string }[]).map(({ id }) => id);

describe('a folder that others can write', () => {
  it.each(['sandbox', 'project'] as const)(
    'T3 F15: a %s that everybody can write is not even read, and --trust does not lift that; a recorded yes does',
    async (which) => {
      const folder = which === 'sandbox' ? sandbox : project;
      chmodSync(folder, 0o777);
      for (const argv of [[], ['--trust']]) {
        const ran = await list(...argv);
        expect(ran.err).toContain(`everybody can write ${folder}`);
        expect(idsOf(ran.out)).not.toContain('hello');
      }
      // A terminal is not asked either: somebody else could have put the question's answer there.
      expect(trustOf({ sandbox, shipped: '/nowhere', home })).toMatchObject({ level: 'restricted', isOpen: false, untrusted: null });
      expect((await cli(['trust', '--yes'], { cwd: project, openKernel, env: { PITH_TRUST: '0' } })).out).toContain('Look twice');
      expect((await list()).err).not.toContain('restricted');
    },
  );

  it('T3: one in a folder for everybody, where nobody can take away what is not theirs, may be trusted', async () => {
    chmodSync(root, 0o1777);
    chmodSync(project, 0o1777);
    const ran = await list();
    expect(ran.err).toContain('nobody has trusted it');
    expect(idsOf(ran.out)).toContain('hello');
    expect((await list('--trust')).err).not.toContain('restricted');
  });
});
