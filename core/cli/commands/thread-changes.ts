import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';
import { printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { agreed } from './text.ts';
import { loadThread } from './threads.ts';

const LONGEST_TITLE = 200;

export async function renameThread(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<void> {
  const id = String(input.arguments['id']);
  const title = printableLine([input.arguments['title'] ?? []].flat().join(' ').trim(), LONGEST_TITLE);
  if (title === '') throw new PithError('usage', 'the title is empty', { cure: `write: pith threads rename ${id} "the new title"` });
  await loadThread(kernel, id);
  await kernel.agents.renameThread(id, title, signal);
  io.json({ thread: id, title });
  if (!io.quiet) io.print(`Renamed ${id}: ${title}`);
}

/** Asks on a terminal. Exit code 1 where the person says no. */
export async function deleteThread(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const id = String(input.arguments['id']);
  if (id === io.session?.threadId)
    throw new PithError('usage', 'this conversation cannot be deleted while you are in it', { cure: 'begin another with /new first' });
  const { thread, messages } = await loadThread(kernel, id);
  const question = `Delete '${printableLine(thread.title, 60)}' (${messages.length} messages)? It cannot be undone.`;
  if (!(await agreed(question, `write: pith threads delete ${id} --yes`, input, io))) {
    io.print('Nothing was deleted');
    return 1;
  }
  await kernel.agents.deleteThread(id, signal);
  io.json({ thread: id, deleted: true });
  if (!io.quiet) io.print(`Deleted ${id}`);
  return 0;
}
