import { PithError, type JsonValue, type ToolResult, type TurnEvent, type TurnRequest } from '../contract/index.ts';
import { compactByHand } from './compact-by-hand.ts';
import { callToolAs, toolsOf } from './direct-call.ts';
import { createNoticer } from './noticer.ts';
import { createPipe } from './pipe.ts';
import { plainFailure } from './plain-failure.ts';
import { preview, type PreviewRequest, type PromptPreview } from './preview.ts';
import { runTurn } from './run-turn.ts';
import type { OfferedTool } from './tools.ts';
import type { TurnDependencies } from './turn-types.ts';

export type { PreviewRequest, PromptPreview } from './preview.ts';
export type { OfferedTool } from './tools.ts';
export type { TurnDependencies } from './turn-types.ts';

export interface Turns {
  /** What the model would be sent, offline. Rejects as `AgentRegistry.resolve` does. */
  preview(request: PreviewRequest, signal?: AbortSignal): Promise<PromptPreview>;
  toolsOf(agentId: string): Promise<readonly OfferedTool[]>;
  /** One tool as that agent would call it, through the gate. */
  callTool(agentId: string, name: string, input: JsonValue, signal?: AbortSignal): Promise<ToolResult>;
  /** Compacts a thread on request. Rejects `thread_unknown`. */
  compact(threadId: string, signal?: AbortSignal): Promise<{ readonly tokensBefore: number; readonly tokensAfter: number }>;
  /** Never throws; the last event is always `turn-end`. Who stops reading ends the turn. */
  run(request: TurnRequest, signal?: AbortSignal): AsyncIterable<TurnEvent>;
}

/** The one way to run an agent. */
export function createTurns(deps: TurnDependencies): Turns {
  const noticer = createNoticer();

  async function* run(request: TurnRequest, signal?: AbortSignal): AsyncGenerator<TurnEvent, void, undefined> {
    const pipe = createPipe<TurnEvent>();
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal?.reason);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    const work = deps.queue
      .run(request.threadId, (lost) => runTurn(deps, noticer, request, pipe, stop, lost), stop.signal)
      .catch((error: unknown) => pipe.push(neverBegan(error, stop.signal)))
      .finally(() => pipe.end());
    try {
      yield* pipe;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      stop.abort(new PithError('aborted', 'nobody reads this turn any more'));
      await work;
    }
  }

  return {
    run,
    preview: (request, signal) => preview(deps, request, signal),
    toolsOf: (agentId) => toolsOf(deps, agentId),
    callTool: (agentId, name, input, signal) => callToolAs(deps, agentId, name, input, signal),
    compact: (threadId, signal) => compactByHand(deps, threadId, signal),
  };
}

/** The turn could not even begin, for instance because it was aborted while it waited for its place. */
function neverBegan(error: unknown, signal: AbortSignal): TurnEvent {
  const usage = { inputTokens: 0, outputTokens: 0 };
  if (signal.aborted) return { type: 'turn-end', reason: 'aborted', text: '', usage };
  return { type: 'turn-end', reason: 'error', text: '', usage, error: plainFailure(error) };
}
