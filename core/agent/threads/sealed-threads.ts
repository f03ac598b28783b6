import type { JsonValue, Message, ToolResult, TurnSeal } from '../../contract/index.ts';
import type { CallRecord, StoredMessage, Threads, ThreadWriter, Unfinished } from './thread.ts';
import { threadOf } from './queue.ts';

/** Begins what was sealed. */
const MARK = 'pith:sealed:';

/**
 * Threads of which some are sealed while a turn is in them: what is said and called there is kept as its seal makes it, and opened by it
 * again. A thread below one is sealed with it. Where nobody brings the seal, what is sealed stays so.
 */
export function sealedThreads(threads: Threads): Threads {
  const seals = new Map<string, TurnSeal>();
  const sealOf = (threadId: string): TurnSeal | null => {
    for (let id = threadId; seals.size > 0; id = id.slice(0, id.lastIndexOf('/'))) {
      const found = seals.get(id);
      if (found !== undefined) return found;
      if (!id.includes('/')) break;
    }
    return null;
  };
  const opened = async (threadId: string, found: Unfinished | null): Promise<Unfinished | null> => {
    const seal = sealOf(threadId);
    return found === null || seal === null
      ? found
      : { ...found, calls: await Promise.all(found.calls.map((call) => openedCall(seal, call))) };
  };
  return {
    ...threads,
    sealWith(threadId, seal) {
      seals.set(threadId, seal);
      return () => {
        if (seals.get(threadId) === seal) seals.delete(threadId);
      };
    },
    async load(threadId) {
      const found = await threads.load(threadId);
      const seal = sealOf(threadId);
      if (found === null || seal === null) return found;
      const open = async (stored: StoredMessage) => ({ ...stored, message: await openedMessage(seal, stored.message) });
      return { ...found, messages: await Promise.all(found.messages.map(open)) };
    },
    unfinished: async (threadId) => opened(threadId, await threads.unfinished(threadId)),
    keyed: async (threadId, key) => opened(threadId, await threads.keyed(threadId, key)),
    writer(fence) {
      const writer = threads.writer(fence);
      const seal = sealOf(threadOf(fence));
      return seal === null ? writer : sealedWriter(writer, seal);
    },
  };
}

function sealedWriter(writer: ThreadWriter, seal: TurnSeal): ThreadWriter {
  return {
    ...writer,
    async beginTurn({ said: _said, ...begun }) {
      const messages = await Promise.all(begun.messages.map((message) => sealedMessage(seal, message)));
      await writer.beginTurn({ ...begun, messages, thread: { ...begun.thread, title: begun.thread.agentId } });
    },
    async recordStep(turnId, step) {
      const calls = await Promise.all(
        step.calls.map(async (call) => ({
          ...call,
          input: await sealedValue(seal, call.input),
          result: call.result && (await sealedResult(seal, call.result)),
        })),
      );
      await writer.recordStep(turnId, { ...step, calls, message: await sealedMessage(seal, step.message) });
    },
    finishCall: async (call, result) => writer.finishCall(call, await sealedResult(seal, result)),
    recordResults: async (turnId, message, retain) => writer.recordResults(turnId, await sealedMessage(seal, message), retain),
    async compact(threadId, throughSeq, replacement) {
      const sealed = await Promise.all(replacement.map(async (part) => ({ ...part, message: await sealedMessage(seal, part.message) })));
      await writer.compact(threadId, throughSeq, sealed);
    },
  };
}

/** A text in the place of what is sealed, so that every reader finds a message of the same role. */
async function sealedMessage(seal: TurnSeal, message: Message): Promise<Message> {
  const text = await sealedText(seal, message);
  if (message.role === 'system') return { role: 'system', content: text };
  if (message.role !== 'tool') return { role: message.role, content: [{ type: 'text', text }] };
  return {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'sealed', toolName: 'sealed', output: { type: 'text', value: text } }],
  };
}

async function openedMessage(seal: TurnSeal, message: Message): Promise<Message> {
  const { content } = message;
  const [part] = typeof content === 'string' ? [content] : content;
  if (typeof part === 'string') return openedText(seal, part, message);
  if (part?.type === 'text') return openedText(seal, part.text, message);
  return part?.type === 'tool-result' && part.output.type === 'text' ? openedText(seal, part.output.value, message) : message;
}

async function openedCall(seal: TurnSeal, call: CallRecord): Promise<CallRecord> {
  const { input, result } = call;
  return {
    ...call,
    input: await openedText(seal, input, input),
    result: result?.ok === true ? await openedText<ToolResult>(seal, result.output, result) : result,
  };
}

/** Of what was not whole when it failed nothing is told outside of the seal either. */
async function sealedResult(seal: TurnSeal, result: ToolResult): Promise<ToolResult> {
  return { ok: true, output: await sealedText(seal, result) };
}

async function sealedValue(seal: TurnSeal, value: JsonValue): Promise<JsonValue> {
  return sealedText(seal, value);
}

async function sealedText(seal: TurnSeal, value: unknown): Promise<string> {
  return `${MARK}${await seal.seal(JSON.stringify(value ?? null))}`;
}

async function openedText<T>(seal: TurnSeal, text: unknown, otherwise: T): Promise<T> {
  return typeof text === 'string' && text.startsWith(MARK) ? (JSON.parse(await seal.open(text.slice(MARK.length))) as T) : otherwise;
}
