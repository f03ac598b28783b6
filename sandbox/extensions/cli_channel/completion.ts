import type { Command } from 'pith';
import type { Completion } from '@pith/line-editor';
import { matchCommand } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import { mention, mentionBefore } from './file-mentions.ts';
import { fields, list, query, text } from './commands.ts';

export interface CompletionSources {
  readonly commands: () => Promise<readonly Command[]>;
  /** Names of skills that can be loaded with a slash. */
  readonly skills: () => Promise<readonly string[]>;
  /** Files that a message can name. */
  readonly files: (signal: AbortSignal) => Promise<readonly string[]>;
}

const NONE: Completion = { from: 0, items: [] };
const ALIASES = ['default', 'fast', 'standard', 'thinking'];

/** Files after `@`; after a slash commands, their options, and the names of what they work on. */
export async function complete(typed: string, cursor: number, sources: CompletionSources, signal: AbortSignal): Promise<Completion> {
  const mentioned = mentionBefore(typed, cursor);
  if (mentioned !== null) return completeFile(mentioned.from, mentioned.part, await sources.files(signal));
  const line = typed.slice(0, cursor);
  if (!/^\/[^\n]*$/u.test(line)) return NONE;
  const from = line.lastIndexOf(' ') + 1;
  const part = line.slice(from);
  const commands = (await sources.commands()).filter(({ hidden }) => hidden !== true);
  const found = from === 0 ? [] : await argumentsAt(line.slice(1, from).trim().split(/\s+/u), part, commands, signal);
  if (found.length > 0) return offered(found, part, from);
  const whole = [...commands.map(({ path }) => `/${path}`), ...(from === 0 ? (await sources.skills()).map((name) => `/${name}`) : [])];
  return offered(nextWords(whole, line), line, 0);
}

/** Where names are shown while a person types. */
export function suggestsAt(typed: string, cursor: number): boolean {
  const line = typed.slice(0, cursor);
  return (mentionBefore(typed, cursor)?.part ?? '') !== '' || /^\/\S+$/u.test(line);
}

function offered(words: readonly string[], part: string, from: number): Completion {
  const items = [...new Set(words)].filter((word) => word.startsWith(part) && word === printableLine(word)).sort();
  return { from, items: items.length === 1 ? [`${items[0]} `] : items };
}

/** A group of commands is offered by its first word until that has been typed. */
function nextWords(paths: readonly string[], line: string): readonly string[] {
  const matching = paths.filter((path) => path.startsWith(line));
  return line.includes(' ') ? matching : matching.map((path) => path.split(' ', 1)[0] ?? path);
}

/** Folders one by one, so that a long list becomes a short one; a part of a name finds it too. */
function completeFile(from: number, part: string, files: readonly string[]): Completion {
  const below = files.filter((file) => file.startsWith(part));
  if (below.length === 0) {
    const wanted = part.toLowerCase();
    const holding = wanted === '' ? [] : files.filter((file) => file.toLowerCase().includes(wanted));
    return { from, items: holding.slice(0, 100).map(mention) };
  }
  const steps = new Set(below.map((file) => file.slice(0, file.indexOf('/', part.length) + 1 || file.length)));
  const items = [...steps].map((step) => (step.endsWith('/') ? `@${step}` : mention(step)));
  return { from, items: items.length === 1 && !items[0]?.endsWith('/') ? [`${items[0]} `] : items };
}

async function argumentsAt(
  words: readonly string[],
  part: string,
  commands: readonly Command[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const match = matchCommand(commands, words);
  if (match === null) return [];
  const { command, rest } = match;
  if (part.startsWith('-')) return (command.options ?? []).map(({ name }) => `--${name}`);
  const before = rest.at(-1) ?? '';
  const option = before.startsWith('--')
    ? (command.options ?? []).find(({ name, type }) => `--${name}` === before && type !== 'boolean')
    : undefined;
  if (option !== undefined) return namesOf(`${option.name}s`, commands, signal);
  const given = rest.filter((word) => !word.startsWith('-')).length;
  const argument = command.arguments?.[given] ?? command.arguments?.findLast(({ variadic }) => variadic === true);
  if (argument === undefined) return [];
  const [group = ''] = command.path.split(' ');
  if (group === 'model')
    return [...ALIASES, ...(await namesOf('agents', commands, signal, 'model')), ...(await namesOf('model', commands, signal))];
  return namesOf(group === 'agent' || group === 'thread' ? `${group}s` : group, commands, signal);
}

/** What the list of a group names: numbers where it is of questions. */
async function namesOf(group: string, commands: readonly Command[], signal: AbortSignal, field = 'id'): Promise<readonly string[]> {
  const isQuestions = group === 'approvals';
  const rows = list(await query(commands, isQuestions ? [group] : [group, 'list'], signal)).map(fields);
  if (isQuestions) return rows.flatMap(({ number, id }) => (Number(number) > 0 ? String(number) : (text(id) ?? [])));
  return rows.flatMap((row) => text(row[field]) ?? text(row['name']) ?? []);
}
