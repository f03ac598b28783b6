import type { Sandboxing } from '@pith/held-process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testSandbox, type TestSandbox } from '../kernel/sandbox.ts';

const NOTHING_HOLDS: Sandboxing = { available: false, why: 'bubblewrap is not installed', cure: 'install the package bubblewrap' };

describe('the toolset of a skill where nothing confines', () => {
  let sandbox: TestSandbox;
  let ran: string;
  beforeEach(async () => {
    sandbox = await testSandbox();
    ran = path.join(sandbox.directory, 'ran.txt');
    await sandbox.extension('skills', 'tool', 'export default class { getTools() { return []; } }');
    await sandbox.write('skills/dice/index.ts', code('roll'));
  });
  afterEach(() => sandbox.close());

  /** Leaves a file as soon as it is loaded. */
  const code = (name: string): string => `import fs from 'node:fs'; import { defineTool, z } from 'pith';
    fs.writeFileSync(${JSON.stringify(ran)}, 'ran');
    export const list = [defineTool({ name: '${name}', description: 'd', input: z.object({}), execute: () => 4 })];`;
  const toolset = () => ({ id: 'dice', directory: path.join(sandbox.directory, 'skills/dice'), modules: ['index:list'] });
  const digestIn = (message: string): string => /digest ([0-9a-f]{64})/.exec(message)?.[1] ?? '';
  const refusal = async (opened: Promise<unknown>): Promise<Error> =>
    opened.then(
      () => new Error('it was opened'),
      (error: Error) => error,
    );

  it('T16 F9: is not opened, runs nothing, and is told with the cure; once agreed for its digest it is, and another asks again', async () => {
    const agreed = new Set<string>();
    const host = await sandbox.host({
      sandboxing: async () => NOTHING_HOLDS,
      agreements: { isAgreed: (kind, key) => kind === 'unconfined' && agreed.has(key) },
    });
    const first = await refusal(host.toolsets.open('skills', toolset()));
    expect(first).toMatchObject({ code: 'sandbox_unavailable', message: expect.stringMatching(/'dice'.*not sandboxed on this system/) });
    expect(await host.sandboxNotes()).toContainEqual(
      expect.objectContaining({ message: first.message, cure: expect.stringContaining('install') }),
    );
    expect(existsSync(ran)).toBe(false);

    agreed.add(digestIn(first.message));
    expect((await host.toolsets.open('skills', toolset())).tools.map(({ name }) => name)).toEqual(['roll']);
    expect(existsSync(ran)).toBe(true);

    await sandbox.write('skills/dice/index.ts', code('other'));
    const second = await refusal(host.toolsets.open('skills', toolset()));
    expect(second).toMatchObject({ code: 'sandbox_unavailable' });
    expect(digestIn(second.message)).not.toBe(digestIn(first.message));
  });

  it('T16 F9: without any agreement is refused; where a person chose no sandbox, it is opened', async () => {
    const asking = await sandbox.host({ sandboxing: async () => NOTHING_HOLDS });
    expect(await refusal(asking.toolsets.open('skills', toolset()))).toMatchObject({ code: 'sandbox_unavailable' });
    const off = await sandbox.host({ sandboxing: async () => null });
    expect((await off.toolsets.open('skills', toolset())).tools).toHaveLength(1);
  });
});
