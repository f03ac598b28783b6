import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { CommandIO } from '../../../core/contract/index.ts';
import { type TestKernel } from 'pith/testing';
import { inProcesses, main, manifest } from './extension.ts';

const NEVER = new AbortController().signal;
const ENTRY = 'commands.ts';

const open = (source: string, fields: object = {}) =>
  inProcesses({
    home: '/home/nobody',
    flags: { extensions_sandbox: 'off' }, // a process in a sandbox does not know its own number
    files: {
      ...manifest('mine', { provides: ['tool'], commands: [{ path: 'mine look', needs: 'index', entry: ENTRY }], ...fields }),
      ...main('mine', `getTools() { throw new Error('activated'); }`),
      [`extensions/mine/${ENTRY}`]: source,
    },
  });

async function commandOf({
  kernel: {
    host: { providers },
  },
}: TestKernel) {
  const [command] = await (await providers.commands.importEntry('mine', ENTRY))(providers.commands.contextOf('mine'));
  if (!command) throw new Error('no command');
  return command;
}

function terminal() {
  const said: unknown[] = [];
  const io = { print: (text: string) => said.push(text), json: (value: unknown) => said.push(value) } as unknown as CommandIO;
  return { said, io };
}

describe('command entries of the process tier', () => {
  it('K10: an entry runs in a separate process, without the environment, and the extension is not activated', async () => {
    vi.stubEnv('PITH_TEST_KEY', 'from the environment');
    onTestFinished(() => void vi.unstubAllEnvs());
    const test = await open(
      `import { Places } from 'pith';
       export default (context) => [{ path: 'mine look', description: 'd', run: async (input, io) => {
         io.json([process.pid, process.env.PITH_TEST_KEY ?? null, context.id, context.use(Places).home, context.config.colour, input.arguments.what]); return 3; } }];`,
    );
    await writeFile(path.join(test.sandbox, 'pith.yaml'), 'extensions:\n  mine: { colour: red }\n');
    await test.restart();
    const command = await commandOf(test);
    const { said, io } = terminal();
    expect(await command.run({ arguments: { what: 'all' }, options: {} }, io, NEVER)).toBe(3);
    const [[pid, ...rest]] = said as [[number, ...unknown[]]];
    expect(rest).toEqual([null, 'mine', '/home/nobody', 'red', 'all']);
    expect(pid).not.toBe(process.pid);
    expect(test.kernel.host.extensions.state('mine')).toBe('idle');
    await test.stop();
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  });

  it('K10: an entry that throws or ends its process costs its own command only', async () => {
    const test = await open(
      `import { execSync } from 'node:child_process';
       export default () => [{ path: 'mine look', description: 'd', run: async ({ arguments: { what } }) => {
         if (what === 'throw') throw new Error('no such place');
         execSync('kill -9 ' + process.pid); await new Promise(() => {}); } }];`,
    );
    const command = await commandOf(test);
    const run = (what: string) => command.run({ arguments: { what }, options: {} }, terminal().io, NEVER);
    await expect(run('throw')).rejects.toThrow("the command 'mine look' of the extension 'mine' failed");
    await expect(run('die')).rejects.toThrow(/the process of 'mine' is gone: .*SIGKILL/);
    await expect((await commandOf(test)).run({ arguments: { what: 'throw' }, options: {} }, terminal().io, NEVER)).rejects.toThrow(
      'failed',
    );
    expect(test.kernel.host.extensions.state('mine')).toBe('idle');
  });

  it('K10: an entry without a function, or that throws while it is imported, is refused with the place', async () => {
    const test = await open('export default 1;');
    await expect(commandOf(test)).rejects.toThrow('commands.ts has no function as its default export');
    await writeFile(path.join(test.sandbox, 'extensions/mine', ENTRY), `throw new Error('broken at import');`);
    await test.restart();
    await expect(commandOf(test)).rejects.toThrow('broken at import');
    expect(await readFile(path.join(test.sandbox, 'extensions/mine', ENTRY), 'utf8')).toContain('broken');
  });
});
