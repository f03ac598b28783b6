import {
  fakeClock,
  recordEvents,
  scriptedModel,
  testKernel,
  type FakeClock,
  type ModelRequest,
  type ScriptedReply,
  type TestKernel,
} from 'pith/testing';
import type { JsonValue } from 'pith';
import { taskChanged } from '../../../sandbox/extensions/task_engine/contract.ts';
import path from 'node:path';
import { openStore } from '../../../core/store/index.ts';
import { passing } from '../../waiting.ts';

export type Row = { readonly [key: string]: JsonValue };

const agent = (id: string, more: string) => `id: ${id}\nversion: 1.0.0\nagent:\n  description: Does the ${id}'s work.\n${more}`;

export const AGENTS = {
  'agents/boss/manifest.yaml': agent('boss', '  uses_tools: [task_engine, task_engine/complete_task, kv]\n  delegates_to: [worker]\n'),
  'agents/worker/manifest.yaml': agent('worker', '  uses_tools: [task_engine, kv]\n'),
  'agents/stranger/manifest.yaml': agent('stranger', '  uses_tools: []\n'),
};

/** A kernel whose model answers by what it is asked, and whose time stands still until it is moved on. */
export interface TaskKernel extends AsyncDisposable {
  readonly test: TestKernel;
  readonly clock: FakeClock;
  readonly requests: readonly ModelRequest[];
  readonly states: () => readonly string[];
  /** What people were told. */
  readonly notices: () => readonly string[];
  tool(name: string, input: JsonValue, agentId?: string): Promise<Row>;
  refusal(name: string, input: JsonValue, agentId?: string): Promise<{ readonly code: string; readonly message: string }>;
  /** Runs `pith tasks …` as it is typed, and returns its JSON. */
  command(...words: readonly string[]): Promise<Row>;
  /** Submits a task for `worker`, unless another agent is named, and returns its id. */
  submit(goal: string, more?: Record<string, JsonValue>, by?: string): Promise<string>;
  task(id: string): Promise<Row>;
  /** A change of the database by somebody else. */
  change(sql: string): Promise<void>;
  /** Lets time pass until the model has been asked this often. */
  asked(times: number): Promise<void>;
  /** Lets time pass until the task is in this state. */
  until(id: string, state: string): Promise<Row>;
}

/** The user's text of the last turn that a request shows. */
export function lastUser({ messages }: ModelRequest): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content;
  return Array.isArray(content) ? content.map((part) => ('text' in part ? part.text : '')).join('\n') : String(content ?? '');
}

/** An answer of the model that says something, and one that calls a tool. */
export const text = (value: string) => ({ text: value });
export const call = (name: string, input: Readonly<Record<string, JsonValue>> = {}) => ({ calls: [{ name, input }] });

/** How many results of tools stand after the user's text. */
export function stepOf({ messages }: ModelRequest): number {
  const from = messages.findLastIndex(({ role }) => role === 'user');
  return messages.slice(from).filter(({ role }) => role === 'tool').length;
}

export async function taskKernel(
  reply: (request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>,
  options: {
    readonly files?: Readonly<Record<string, string>>;
    readonly start?: boolean;
    readonly sandbox?: string;
    readonly only?: readonly string[];
  } = {},
): Promise<TaskKernel> {
  const clock = fakeClock();
  const requests: ModelRequest[] = [];
  const model = scriptedModel();
  const next = (request: ModelRequest): ScriptedReply | Promise<ScriptedReply> => {
    requests.push(request);
    model.add(next);
    return reply(request);
  };
  model.add(next);
  const { sandbox } = options;
  const test = await testKernel({
    only: options.only ?? ['task_engine', 'kv'],
    model: { ...model, expectFinished: () => undefined },
    clock,
    sandbox,
    files: { ...AGENTS, ...options.files },
  });
  const recorded = recordEvents(test.kernel.events, taskChanged);
  if (options.start !== false) await test.kernel.start();

  const call = (name: string, input: JsonValue, agentId = 'boss') => test.kernel.agents.callTool(agentId, name, input);
  const tool = async (name: string, input: JsonValue, agentId?: string) => {
    const result = await call(name, input, agentId);
    if (!result.ok) throw new Error(`${name}: ${result.error.code}: ${result.error.message}`);
    return result.output as Row;
  };
  const task = (id: string) => tool('get_task_status', { task_id: id });
  return {
    test,
    clock,
    requests,
    states: () => recorded.of(taskChanged).map(({ taskId, state }) => `${taskId} ${state}`),
    tool,
    notices: () => recorded.of('notify').map(({ text }) => text),
    async refusal(name, input, agentId) {
      const result = await call(name, input, agentId);
      if (result.ok) throw new Error(`${name} was not refused: ${JSON.stringify(result.output)}`);
      return result.error;
    },
    async command(...words) {
      const { values } = await test.command(words, { json: true });
      return values[0] as Row;
    },
    submit: async (goal, more, by) => String((await tool('submit_task', { goal, agent_id: 'worker', ...more }, by))['task_id']),
    task,
    async change(sql) {
      const store = openStore(path.join(test.kernel.settings.data_dir, 'pith.db'), clock);
      await store.write((statement) => void statement(sql)).finally(() => store.close());
    },
    asked: (times) => passing(clock, () => requests.length === times).then(() => undefined),
    until: (id, state) =>
      passing(clock, async () => {
        const now = await task(id);
        return now['state'] === state && now;
      }),
    async [Symbol.asyncDispose]() {
      recorded.stop();
      await test.stop();
    },
  };
}
