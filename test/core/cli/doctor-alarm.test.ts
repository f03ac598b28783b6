import { expect, it } from 'vitest';
import { runDoctor } from '../../../core/cli/index.ts';
import type { CommandIO } from '../../../core/contract/index.ts';
import { fakeKernel } from './fakes.ts';

async function printed(colour: boolean): Promise<string> {
  const lines: string[] = [];
  const note = { code: 'unconfined', message: 'programs run as you' };
  const extensions = [{ id: 'kv', state: 'active' as const, notes: [note, { code: 'phase_slow', message: 'slow' }] }];
  const kernel = fakeKernel();
  const report = { ...(await kernel.doctor()), extensions };
  const io = {
    print: (line: string) => void lines.push(line),
    json: () => undefined,
    error: () => undefined,
    colour,
    interactive: false,
    columns: 200,
  };
  expect(
    await runDoctor(
      { ...kernel, doctor: async () => report as never },
      { arguments: {}, options: {} },
      io as unknown as CommandIO,
      new AbortController().signal,
    ),
  ).toBe(0);
  return lines.join('\n');
}

it('S73 doctor shows in red, on terminals only, and counts what a person let run without a sandbox', async () => {
  const plain = await printed(false);
  expect(plain).toContain('warning: kv: programs run as you');
  expect(plain).toContain('note: kv: slow');
  expect(plain).toMatch(/Working, with \d+ findings? above/u);
  expect(plain).not.toContain('\u001b[');
  expect(await printed(true)).toContain('\u001b[31mwarning: kv: programs run as you\u001b[39m');
});
