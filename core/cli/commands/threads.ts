import { type CommandInput, type CommandIO, type Message, PithError } from '../../contract/index.ts';
import { countOption } from '@pith/command-line';
import { didYouMean, numberText, printable } from '@pith/plain-text';
import { isSummary, ownText, sentHistory, type StoredMessage, textOfAnswer } from '../../agent/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { costOf } from '../../models/index.ts';
import { colours, printTable, timeOf, whoColumn } from './text.ts';

export async function listThreads(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const limit = countOption(input, 'limit');
  const threads = input.options['all'] === true ? await kernel.threads.list(limit) : await conversations(kernel, limit);
  io.json(threads.map((thread) => ({ ...thread })));
  printTable(
    io,
    threads,
    [
      { title: 'THREAD', value: ({ id }) => (id === io.session?.threadId ? `${id} *` : id) },
      whoColumn(io, threads),
      { title: 'AGENT', value: ({ agentId }) => agentId },
      { title: 'BRANCH OF', value: ({ branchOf }) => branchOf ?? '' },
      { title: 'LAST', value: ({ updatedAt }) => timeOf(updatedAt) },
      { title: 'BEGINS', value: ({ title }) => title },
    ],
    'No conversations yet; start one with: pith chat',
  );
}

export async function showThread(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const id = String(input.arguments['id']);
  const { thread, messages } = await loadThread(kernel, id, io);
  const last = countOption(input, 'last');
  const numbers = new Map(personsMessages(messages).map(({ seq }, at) => [seq, at + 1]));
  const open = (await kernel.threads.unfinished(id))?.turn;
  const isRunning = open?.state === 'running';
  const isHeld = isRunning && (await kernel.conversations?.find(id))?.state === 'running';
  const unfinished = !isRunning ? {} : isHeld ? { running: answeredElsewhere(id) } : { unfinished: cutOff(id) };
  const known = new Set(sentHistory(messages, isRunning ? open.id : undefined).map(({ seq }) => seq)); // what goes on has its message
  const shown = messages
    .map(({ seq, message }) => {
      const number = numbers.get(seq);
      const beside = { ...(known.has(seq) ? {} : { unanswered: true }), ...(number === undefined ? {} : { number }) };
      return { role: message.role, text: textOf(message), ...beside };
    })
    .filter(({ text }) => text !== '')
    .slice(-last);
  const { model, effort } = (await kernel.threads.last(id))?.policy ?? {};
  io.json({
    ...thread,
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...unfinished,
    messages: shown,
    usage: await usageOf(kernel, id),
  });
  const colour = colours(io);
  for (const { role, text, unanswered, number } of shown) {
    io.print(`${colour.dim(`${role}${number === undefined ? '' : ` ${number}`}:`)} ${printable(text)}`);
    if (unanswered === true) io.print(colour.dim('(no answer: the model does not have this message)'));
  }
  for (const text of Object.values(unfinished)) io.print(colour.dim(text));
}

/** What its turns keep of it: no message is read. */
export async function showUsage(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const id = String(input.arguments['id']);
  await checkKnown(kernel, id, io);
  const { model = null, effort = null } = (await kernel.threads.last(id))?.policy ?? {};
  const used = await usageOf(kernel, id);
  io.json({ thread: id, model, effort, used });
  printTable(
    io,
    used,
    [
      { title: 'MODEL', value: (each) => each.model ?? 'not known' },
      { title: 'READ', value: ({ inputTokens }) => numberText(inputTokens) },
      { title: 'WRITTEN', value: ({ outputTokens }) => numberText(outputTokens) },
      { title: 'COST', value: ({ cost }) => (cost === undefined ? '' : `$${cost.toFixed(4)}`) },
    ],
    'No tokens were used yet',
  );
}

/** By the model that answered. `cost`: dollars; absent where nothing says what the model costs. */
async function usageOf(kernel: Kernel, id: string) {
  const used = await kernel.threads.usage(id);
  return used.map(({ model, inputTokens, outputTokens, ...more }) => {
    const cost = model === null ? null : costOf({ inputTokens, outputTokens, ...more }, kernel.router.price(model));
    return { model, inputTokens, outputTokens, ...more, ...(cost === null ? {} : { cost }) };
  });
}

export async function compactThread(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<void> {
  const id = input.arguments['id'] ?? io.session?.threadId;
  if (typeof id !== 'string') throw new PithError('usage', 'compact needs a thread', { cure: 'write: pith threads compact <id>' });
  await checkKnown(kernel, id, io);
  const { tokensBefore, tokensAfter } = await kernel.agents.compact(id, signal);
  io.json({ thread: id, tokensBefore, tokensAfter });
  io.print(
    tokensAfter < tokensBefore
      ? `Compacted ${id}: ${tokensBefore} → ${tokensAfter} tokens`
      : `Nothing to compact in ${id} (${tokensBefore} tokens)`,
  );
}

/** Conversations with people. Threads of calls, tasks and schedules have a slash in their ids. */
async function conversations(kernel: Kernel, limit: number) {
  for (let asked = limit * 4; ; asked *= 4) {
    const found = await kernel.threads.list(asked);
    const own = found.filter(({ id }) => !id.includes('/'));
    if (own.length >= limit || found.length < asked) return own.slice(0, limit);
  }
}

/** Rejects `thread_unknown` with the nearest names. */
export async function loadThread(kernel: Kernel, id: string, io: CommandIO) {
  const found = await kernel.threads.load(id);
  if (found) return found;
  throw await noThread(kernel, id, io);
}

/** The same without reading its messages, which may be damaged. */
export async function checkKnown(kernel: Kernel, id: string, io: CommandIO): Promise<void> {
  if ((await kernel.threads.find(id)) === null) throw await noThread(kernel, id, io);
}

async function noThread(kernel: Kernel, id: string, { session }: CommandIO): Promise<PithError> {
  if (id === session?.threadId) return new PithError('thread_unknown', 'nothing was said here yet', { cure: 'send a message first' });
  const known = (await kernel.threads.list(100)).map((thread) => thread.id);
  return new PithError('thread_unknown', `no thread '${id}': nothing was said in it yet${didYouMean(id, known)}`, {
    cure: 'see: pith threads list',
  });
}

/** What the person or the agent wrote, without attached context. */
function textOf(message: Message): string {
  return (message.role === 'user' ? ownText(message) : textOfAnswer(message)).trim();
}

/** What the person wrote, as far as it is kept: the first is message 1. */
export function personsMessages(messages: readonly StoredMessage[]): readonly { readonly seq: number; readonly text: string }[] {
  return messages
    .filter(({ message }) => message.role === 'user' && !isSummary(message))
    .map(({ seq, message }) => ({ seq, text: textOf(message) }))
    .filter(({ text }) => text !== '');
}

function answeredElsewhere(thread: string): string {
  return `another process answers in this conversation now; to end that: pith threads stop ${thread}`;
}

/** How to continue after a turn that did not end. */
export function cutOff(thread: string): string {
  return `the last turn did not end; finish it with: pith chat --thread ${thread} --resume`;
}
