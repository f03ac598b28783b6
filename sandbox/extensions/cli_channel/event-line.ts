import type { JsonValue, TurnEvent } from 'pith';

/** An event as `chat --json` prints it; null for those that are not part of that format. */
export function eventLine(event: TurnEvent): JsonValue {
  switch (event.type) {
    case 'turn-start':
      return { type: event.type, agent: event.agent, thread: event.thread, model: event.model };
    case 'text-delta':
      return { type: event.type, text: event.text };
    case 'tool-call':
      return { type: event.type, id: event.id, name: event.name, input: event.input };
    case 'tool-result': {
      const { type, id, name, ok, at, output, error, title, metadata } = event;
      return {
        type,
        id,
        name,
        ok,
        at,
        ...(ok ? { output: output ?? null } : { error: error ? { code: error.code, message: error.message } : undefined }),
        title,
        metadata,
      };
    }
    case 'approval-request': {
      const { type, id, tool, input, digest, agents, thread } = event;
      return { type, id, tool, input, digest, agents, thread };
    }
    case 'turn-end': {
      const { type, reason, text, usage, error } = event;
      const { inputTokens, outputTokens } = usage;
      return {
        type,
        reason,
        text,
        usage: { inputTokens, outputTokens },
        error: error ? { code: error.code, message: error.message } : undefined,
      };
    }
    case 'notice':
    case 'document':
    case 'step-end':
      return null;
  }
}
