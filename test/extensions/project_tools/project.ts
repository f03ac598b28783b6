import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { testKernel, type TestKernelOptions } from 'pith/testing';
import { TURN } from '../../fixtures/agent-spec.ts';
import { folderWith, writeFiles } from '../../places.ts';
import { askedTools } from '../asked-tools.ts';

/** A project with a sandbox in it, on the real kernel. */
export async function projectWith(files: Readonly<Record<string, string>>, options: TestKernelOptions & { readonly git?: boolean } = {}) {
  const root = realpathSync(folderWith());
  const { git = false, ...more } = options;
  writeFiles(root, files);
  mkdirSync(path.join(root, 'sandbox/agents'), { recursive: true });
  if (git) {
    execFileSync('git', ['init', '-q'], { cwd: root });
    execFileSync('git', ['add', '-A'], { cwd: root });
  }
  const test = await testKernel({ sandbox: path.join(root, 'sandbox'), ...more });
  onTestFinished(() => test.stop());
  const turn = { ...TURN, userId: 'local', threadId: 'thread', correlationId: 'message-1' };
  return {
    test,
    root,
    turn,
    at: (...names: readonly string[]) => path.join(root, ...names),
    read: (name: string) => readFileSync(path.join(root, name), 'utf8'),
    write: (name: string, text: string | Uint8Array) => writeFileSync(path.join(root, name), text),
    ...askedTools(test, 'project_tools', turn),
    /** The same, for another message. */
    ofMessage: (correlationId: string, threadId = 'thread') => askedTools(test, 'project_tools', { ...turn, correlationId, threadId }),
  };
}
