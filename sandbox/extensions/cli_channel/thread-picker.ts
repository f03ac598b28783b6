import { PithError, type Clock, type Command, type CommandIO } from 'pith';
import { localTime } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import { fields, list, query, text } from './query.ts';

/** A conversation of a person. */
interface ListedThread {
  readonly id: string;
  readonly title: string;
  readonly updatedAt: number;
}

const SHOWN = 10;

/** Threads of people, newest first: those in which agents work for each other or on tasks have a slash in their ids. */
export async function listedThreads(commands: readonly Command[], signal: AbortSignal): Promise<readonly ListedThread[]> {
  return list(await query(commands, ['threads', 'list', '--limit', '100'], signal))
    .map(fields)
    .flatMap((thread) => {
      const id = text(thread['id']);
      if (id === undefined || id.includes('/')) return [];
      return [{ id, title: text(thread['title']) ?? '', updatedAt: Number(thread['updatedAt'] ?? 0) }];
    });
}

/** The newest conversation. Throws `thread_unknown` where there is none; `what`: what cannot be done then. */
export async function latestThread(commands: readonly Command[], what: string, signal: AbortSignal): Promise<string> {
  const [newest] = await listedThreads(commands, signal);
  if (newest === undefined) throw noThreads(what);
  return newest.id;
}

function noThreads(what: string): PithError {
  return new PithError('thread_unknown', `nothing to ${what}: there is no conversation yet`, { cure: 'begin one with pith chat' });
}

/** Lets a person choose a conversation from a list; null when they choose none. Throws `thread_unknown` where there is none. */
export async function pickThread(
  commands: readonly Command[],
  { io, clock }: { readonly io: CommandIO; readonly clock: Pick<Clock, 'now'> },
  signal: AbortSignal,
): Promise<string | null> {
  const threads = (await listedThreads(commands, signal)).slice(0, SHOWN);
  if (threads.length === 0) throw noThreads('resume');
  const times = threads.map(({ updatedAt }) => localTime(updatedAt, clock.now()));
  const width = Math.max(...times.map((time) => time.length));
  const room = Math.max(20, io.columns - width - 8);
  for (const [place, { title }] of threads.entries())
    io.print(`${String(place + 1).padStart(3)}  ${times[place]?.padEnd(width)}  ${printableLine(title, room)}`);
  for (;;) {
    const answer = (await io.ask(`Go on with which one? [1-${threads.length}, Enter leaves]`))?.trim() ?? '';
    if (answer === '') return null;
    const chosen = threads[Number(answer) - 1];
    if (chosen !== undefined) return chosen.id;
    io.print(`Type a number from 1 to ${threads.length}.`);
  }
}
