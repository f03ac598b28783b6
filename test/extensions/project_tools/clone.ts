import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from 'pith';
import { CLOCK, createKernel } from '../../../core/compose/index.ts';
import { trustOf } from '../../../core/trust/index.ts';
import { TURN } from '../../fixtures/agent-spec.ts';
import { inProcess } from '../../fixtures/in-process.ts';
import { folderWith, writeFiles } from '../../places.ts';
import { askedTools } from '../asked-tools.ts';

/** Settings that a person has in a home folder in use. */
const GITCONFIG = '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n';

/** A project without `sandbox/`, with a home folder that has been used, on the real kernel. */
export async function cloneWith(files: Readonly<Record<string, string>>, inHome: Readonly<Record<string, string>> = {}, clock?: Clock) {
  const folder = folderWith();
  const [root, home] = [path.join(folder, 'home/src/shop'), path.join(folder, 'home')];
  writeFiles(home, {
    '.gitconfig': GITCONFIG,
    '.npm/_cacache/index-v5/00/x': 'kept',
    '.npmrc': '//registry/:_authToken=canary',
    ...inHome,
  });
  mkdirSync(root, { recursive: true });
  writeFiles(root, files);
  const trust = trustOf({ sandbox: path.join(root, 'sandbox'), bareProject: root, shipped: path.resolve('sandbox'), home, accepts: true });
  const parts = inProcess();
  if (clock) parts.register(CLOCK, { useValue: clock });
  const kernel = await createKernel({ sandbox: trust.sandbox, trust, home, env: {}, only: ['project_tools'] }, parts);
  onTestFinished(() => kernel.stop());
  const outside = { cwd: root, env: { PATH: process.env['PATH'], HOME: home, GIT_TERMINAL_PROMPT: '0' }, encoding: 'utf8' } as const;
  return {
    kernel,
    home,
    root,
    at: (...names: readonly string[]) => path.join(root, ...names),
    /** As the person does it outside; what it prints, also where it fails. */
    person(script: string): string {
      try {
        return execFileSync('bash', ['-c', `{ ${script}\n} 2>&1`], outside);
      } catch (error) {
        return String((error as { stdout?: unknown }).stdout);
      }
    },
    ...askedTools({ kernel } as never, 'project_tools', { ...TURN, userId: 'local', threadId: 'thread', correlationId: 'message-1' }),
  };
}
