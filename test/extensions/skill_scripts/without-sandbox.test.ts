import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { probeSandboxing } from '@pith/supervised-process';
import type { TurnOutcome } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { installCommand } from '../../../packages/supervised-process/programs.ts';
import { scriptKernel, type ScriptKernel } from './script-kernel.ts';

const { available } = await probeSandboxing();
const SCRIPTS = { 'scripts/a.sh': 'echo ran with "$1"\n' };
const input = { skill_id: 'tool-kit', script: 'a.sh', args: ['one'] };
const WHY = 'bubblewrap is not installed';
const CURE = `install the package bubblewrap: ${installCommand('bubblewrap')}`;

/** From now until the test ends this machine is one where bubblewrap is not installed. */
function withoutBubblewrap(): void {
  const real = fs.accessSync;
  const give = (access: typeof fs.accessSync): void => {
    fs.accessSync = access;
    syncBuiltinESMExports();
  };
  give((file, mode) => {
    if (String(file).endsWith('/bwrap')) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    return real(file, mode);
  });
  onTestFinished(() => give(real));
}

/** From now until the test ends a person sits at a terminal in front of this process, or nobody does. */
function terminal(isThere: boolean): void {
  for (const stream of [process.stdin, process.stdout]) {
    const before = Object.getOwnPropertyDescriptor(stream, 'isTTY');
    Object.defineProperty(stream, 'isTTY', { value: isThere, configurable: true, writable: true });
    onTestFinished(() => {
      if (before === undefined) delete (stream as { isTTY?: boolean }).isTTY;
      else Object.defineProperty(stream, 'isTTY', before);
    });
  }
}

const questions = ({ events }: TurnOutcome) => events.filter((event) => event.type === 'approval-request');

/** A turn from this channel in which the model calls the tool. */
function turn({ pith, model }: ScriptKernel, channelId: string): Promise<TurnOutcome> {
  model.add({ calls: [{ name: 'run_skill_script', input }] }, { text: 'done' });
  return pith.run('go on', { channelId });
}

/** What becomes of the turn that waits for an answer. */
async function answered({ pith }: ScriptKernel, answer: 'once' | 'always' | 'no', channelId = 'cli'): Promise<TurnOutcome> {
  const [open] = await pith.kernel.approvals.list();
  await pith.kernel.approvals.answer(open!.id, { answer, by: 'ann' });
  return pith.run('', { resume: true, channelId });
}

const WITHOUT = `not sandboxed: it sees and can change what you can (${WHY}; ${CURE})`;
const RAN = [{ ok: true, output: 'ran with one\n' }];
const REFUSED = [
  {
    ok: false,
    error: {
      code: 'sandbox_unavailable',
      message: `Scripts are not run, because ${WHY}. A person can fix it: ${CURE}; in a chat in a terminal they are asked about each script instead.`,
    },
  },
];

describe('T16 S73 scripts where there is no sandbox', () => {
  it.each([
    ['never', 'cli'],
    ['ask', 'cli'],
    ['ask', 'none'],
  ])('T16 S73 approval: %s: a person at a terminal (%s) is asked with why and cure, and it runs after a yes', async (approval, channel) => {
    withoutBubblewrap();
    terminal(true);
    const kit = await scriptKernel(SCRIPTS, { settings: `approval: ${approval}` });
    const asked = await turn(kit, channel);
    expect([asked.reason, asked.results]).toEqual(['awaiting_approval', []]);
    expect(questions(asked)[0]?.enforced).toBe(WITHOUT);
    expect((await answered(kit, 'once', channel)).results).toMatchObject(RAN);
    expect(questions(await turn(kit, channel))).toHaveLength(1); // once is once
    expect((await answered(kit, 'no', channel)).results).toMatchObject([{ ok: false, error: { code: 'approval_denied' } }]);
  });

  it.each([
    ['ask', 'cli', false],
    ['never', 'cli', false],
    ['ask', 'web', true],
    ['never', 'web', true],
  ])(
    'T16 S73 approval: %s: from %s, a terminal there: %s, nobody is asked, and it is refused with the same why and cure',
    async (...given) => {
      const [approval, channel, isThere] = given;
      withoutBubblewrap();
      terminal(isThere);
      const told = await turn(await scriptKernel(SCRIPTS, { settings: `approval: ${approval}` }), channel);
      expect(questions(told)).toEqual([]);
      expect(told.results).toMatchObject(REFUSED);
    },
  );

  it('T16 S73 an always that was given at a terminal holds nowhere else', async () => {
    withoutBubblewrap();
    terminal(true);
    const kit = await scriptKernel(SCRIPTS);
    await turn(kit, 'cli');
    expect((await answered(kit, 'always')).results).toMatchObject(RAN);
    expect((await turn(kit, 'cli')).results).toMatchObject(RAN);
    expect((await turn(kit, 'web')).results).toMatchObject(REFUSED);
    terminal(false);
    expect((await turn(kit, 'cli')).results).toMatchObject(REFUSED);
  });
});

describe.skipIf(!available)('T16 S73 a yes for a run inside a sandbox', () => {
  it('T16 S73 that holds always asks again where there is none', async () => {
    terminal(true);
    const kit = await scriptKernel(SCRIPTS, { settings: '' });
    expect(questions(await turn(kit, 'cli'))[0]?.enforced).toContain('sandboxed: no network');
    expect((await answered(kit, 'always')).results).toMatchObject(RAN);
    expect((await turn(kit, 'cli')).results).toMatchObject(RAN);
    withoutBubblewrap();
    await kit.pith.restart();
    const asked = await turn(kit, 'cli');
    expect(asked.results).toEqual([]);
    expect(questions(asked)[0]?.enforced).toBe(WITHOUT);
    expect((await answered(kit, 'no')).results).toMatchObject([{ ok: false }]);
  });

  it.each([true, false])('T16 S73 that was given while the sandbox went runs nothing (a terminal there: %s)', async (isThere) => {
    terminal(isThere);
    const kit = await scriptKernel(SCRIPTS, { settings: '' });
    await turn(kit, 'cli');
    withoutBubblewrap();
    await kit.pith.restart();
    const after = await answered(kit, 'once');
    expect(after.results).toMatchObject(isThere ? [] : REFUSED);
    expect(questions(after).map(({ enforced }) => enforced === WITHOUT)).toEqual(isThere ? [true] : []);
    const last = isThere ? await answered(kit, 'once') : after;
    expect(last.results).toMatchObject(isThere ? RAN : REFUSED);
  });
});
