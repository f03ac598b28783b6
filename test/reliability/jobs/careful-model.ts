import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { ChatBody } from '../../fixtures/openai-server.ts';
import type { ScriptedCall, ScriptedReply } from '../../fixtures/scripted-server.ts';
import { extensionFiles } from '../../journeys/sandbox-files.ts';

/** `record` writes a line, `mark` one for its key unless it is there, `recorded` tells the lines. Each waits, so that a kill may hit it. */
export const RECORDER = extensionFiles('recorder', {
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

/** Lines that the recorder has, without their keys. */
export function recorded(sandbox: string, file: 'log' | 'marks', which: RegExp): readonly string[] {
  const whole = path.join(sandbox, 'data', 'extensions', 'recorder', file);
  const lines = existsSync(whole) ? readFileSync(whole, 'utf8').split('\n') : [];
  return lines.filter((line) => which.test(line)).map((line) => line.split(' ')[0] as string);
}

type Call = ScriptedCall & { readonly input: Readonly<Record<string, string>> };

let calls = 0;
/** As servers do it: no two calls have the same id. */
const named = (call: Call) => ({ ...call, id: `call-${(calls += 1)}` });

/** What was called since the person spoke last, with its results. */
function callsSince({
  messages,
}: ChatBody): readonly { readonly name: string; readonly note: string | undefined; readonly result: string }[] {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  return since.flatMap(({ tool_calls = [] }) =>
    tool_calls.map(({ id, function: { name, arguments: input } }) => ({
      name,
      note: (JSON.parse(input) as { note?: string }).note,
      result: JSON.stringify(since.find(({ tool_call_id }) => tool_call_id === id)?.content ?? ''),
    })),
  );
}

/** The text that the person spoke last. */
export function toldTo({ messages }: ChatBody): string {
  return JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content);
}

/** Calls one tool until its result is `ended`, and ends: a full disk may refuse it. */
export function callUntil(body: ChatBody, ended: RegExp, call: Call): ScriptedReply {
  return callsSince(body).some(({ result }) => ended.test(result)) ? { text: 'done' } : { calls: [named(call)] };
}

/** What results of calls say whose outcome is not known. */
const UNKNOWN = /interrupted|ENOSPC|the disk is full/;

/** Does the next step that is not done, and looks before it repeats what may have happened. */
export function carefully(body: ChatBody, plan: readonly (readonly Call[])[]): ScriptedReply {
  const made = callsSince(body);
  const cutOff = made.findLastIndex(({ result }) => UNKNOWN.test(result));
  if (cutOff >= 0 && !made.slice(cutOff).some(({ name }) => name === 'recorded'))
    return { calls: [named({ name: 'recorded', input: {} })] };
  const isDone = ({ name, input }: Call) =>
    made.some((each) => each.name === name && each.note === input['note'] && !UNKNOWN.test(each.result)) ||
    made.some((each) => each.name === 'recorded' && input['note'] !== undefined && each.result.includes(input['note']));
  const step = plan.find((each) => !each.every(isDone));
  return step === undefined ? { text: 'finished' } : { calls: step.filter((call) => !isDone(call)).map(named) };
}
