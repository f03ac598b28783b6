import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';
import { printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { agreed } from './text.ts';
import { checkKnown, loadThread, personsMessages } from './threads.ts';

const LONGEST_TITLE = 200;

export async function renameThread(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<void> {
  const id = String(input.arguments['id']);
  const title = printableLine([input.arguments['title'] ?? []].flat().join(' ').trim(), LONGEST_TITLE);
  if (title === '') throw new PithError('usage', 'the title is empty', { cure: `write: pith threads rename ${id} "the new title"` });
  await checkKnown(kernel, id, io);
  await kernel.agents.renameThread(id, title, signal);
  io.json({ thread: id, title });
  if (!io.quiet) io.print(`Renamed ${id}: ${title}`);
}

/** Ends the turn that runs there, in whichever process. Exit code 1 where it has not ended yet. */
export async function stopThread(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const id = String(input.arguments['id']);
  await checkKnown(kernel, id, io);
  const state = (await kernel.conversations?.stop(id, io.userId, signal)) ?? 'idle';
  io.json({ thread: id, state });
  const said = { stopped: `Stopped ${id}`, stopping: `Asked ${id} to stop; a tool has not ended yet`, idle: `Nothing runs in ${id}` };
  if (!io.quiet) io.print(said[state]);
  return state === 'stopping' ? 1 : 0;
}

/** Prints how to go on in the branch; as JSON also the text of the message that it ends before. */
export async function branchThread(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<void> {
  const id = String(input.arguments['id']);
  const title = printableLine([input.arguments['title'] ?? []].flat().join(' ').trim(), LONGEST_TITLE);
  const { messages } = await loadThread(kernel, id, io);
  const said = personsMessages(messages);
  const { at, before: wanted } = input.options;
  const place = wanted === undefined ? Number(at) - 1 : said.findIndex(({ seq }) => seq === wanted);
  const message = at === undefined && wanted === undefined ? null : said[place];
  if (message === undefined)
    throw new PithError(
      wanted === undefined ? 'usage' : 'message_unknown',
      `the conversation '${id}' has no message ${String(wanted ?? at)} of yours`,
      {
        cure: said.length === 0 ? 'leave --at out' : `write a number from 1 to ${said.length}; see: pith threads show ${id}`,
      },
    );
  const before = message?.seq ?? null;
  const thread = await kernel.agents.branchThread(id, title === '' ? { before } : { before, title }, signal);
  io.json({ thread, from: id, ...(message === null ? {} : { at: place + 1, text: message.text }) });
  if (!io.quiet)
    io.print(
      `Made ${thread}${message === null ? '' : ` of what was before message ${place + 1}`}; go on with: pith chat --thread ${thread}`,
    );
}

/** Asks on a terminal. Exit code 1 where the person says no. */
export async function deleteThread(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const id = String(input.arguments['id']);
  if (id === io.session?.threadId)
    throw new PithError('usage', 'this conversation cannot be deleted while you are in it', { cure: 'begin another with /new first' });
  const { thread, messages } = await loadThread(kernel, id, io);
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
