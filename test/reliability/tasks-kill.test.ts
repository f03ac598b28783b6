import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../core/store/index.ts';
import { startOpenAiServer, type ChatBody, type OpenAiServer } from '../fixtures/openai-server.ts';
import type { ScriptedReply } from '../fixtures/scripted-server.ts';
import { linesOf, projectFolder, startPith, type Folder, type PithProcess } from '../journeys/pith-process.ts';
import { extensionFiles } from '../journeys/sandbox-files.ts';
import { realTime } from '../waiting.ts';

/** 1, in the long form (`npm run test:soak`) 50. */
const ROUNDS = process.env['PITH_TEST_LONG'] === '1' ? 50 : 1;

/** `record` writes a line, `mark` one for its key unless it is there, `recorded` tells the lines. Each waits, so that a kill may hit it. */
const RECORDER = extensionFiles('recorder', {
  provides: ['tool'],
  main: `
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    const file = (name) => path.join(this.context.dataDirectory, name);
    const lines = (name) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8').split('\\n') : []);
    const tool = (name, effect, run) => defineTool({
      name, effect, description: 'Records.', input: z.object({ note: z.string().default('') }),
      execute: async ({ note }, call) => {
        await this.context.clock.sleep(15);
        const result = run(note, call.idempotencyKey);
        await this.context.clock.sleep(15);
        return result;
      },
    });
    return [
      tool('record', 'write', (note) => (appendFileSync(file('log'), note + '\\n'), 'recorded ' + note)),
      tool('mark', 'idempotent', (note, key) => {
        const line = note + ' ' + key;
        if (!lines('marks').includes(line)) appendFileSync(file('marks'), line + '\\n');
        return 'marked ' + note;
      }),
      tool('recorded', 'read', () => lines('log').join(',')),
    ];
  }
}
`,
});

type Call = { readonly name: string; readonly input: Readonly<Record<string, string>> };

/** What the worker does for one task, step by step. */
const plan = (id: string): readonly (readonly Call[])[] => [
  [{ name: 'read_skill', input: { skill_id: 'code-review' } }],
  [{ name: 'record', input: { note: `${id}-one` } }],
  [{ name: 'mark', input: { note: `${id}-two` } }],
  [
    { name: 'record', input: { note: `${id}-three` } },
    { name: 'mark', input: { note: `${id}-four` } },
  ],
  [{ name: 'complete_task', input: { result: `the result of ${id}` } }],
];

let calls = 0;
/** As servers do it: no two calls have the same id. */
const named = (call: Call) => ({ ...call, id: `call-${(calls += 1)}` });

/** A careful model: it does the next step that is not done, and looks before it repeats what was interrupted. */
function reply(body: ChatBody): ScriptedReply {
  const from = body.messages.findLastIndex(({ role }) => role === 'user');
  const told = JSON.stringify(body.messages[from]?.content);
  const since = body.messages.slice(from + 1);
  const made = since.flatMap(({ tool_calls = [] }) =>
    tool_calls.map(({ id, function: { name, arguments: input } }) => ({
      name,
      note: (JSON.parse(input) as { note?: string }).note,
      result: JSON.stringify(since.find(({ tool_call_id }) => tool_call_id === id)?.content ?? ''),
    })),
  );
  const id = /You work on task (\w+)/.exec(JSON.stringify(body.messages[0]))?.[1];
  if (id === undefined) return made.length > 0 ? { text: 'submitted' } : { calls: [{ name: 'submit_task', input: { goal: told } }] };
  const cutOff = made.findLastIndex(({ result }) => result.includes('interrupted'));
  if (cutOff >= 0 && !made.slice(cutOff).some(({ name }) => name === 'recorded'))
    return { calls: [named({ name: 'recorded', input: {} })] };
  const isDone = ({ name, input }: Call) =>
    made.some((each) => each.name === name && each.note === input['note'] && !each.result.includes('interrupted')) ||
    made.some((each) => each.name === 'recorded' && input['note'] !== undefined && each.result.includes(input['note']));
  const step = plan(id).find((each) => !each.every(isDone));
  return step === undefined ? { text: 'finished' } : { calls: step.filter((call) => !isDone(call)).map(named) };
}

let server: OpenAiServer;
let folder: Folder;
let chat: PithProcess;
beforeAll(async () => {
  server = await startOpenAiServer();
  folder = await projectFolder(RECORDER);
  server.script(...Array.from({ length: 100 * ROUNDS }, () => reply));
});
afterAll(async () => {
  chat.child.kill('SIGKILL');
  await chat.ended;
  await server.close();
  await folder.remove();
});

const open = (): PithProcess =>
  startPith(['chat', '--lines', '--json', '--thread', 'talk'], {
    cwd: folder.path,
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test', PITH_MODEL: 'openai/test' },
    input: null,
  });
const asked = (id: string) => server.requests.filter(({ body }) => JSON.stringify(body).includes(`work on task ${id}`)).length;
const linesFor = (file: string, id: string): readonly string[] => {
  const whole = path.join(folder.sandbox, 'data', 'extensions', 'recorder', file);
  const lines = existsSync(whole) ? readFileSync(whole, 'utf8').split('\n') : [];
  return lines.filter((line) => line.startsWith(id)).map((line) => line.split(' ')[0] as string);
};

function taskRow(id: string) {
  const database = openDatabase(path.join(folder.sandbox, 'data', 'pith.db'));
  try {
    const row = database.get('SELECT task FROM task_engine__tasks WHERE id = ?', id);
    const states = database.all('SELECT state FROM task_engine__changes WHERE task = ? ORDER BY seq', id).map(({ state }) => state);
    return { ...(JSON.parse(String(row?.['task'])) as { state: string; result: string; retained: string[] }), states };
  } finally {
    database.close();
  }
}

async function submitted(message: string): Promise<string> {
  const before = chat.out().length;
  const results = () =>
    linesOf(
      chat
        .out()
        .slice(before)
        .replace(/[^\n]*$/, ''),
    ).filter(({ type }) => type === 'tool-result');
  chat.child.stdin.write(`${message}\n`);
  await expect.poll(results, { interval: 20 }).toMatchObject([{ name: 'submit_task', ok: true }]);
  return (results() as { output: { task_id: string } }[])[0]!.output.task_id;
}

it(
  `K91: a task that was submitted goes on after kill -9 at a random step, and ends once (${ROUNDS} rounds)`,
  async () => {
    chat = open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = await submitted(`count the stars of round ${round}`);
      const step = Math.floor(Math.random() * (plan(id).length + 2));
      await expect.poll(() => asked(id) >= step || taskRow(id).state === 'done', { interval: 5 }).toBe(true);
      await realTime(Math.random() * 60, 'a kill at a random moment');
      chat.child.kill('SIGKILL');
      await chat.ended;
      chat = open();
      await expect.poll(() => taskRow(id).state, { interval: 50 }).toBe('done');
      const task = taskRow(id);
      expect(task.result).toBe(`the result of ${id}`);
      expect(task.retained).toContain('code-review');
      expect(task.states.filter((state) => state === 'done')).toHaveLength(1);
      expect(linesFor('log', id)).toEqual([`${id}-one`, `${id}-three`]); // a write is done once
      expect(linesFor('marks', id)).toEqual([`${id}-two`, `${id}-four`]); // each with one key, however often it ran
    }
  },
  ROUNDS * 30_000,
);
