import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { trustOf } from '../../../core/trust/index.ts';
import { folderWith, kernelOf } from '../../places.ts';

const MAIN = `import { Places } from 'pith';
export default class Where {
  constructor(context) { this.context = context; }
  getCommands() {
    return [{ path: 'where', description: 'Says where', run: async (input, io) => io.json([this.context.use(Places), ...this.context.find(Places)].map(({ project }) => project)) }];
  }
}
`;
const FILES = {
  'extensions/where/manifest.yaml':
    'id: where\nname: Where\nversion: 1.0.0\ndescription: Says where it is. For tests.\nentrypoint: main.ts\nprovides: [command]\ncommands: [{ path: where, needs: initialized, description: Says where }]\n',
  'extensions/where/main.ts': MAIN,
};

describe('U1 the project that extensions are told of', () => {
  it.each(['in_process', 'process'] as const)('U1 is the folder that holds the sandbox, for code that runs %s', async (isolation) => {
    const test = await kernelOf({ only: [], files: FILES, isolation });
    expect((await test.command('where')).values).toEqual([[path.dirname(test.sandbox), path.dirname(test.sandbox)]]);
  });

  it('U1 T1 is null in a sandbox that nobody has trusted', () => {
    const root = folderWith({ 'a/sandbox/pith.yaml': '', 'home/x': '' });
    const options = { sandbox: path.join(root, 'a/sandbox'), shipped: '/nowhere', home: path.join(root, 'home') };
    expect(trustOf(options).project).toBeNull();
    expect(trustOf({ ...options, accepts: true }).project).toBe(path.join(root, 'a'));
  });

  it('U1 T1 is a real path', () => {
    const root = folderWith({ 'a/sandbox/pith.yaml': '' });
    symlinkSync('a', path.join(root, 'link'));
    expect(trustOf({ sandbox: path.join(root, 'link/sandbox'), shipped: '/nowhere', home: null, accepts: true }).project).toBe(
      path.join(root, 'a'),
    );
  });

  it('U1 T1 is never the home folder or the root by itself', () => {
    const root = folderWith({ 'sandbox/pith.yaml': '' });
    mkdirSync(path.join(root, '.pith'));
    const options = { shipped: '/nowhere', accepts: true };
    expect(trustOf({ ...options, sandbox: path.join(root, 'sandbox'), home: root }).project).toBeNull();
    expect(trustOf({ ...options, sandbox: path.join(root, 'sandbox'), home: null }).project).toBe(root);
    expect(trustOf({ ...options, sandbox: '/sandbox-that-is-not-there', home: null }).project).toBeNull();
  });
});
