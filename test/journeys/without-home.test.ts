import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectFolder, runPith, type Folder } from './pith-process.ts';

const AGENT = 'id: mine\nagent: { instructions: "Say MINE." }\n';

describe('a sandbox that nobody trusts, where no home folder can be written', () => {
  let folder: Folder;
  let temporary: string;
  beforeEach(async () => {
    folder = await projectFolder({ 'agents/mine/manifest.yaml': AGENT });
    temporary = path.join(folder.path, 'tmp');
    mkdirSync(temporary);
  });
  afterEach(() => folder.remove());

  it.each(['a file', 'a folder that is read-only', 'missing below a file'])(
    'T2: with HOME on %s, commands work restricted, in a temporary place that is gone afterwards',
    async (kind) => {
      const home = path.join(folder.path, 'home');
      if (kind === 'a folder that is read-only') {
        mkdirSync(home);
        if (process.getuid?.() === 0) writeFileSync(path.join(home, '.pith'), ''); // root writes everywhere, but not below a file
        else chmodSync(home, 0o555);
      } else writeFileSync(home, 'mine');
      const env = { HOME: kind === 'missing below a file' ? path.join(home, 'deeper') : home, PITH_TRUST: '0', TMPDIR: temporary };
      const before = readdirSync(folder.path, { recursive: true }).sort();
      const [ran, refused] = await Promise.all([
        runPith(['chat', '--lines'], { cwd: folder.path, env, input: '/agents list\n/skills list\nhello\n' }),
        runPith(['trust', '--yes'], { cwd: folder.path, env }),
      ]);
      expect(ran.code, ran.err).toBe(0);
      expect(ran.err).toContain(`pith: restricted ${folder.sandbox}`);
      expect(ran.out).toMatch(/^orchestrator .*^code-review .*offline librarian/msu);
      expect(ran.out).not.toMatch(/^mine /m);
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('nothing was recorded') });
      expect(readdirSync(folder.path, { recursive: true }).sort()).toEqual(before);
    },
  );
});
