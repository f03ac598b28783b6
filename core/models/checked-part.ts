import { type ModelPart, PithError } from '../contract/index.ts';

/** What a model may send, whatever its type promises. */
interface Sent {
  readonly type?: unknown;
  readonly delta?: unknown;
  readonly toolCallId?: unknown;
  readonly toolName?: unknown;
  readonly input?: unknown;
}

/**
 * A part as the loop reads it: an input that is an object is taken as its JSON, an absent one or an absent delta as the empty text, and
 * impossible counts of tokens as unknown. Throws `model_failed` where a text, an id or a name is of another type.
 */
export function checkedPart(part: unknown): ModelPart {
  if (typeof part !== 'object' || part === null) throw wrong(`a part that is ${part === null ? 'null' : `a ${typeof part}`}`);
  const sent: Sent = part;
  switch (sent.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta': {
      const { delta = '' } = sent;
      if (typeof delta !== 'string') throw wrong(`a ${sent.type} whose delta is not a text`);
      return { ...sent, delta } as ModelPart;
    }
    case 'tool-call': {
      const { toolCallId, toolName, input = '' } = sent;
      if (typeof toolName !== 'string') throw wrong('a tool call without the name of a tool');
      if (typeof toolCallId !== 'string') throw wrong(`a call of '${toolName}' without an id`);
      return { ...sent, input: typeof input === 'string' ? input : JSON.stringify(input) } as ModelPart;
    }
    case 'finish':
      return counted(sent as Extract<ModelPart, { type: 'finish' }>);
    default:
      return part as ModelPart;
  }
}

function wrong(what: string): PithError {
  return new PithError('model_failed', `the model sent ${what}`, { cure: 'correct what gives its answers, or choose another model' });
}

/** No answer has more tokens: a larger count is wrong. */
const MOST_TOKENS = 1e9;

function counted(part: Extract<ModelPart, { type: 'finish' }>): ModelPart {
  const { inputTokens, outputTokens } = part.usage ?? {};
  if ([inputTokens?.total, outputTokens?.total].every((total) => total === undefined || isCount(total))) return part;
  const unknown = {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
    text: undefined,
    reasoning: undefined,
  };
  return { ...part, usage: { inputTokens: unknown, outputTokens: unknown } };
}

function isCount(total: number): boolean {
  return Number.isInteger(total) && total >= 0 && total <= MOST_TOKENS;
}
