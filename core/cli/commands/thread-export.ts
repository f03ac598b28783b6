import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type CommandInput, type CommandIO, type JsonValue, type Message, messageOf, PithError } from '../../contract/index.ts';
import { printable, printableLine } from '@pith/plain-text';
import { systemCure } from '@pith/safe-files';
import { ownText } from '../../agent/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { loadThread } from './threads.ts';

type Loaded = Awaited<ReturnType<typeof loadThread>>;

/** Writes to the output, or to a file that only the user can read. */
export async function exportThread(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const loaded = await loadThread(kernel, String(input.arguments['id']), io);
  const { output } = input.options;
  if (typeof output !== 'string') {
    io.json(jsonOf(loaded));
    io.print(markdownOf(loaded));
    return;
  }
  const file = path.resolve(io.workingDirectory, output);
  const text = io.wantsJson || file.endsWith('.json') ? `${JSON.stringify(jsonOf(loaded), null, 2)}\n` : markdownOf(loaded);
  await writeFile(file, text, { mode: 0o600 }).catch((error: unknown) => {
    throw new PithError('not_allowed', `the file cannot be written: ${messageOf(error)}`, {
      cause: error,
      cure: `${systemCure(error, file) ?? 'look at the file'}, or name another file with -o`,
    });
  });
  io.json({ thread: loaded.thread.id, file });
  if (!io.quiet) io.print(`Wrote ${printableLine(file)}`);
}

/** The thread, and its messages in the form that models get. */
function jsonOf({ thread, messages }: Loaded): JsonValue {
  return JSON.parse(JSON.stringify({ ...thread, messages: messages.map(({ message }) => message) })) as JsonValue;
}

function markdownOf({ thread, messages }: Loaded): string {
  const head = [`# ${printableLine(thread.title)}`, `Conversation ${thread.id} with ${thread.agentId}, ${dayOf(thread.createdAt)}`];
  return `${[...head, ...messages.flatMap(({ message }) => sectionOf(message))].join('\n\n')}\n`;
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The message's text, and the tool calls with their arguments. Results and attached context are left out: JSON has them. */
function sectionOf(message: Message): readonly string[] {
  if (message.role === 'user') {
    const texts = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    const attached = texts.slice(0, -1).filter((text) => text.startsWith('<attachment '));
    return ['## User', printable(ownText(message)), ...attached.map(fenced)];
  }
  if (message.role !== 'assistant') return [];
  const parts = message.content.flatMap((part) => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [printable(part.text.trim())];
    return part.type === 'tool-call'
      ? [`- called \`${printableLine(part.toolName)}\`\n\n${fenced(JSON.stringify(part.input, null, 2))}`]
      : [];
  });
  return parts.length === 0 ? [] : ['## Assistant', ...parts];
}

/** In a fence that no line of the text closes. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${printable(text)}\n${fence}`;
}
