import { type Message, PithError, type ToolResult, type TurnSeal } from '../../contract/index.ts';
import type { CallRecord, StoredMessage, Threads, ThreadWriter, Unfinished } from './thread.ts';
import { threadOf } from './queue.ts';

/** Begins what was sealed. */
const MARK = 'pith:sealed:';
/** Id and name of the call that a sealed result answers. */
const SEALED = 'sealed';

/**
 * Threads of which some are sealed while a turn is in them: what is said and called there is kept as its seal makes it, and opened by it
 * again. A thread below one is sealed with it. Where nobody brings the seal, what is sealed stays so. Each member is written out: a new
 * one does not compile before somebody has said what a seal does with it.
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
  const openedMessages = async <T extends { readonly messages: readonly StoredMessage[] }>(threadId: string, found: T | null) => {
    const seal = sealOf(threadId);
    if (found === null || seal === null) return found;
    const open = async (stored: StoredMessage) => ({ ...stored, message: await openedText(seal, textOf(stored.message), stored.message) });
    return { ...found, messages: await Promise.all(found.messages.map(open)) };
  };
  const openedCalls = async (threadId: string, found: Unfinished | null): Promise<Unfinished | null> => {
    const seal = sealOf(threadId);
    return found === null || seal === null
      ? found
      : { ...found, calls: await Promise.all(found.calls.map((call) => openedCall(seal, call))) };
  };
  return {
    sealWith(threadId, seal) {
      seals.set(threadId, seal);
      return () => {
        if (seals.get(threadId) === seal) seals.delete(threadId);
      };
    },
    find: (threadId) => threads.find(threadId),
    load: async (threadId) => openedMessages(threadId, await threads.load(threadId)),
    inspect: async (threadId) => openedMessages(threadId, await threads.inspect(threadId)),
    unfinished: async (threadId) => openedCalls(threadId, await threads.unfinished(threadId)),
    keyed: async (threadId, key) => openedCalls(threadId, await threads.keyed(threadId, key)),
    list: (limit) => threads.list(limit),
    last: (threadId) => threads.last(threadId),
    usage: (...asked) => threads.usage(...asked),
    delegated: (...asked) => threads.delegated(...asked),
    trace: (named, most) => threads.trace(named, most),
    writer(fence) {
      const writer = threads.writer(fence);
      const seal = sealOf(threadOf(fence));
      return seal === null ? unsealedWriter(writer, threads) : sealedWriter(writer, seal);
    },
  };
}

/** Throws `not_allowed` for messages that are sealed here: no model is sent them, and nobody writes others in their place. */
export function refuseSealed(messages: readonly Pick<StoredMessage, 'message'>[]): void {
  if (!messages.some(({ message }) => isSealed(message))) return;
  throw new PithError('not_allowed', 'the conversation is sealed, and nobody who goes on with it here can open it', {
    cure: 'leave it to the extension that sealed it, which has the key',
  });
}

/** Who has no seal replaces nothing that is sealed. */
function unsealedWriter(writer: ThreadWriter, threads: Pick<Threads, 'inspect'>): ThreadWriter {
  const checkUnsealed = async (threadId: string) => refuseSealed((await threads.inspect(threadId))?.messages ?? []);
  return {
    ...writer,
    beginTurn: (begun) => writer.beginTurn({ ...begun, messages: begun.messages.map(unlikeSealed) }),
    recordStep: (turnId, step) => writer.recordStep(turnId, { ...step, message: unlikeSealed(step.message) }),
    recordResults: (turnId, message, retain) => writer.recordResults(turnId, unlikeSealed(message), retain),
    async compact(threadId, throughSeq, replacement) {
      await checkUnsealed(threadId);
      await writer.compact(threadId, throughSeq, replacement);
    },
    async branch(branch) {
      await checkUnsealed(branch.of);
      await writer.branch(branch);
    },
    async rewrite(threadId, messages) {
      await checkUnsealed(threadId);
      await writer.rewrite(threadId, messages);
    },
  };
}

function sealedWriter(writer: ThreadWriter, seal: TurnSeal): ThreadWriter {
  const sealed = <T extends { readonly message: Message }>(parts: readonly T[]) =>
    Promise.all(parts.map(async (part) => ({ ...part, message: await sealedMessage(seal, part.message) })));
  return {
    async beginTurn({ said: _said, ...begun }) {
      const messages = await Promise.all(begun.messages.map((message) => sealedMessage(seal, message)));
      await writer.beginTurn({ ...begun, messages, thread: { ...begun.thread, title: begun.thread.agentId } });
    },
    async recordStep(turnId, step) {
      const calls = await Promise.all(
        step.calls.map(async (call) => ({
          ...call,
          input: await sealedText(seal, call.input),
          result: call.result && (await sealedResult(seal, call.result)),
        })),
      );
      await writer.recordStep(turnId, { ...step, calls, message: await sealedMessage(seal, step.message) });
    },
    setCall: (call, state) => writer.setCall(call, state),
    finishCall: async (call, result, began) => writer.finishCall(call, await sealedResult(seal, result), began),
    recordResults: async (turnId, message, retain) => writer.recordResults(turnId, await sealedMessage(seal, message), retain),
    setState: (turnId, state, usage) => writer.setState(turnId, state, usage),
    compact: async (threadId, throughSeq, replacement) => writer.compact(threadId, throughSeq, await sealed(replacement)),
    rewrite: async (threadId, messages) => writer.rewrite(threadId, await sealed(messages)),
    rename: (threadId, title) => writer.rename(threadId, title),
    branch: () => Promise.reject(new PithError('not_allowed', 'a conversation that is sealed has no branches')),
    remove: (threadId) => writer.remove(threadId),
  };
}

/** A text in the place of what is sealed, so that every reader finds a message of the same role. */
async function sealedMessage(seal: TurnSeal, message: Message): Promise<Message> {
  const text = await sealedText(seal, message);
  if (message.role === 'system') return { role: 'system', content: text };
  if (message.role !== 'tool') return { role: message.role, content: [{ type: 'text', text }] };
  return {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: SEALED, toolName: SEALED, output: { type: 'text', value: text } }],
  };
}

/** Whether it has what is sealed in its place: nothing else is in such a message, not even who made it. */
export function isSealed(message: Message): boolean {
  return textOf(message)?.startsWith(MARK) ?? false;
}

/** Whoever says, or has a tool answer, what begins as something sealed does not end the conversation by it. */
function unlikeSealed(message: Message): Message {
  if (!isSealed(message)) return message;
  const text = ` ${textOf(message)}`;
  if (message.role === 'tool') {
    const content = message.content.map((part) =>
      part.type === 'tool-result' ? { ...part, output: { type: 'text' as const, value: text } } : part,
    );
    return { ...message, content };
  }
  return message.role === 'system' ? { ...message, content: text } : { ...message, content: [{ type: 'text', text }] };
}

/** The only text of a message that has nothing beside it. */
function textOf({ content, providerOptions }: Message): string | null {
  const [part, ...others] = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  if (part === undefined || others.length > 0 || providerOptions !== undefined) return null;
  if (part.type === 'text') return part.text;
  return part.type === 'tool-result' && part.toolCallId === SEALED && part.output.type === 'text' ? part.output.value : null;
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

async function sealedText(seal: TurnSeal, value: unknown): Promise<string> {
  return `${MARK}${await seal.seal(JSON.stringify(value ?? null))}`;
}

async function openedText<T>(seal: TurnSeal, text: unknown, otherwise: T): Promise<T> {
  return typeof text === 'string' && text.startsWith(MARK) ? (JSON.parse(await seal.open(text.slice(MARK.length))) as T) : otherwise;
}
