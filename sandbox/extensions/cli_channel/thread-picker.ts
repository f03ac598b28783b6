import { PithError, type Command, type CommandIO } from 'pith';
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
export async function pickThread(commands: readonly Command[], io: CommandIO, signal: AbortSignal): Promise<string | null> {
  const threads = (await listedThreads(commands, signal)).slice(0, SHOWN);
  if (threads.length === 0) throw noThreads('resume');
  const room = Math.max(20, io.columns - 24);
  for (const [place, { title, updatedAt }] of threads.entries())
    io.print(`${String(place + 1).padStart(3)}  ${timeOf(updatedAt)}  ${printableLine(title, room)}`);
  for (;;) {
    const answer = (await io.ask(`Go on with which one? [1-${threads.length}, Enter leaves]`))?.trim() ?? '';
    if (answer === '') return null;
    const chosen = threads[Number(answer) - 1];
    if (chosen !== undefined) return chosen.id;
    io.print(`Type a number from 1 to ${threads.length}.`);
  }
}

/** Local, to the minute. */
function timeOf(at: number): string {
  const date = new Date(at);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
