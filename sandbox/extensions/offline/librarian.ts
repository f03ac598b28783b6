import { setImmediate } from 'node:timers/promises';
import type { LanguageModel, ModelCallOptions, ModelPart } from 'pith';
import { sha256 } from '@pith/plain-data';
import { readConversation } from './conversation.ts';
import type { Hints } from './answer.ts';
import { decide, type Decision } from './decide.ts';

export const LIBRARIAN = 'librarian';

/** A model without network and weights: finds a skill, reads it, quotes it. The same request always gets the same answer. */
export function librarian(hints: Hints): LanguageModel {
  return {
    specificationVersion: 'v3',
    provider: 'offline',
    modelId: LIBRARIAN,
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      const conversation = readConversation(options.prompt, options.tools ?? []);
      return { stream: partsOf(decide(conversation, hints), options) };
    },
  };
}

const NO_TOKENS = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

async function* partsOf(decision: Decision, options: ModelCallOptions): AsyncGenerator<ModelPart> {
  yield { type: 'stream-start', warnings: [] };
  if (decision.kind === 'call') {
    yield { type: 'tool-call', toolCallId: callId(options), toolName: decision.tool, input: JSON.stringify(decision.input) };
    yield { type: 'finish', usage: NO_TOKENS, finishReason: { unified: 'tool-calls', raw: undefined } };
    return;
  }
  yield { type: 'text-start', id: 'answer' };
  for (const delta of decision.text.match(/\S+\s*|\s+/g) ?? []) {
    await setImmediate(); // lets an abort and other chats run between two words
    options.abortSignal?.throwIfAborted();
    yield { type: 'text-delta', id: 'answer', delta };
  }
  yield { type: 'text-end', id: 'answer' };
  yield { type: 'finish', usage: NO_TOKENS, finishReason: { unified: 'stop', raw: undefined } };
}

/** Differs between all calls of a thread, also after old messages were replaced by a summary. */
function callId(options: ModelCallOptions): string {
  return `librarian-${sha256(JSON.stringify(options.prompt)).slice(0, 16)}`;
}
