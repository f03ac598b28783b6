import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { expect, it, onTestFinished } from 'vitest';
import type { PithError } from 'pith';
import { createPith, type Question } from 'pith/embed';
import { folderWith } from '../../places.ts';
import { END, optionsOf, PAID, storeOf, THREAD } from './interrupted-run.ts';

const POINTS = process.env['PITH_TEST_LONG'] === '1' ? 50 : 5;

it.each(['log:', ''])(
  'U44 killed at any point, a run over %j comes to its end elsewhere: nothing is done twice, nothing unknown is kept from the model',
  async (kind) => {
    const program = await programIn(folderWith());
    const whole = await begun(program, kind, Infinity);
    expect(whole.signal).toBeNull();
    expect(whole.effects().filter((line) => !line.startsWith('look'))).toEqual(PAID);
    const points = Number(whole.printed);
    expect(points).toBeGreaterThan(50);
    for (let at = 0; at < POINTS; at += 1) {
      const killed = await begun(program, kind, 1 + Math.floor((at * (points - 1)) / (POINTS - 1)));
      expect(killed.signal).toBe('SIGKILL');
      await endsHere(killed);
    }
  },
  60_000 + POINTS * 15_000,
);

type Begun = Awaited<ReturnType<typeof begun>>;

async function begun(program: string, kind: string, last: number) {
  const folder = folderWith();
  const [store, effects] = [`${kind}${path.join(folder, 'store')}`, path.join(folder, 'effects')];
  const [signal, printed] = await new Promise<[string | null, string]>((resolve) =>
    execFile(process.execPath, [program, store, effects, String(last)], (error, stdout, stderr) =>
      resolve([error?.signal ?? (error === null ? null : stderr), stdout]),
    ),
  );
  const lines = () => (existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : []);
  return { at: last, store, file: effects, effects: lines, signal, printed };
}

async function endsHere({ at, store, file, effects }: Begun): Promise<void> {
  const before = effects();
  const asked: string[] = [];
  const approve = ({ input }: Question) => (asked.push((input as { readonly call: string }).call), 'yes' as const);
  const pith = await createPith({ store: storeOf(store, () => undefined), approve, ...optionsOf(file, () => undefined) });
  onTestFinished(() => pith.close());
  const isBegun = (await pith.threads.messages(THREAD)) !== null;
  const { status } = await (isBegun ? pith.resume(THREAD) : pith.run('pay all', { thread: THREAD })).result.catch((error: PithError) => {
    if (error.code === 'nothing_to_resume') return { status: 'done' }; // it was killed after its end
    throw error;
  });
  expect(status, `killed at ${at}`).toBe('done');
  const again = asked.filter((call, place) => before.includes(call) || asked.indexOf(call) !== place);
  expect(again, `asked again when killed at ${at}`).toEqual([]);
  const messages = (await pith.threads.messages(THREAD)) as readonly { readonly role: string; readonly content: readonly Part[] }[];
  expect(messages.at(-1), `killed at ${at}`).toMatchObject({ role: 'assistant', content: [{ text: END }] });
  const results = new Map(
    messages.flatMap(({ role, content }) => (role === 'tool' ? content.map((part) => [part.toolCallId, JSON.stringify(part.output)]) : [])),
  );
  for (const call of PAID) {
    const times = effects().filter((line) => line === call).length;
    const isUnknown = results.get(call)!.includes('interrupted');
    // What was under way is not known to have been done, and is not tried again.
    expect({ call, times, isUnknown }, `killed at ${at}`).toEqual({
      call,
      times: isUnknown ? Number(before.includes(call)) : 1,
      isUnknown,
    });
  }
  expect(PAID.filter((call) => results.get(call)!.includes('interrupted')).length, `killed at ${at}`).toBeLessThanOrEqual(1);
  expect(await pith.run('and now?', { thread: THREAD }).result).toMatchObject({ status: 'done', text: END });
  await pith.close();
}

interface Part {
  readonly toolCallId: string;
  readonly output: unknown;
}

async function programIn(folder: string): Promise<string> {
  const outfile = path.join(folder, 'program.mjs');
  await build({
    entryPoints: ['test/core/embed/child-run.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: [path.resolve('dist/*')],
    alias: { 'pith/embed': path.resolve('dist/embed.js') },
    logLevel: 'error',
  });
  return outfile;
}
