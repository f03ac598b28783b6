/** A run with tools and questions, which a process begins and another one ends. Effects are lines of a file. */
import { appendFileSync } from 'node:fs';
import type { EmbeddedModel, EmbeddedTool, PithOptions, ThreadLog } from 'pith/embed';
import { fileLog } from '../../fixtures/thread-logs.ts';

/** Called wherever the process may be killed. */
export type Point = () => void;

export const THREAD = 'user/42';
export const END = 'all is paid';
/** Those of each step. */
const STEPS = [['look-1', 'pay-1', 'look-2'], ['ask-2', 'pay-3'], ['look-3', 'ask-4', 'ask-5'], ['pay-6']] as const;
export const PAID = STEPS.flat().filter((call) => !call.startsWith('look'));

/** `log:folder` or `folder`. */
export function storeOf(named: string, point: Point): string | ThreadLog {
  if (!named.startsWith('log:')) return named;
  const log = fileLog(named.slice(4));
  return {
    ...log,
    async append(...given) {
      point();
      const added = await log.append(...given);
      point();
      return added;
    },
  };
}

export function optionsOf(effects: string, point: Point): Pick<PithOptions, 'model' | 'tools'> {
  const tool = (name: string, given: { readonly effect?: 'read'; readonly needsApproval?: true }): EmbeddedTool => ({
    inputSchema: { type: 'object', properties: { call: { type: 'string' } }, required: ['call'] },
    ...given,
    async execute({ call }: { readonly call: string }) {
      point();
      appendFileSync(effects, `${call}\n`);
      point();
      await new Promise(setImmediate);
      return `${name} ${call}`;
    },
  });
  return {
    tools: { look: tool('look', { effect: 'read' }), pay: tool('pay', {}), ask: tool('ask', { needsApproval: true }) },
    model: modelOf(point),
  };
}

/** Its next step is that which the conversation has not had. */
function modelOf(point: Point): EmbeddedModel {
  return {
    specificationVersion: 'v3',
    provider: 'own',
    modelId: 'own',
    async doStream({ prompt }: { readonly prompt: readonly { readonly role: string }[] }) {
      point();
      const step = STEPS[prompt.filter(({ role }) => role === 'assistant').length];
      return { stream: partsOf(step) };
    },
  } as EmbeddedModel;
}

async function* partsOf(calls: readonly string[] | undefined) {
  yield { type: 'stream-start', warnings: [] };
  for (const call of calls ?? [])
    yield { type: 'tool-call', toolCallId: call, toolName: call.slice(0, call.indexOf('-')), input: JSON.stringify({ call }) };
  if (calls === undefined) {
    yield { type: 'text-start', id: '1' };
    yield { type: 'text-delta', id: '1', delta: END };
    yield { type: 'text-end', id: '1' };
  }
  yield {
    type: 'finish',
    finishReason: { unified: calls === undefined ? 'stop' : 'tool-calls' },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  };
}
