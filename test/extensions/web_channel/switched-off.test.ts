import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { scriptedModel, type TestKernelOptions } from 'pith/testing';
import { kernelCommands } from '../../../core/cli/index.ts';
import { kernelOf } from '../../places.ts';
import { until } from '../../waiting.ts';

interface Shipped {
  readonly id: string;
  readonly depends_on?: readonly string[];
  readonly optional_depends_on?: readonly string[];
}

const SHIPPED = readdirSync('sandbox/extensions').map(
  (id) => parse(readFileSync(`sandbox/extensions/${id}/manifest.yaml`, 'utf8')) as Shipped,
);

/** What listens, and all that speaks through it. */
const LISTENING = withDependents(['http', 'program_turns', 'mcp_server']);
const OTHERS = SHIPPED.map(({ id }) => id).filter((id) => !LISTENING.includes(id));

function withDependents(ids: readonly string[]): readonly string[] {
  const found = SHIPPED.filter(({ id, depends_on = [] }) => !ids.includes(id) && depends_on.some((each) => ids.includes(each)));
  return found.length === 0 ? ids : withDependents([...ids, ...found.map(({ id }) => id)]);
}

const off = Object.fromEntries(LISTENING.map((id) => [id, { enabled: false }]));
const WAYS: readonly (readonly [string, TestKernelOptions])[] = [
  ['removed', { only: [...OTHERS, 'orchestrator'] }],
  ['switched off', { files: { 'pith.yaml': JSON.stringify({ default_agent: 'orchestrator', extensions: off }) } }],
];

it.each(WAYS)(
  'W1 with the page and all interfaces %s a chat, a saved skill, a task and the doctor work as before',
  async (how, options) => {
    const model = scriptedModel([{ text: 'Hello.' }, { text: 'The brief.' }, { text: 'The task is done.' }]);
    const files = { 'pith.yaml': 'default_agent: orchestrator\n', ...options.files };
    const { kernel, run, command } = await kernelOf({ model, commands: kernelCommands, ...options, files });
    const states = new Map(kernel.host.extensions.list().map(({ id, state }) => [id, state]));
    for (const id of LISTENING) expect([id, states.get(id)]).toEqual([id, how === 'removed' ? undefined : 'disabled']);
    await kernel.start();
    expect(await run('hello')).toMatchObject({ reason: 'done', text: 'Hello.' });
    expect((await command('run daily-brief', { json: true })).values.at(-1)).toMatchObject({ state: 'ok', output: 'The brief.' });
    const [submitted] = (await command('tasks submit do it', { json: true })).values;
    const { id } = submitted as { readonly id: string };
    const state = async () => ((await command(`tasks show ${id}`, { json: true })).values[0] as { readonly state: string }).state;
    await until(async () => (await state()) === 'done');
    const problems = await kernel.problems();
    expect(problems.filter(({ message }) => LISTENING.some((each) => message.includes(each)))).toEqual([]);
    expect(await kernel.doctor()).toMatchObject({ ok: true });
  },
);
