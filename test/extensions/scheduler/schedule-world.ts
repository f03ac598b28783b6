import type { JsonValue, ToolResult, TopicMap } from 'pith';
import { fakeClock, scriptedModel, type ScriptedModel, type ScriptedStep, type TestKernel } from 'pith/testing';
import { expect } from 'vitest';
import { answered } from '../../answers.ts';
import { kernelOf } from '../../places.ts';
import { passing } from '../../waiting.ts';

export const MINUTE = 60_000;

/** A kernel with agents that schedule, on 2026-01-01T00:00:00Z, a Thursday. */
export async function world(script: readonly ScriptedStep[] = []) {
  const clock = fakeClock(Date.UTC(2026, 0, 1));
  const model = scriptedModel(script);
  const agent = (id: string, uses_tools: readonly string[], delegates_to: readonly string[]) => [
    `agents/${id}/manifest.yaml`,
    JSON.stringify({ id, agent: { instructions: `I AM ${id}.`, uses_tools, delegates_to } }),
  ];
  const files = Object.fromEntries([
    agent('boss', ['scheduler', 'kv'], ['clerk']),
    agent('clerk', ['kv'], []),
    agent('other', ['scheduler'], []),
    ['pith.yaml', 'default_agent: boss\napprovals: { tools: [kv/kv_delete] }\n'],
  ]) as Record<string, string>;
  const pith = await kernelOf({ model, clock, files, only: ['scheduler', 'kv'] });
  const notices: TopicMap['notify'][] = [];
  const listen = () => pith.kernel.events.handle('notify', (notice) => void notices.push(notice));
  listen();
  const { store } = pith.kernel.jobs;
  const jobs = async () => (await store.list({ names: ['scheduler.run'], limit: 99 })).map(({ name, state }) => `${name} ${state}`);
  const call = (name: string, input: JsonValue) => pith.kernel.agents.callTool('boss', name, input);
  /** Time passes until people have been told so many things. */
  const told = (times: number) => passing(clock, () => notices.length >= times, MINUTE / 6);
  return { pith, model, clock, notices, listen, store, jobs, call, told };
}

export const idOf = (made: ToolResult) => ((made as { readonly output: unknown }).output as { schedule_id: string }).schedule_id;

export async function listed(pith: TestKernel): Promise<readonly { readonly schedule_id: string; readonly next: string | null }[]> {
  const { output } = (await pith.kernel.agents.callTool('boss', 'list_schedules', {})) as unknown as {
    output: { schedules: { schedule_id: string; next: string | null }[] };
  };
  return output.schedules;
}

/** Schedules it as an agent does whose question a person answers with yes. */
export async function approved(pith: TestKernel, model: ScriptedModel, cron: string): Promise<void> {
  const input = { message: 'Count.', cron, time_zone: 'UTC' };
  model.add({ calls: [{ name: 'schedule_recurring', input }] }, { text: 'ok' });
  expect((await pith.run('every hour', { userId: 'local' })).reason).toBe('awaiting_approval');
  expect((await answered(pith, 'once')).reason).toBe('done');
}
