import { parseArgs, type ParseArgsConfig } from 'node:util';
import { didYouMean } from '@pith/plain-text';

export interface CommandArgument {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  /** Takes all remaining words; only the last argument may. */
  readonly variadic?: boolean;
}

export interface CommandOption {
  /** Long name without dashes. */
  readonly name: string;
  readonly short?: string;
  readonly type: 'string' | 'boolean' | 'number';
  readonly description: string;
  readonly default?: string | boolean | number;
  readonly multiple?: boolean;
}

/** The part of a command that parsing and usage lines need. */
export interface CommandShape {
  /** The words that name the command, from the left: `skills list`. */
  readonly path: string;
  readonly arguments?: readonly CommandArgument[];
  readonly options?: readonly CommandOption[];
  /** True: the command also gets options that are not in `options`, as texts by name. For names that are known only at run time. */
  readonly allowUnknownOptions?: boolean;
}

export interface ParsedCommand {
  readonly arguments: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly options: Readonly<Record<string, string | boolean | number | readonly string[] | undefined>>;
}

/** A command line that is wrong: code `usage` or `command_unknown`, with a cure. */
export class WrongUse extends Error {
  readonly retryable = false;

  constructor(
    readonly code: string,
    message: string,
    readonly cure: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The command with the longest path that `words` begin with, and the words after it; null when no command matches. */
export function matchCommand<T extends { readonly path: string }>(
  commands: Iterable<T>,
  words: readonly string[],
): { readonly command: T; readonly rest: readonly string[] } | null {
  let best: { command: T; rest: readonly string[] } | null = null;
  for (const command of commands) {
    const path = command.path.split(' ');
    const longer = best === null || path.length > words.length - best.rest.length;
    if (longer && path.every((word, index) => words[index] === word)) best = { command, rest: words.slice(path.length) };
  }
  return best;
}

/** `tasks schedules` for `schedules`, or `schedules list`: the one path that goes through this word; null: there are none, or several. */
export function pathThrough([word = '', ...rest]: readonly string[], commands: Iterable<{ readonly path: string }>): string | null {
  if (rest.length > 1 || (rest[0] ?? 'list') !== 'list') return null;
  const parts = [...commands].map(({ path }) => path.split(' ')).filter((path) => path.indexOf(word) > 0);
  const found = new Set(parts.map((path) => path.slice(0, path.indexOf(word) + 1).join(' ')));
  const [only = null] = found;
  return found.size === 1 ? only : null;
}

/**
 * Reads the words after a command's path by its definition. Throws `usage`, with the usage line as cure. `others` are options that a
 * mistyped one may mean as well.
 */
export function parseCommandInput(command: CommandShape, words: readonly string[], others: readonly string[] = []): ParsedCommand {
  const { kept, open } = command.allowUnknownOptions === true ? withoutOpen(command, words) : { kept: words, open: [] };
  const { values, positionals } = parseWords(command, kept, others);
  const options = new Map<string, string | boolean | number | readonly string[]>(open);
  for (const option of command.options ?? []) {
    const value = values[option.name] ?? option.default;
    if (value !== undefined) options.set(option.name, typed(command, option, value as string | boolean | string[]));
  }
  return { arguments: Object.fromEntries(readArguments(command, positionals)), options: Object.fromEntries(options) };
}

/** The usage line of a command: `skills show <id> [--all] [-k <k>]`. */
export function commandUsage(command: CommandShape): string {
  return [pathUsage(command), ...(command.options ?? []).map((option) => `[${optionUsage(option)}]`)].join(' ');
}

/** The command with its arguments: `skills show <id>`. */
export function pathUsage({ path, arguments: list = [] }: Pick<CommandShape, 'path' | 'arguments'>): string {
  const names = list.map(({ name, required, variadic }) => {
    const text = `${name}${variadic ? '…' : ''}`;
    return required ? `<${text}>` : `[${text}]`;
  });
  return [path, ...names].join(' ');
}

/** The usage of an option, without its short form: `--text <text>`, `--agent <agent>`. */
export function optionUsage(option: CommandOption): string {
  return option.type === 'boolean' ? `--${option.name}` : `--${option.name} <${option.name}>${option.multiple ? '…' : ''}`;
}

function parseWords(command: CommandShape, words: readonly string[], others: readonly string[]) {
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const { name, short, type, multiple } of command.options ?? []) {
    options[name] = {
      type: type === 'boolean' ? 'boolean' : 'string',
      ...(short === undefined ? {} : { short }),
      ...(multiple ? { multiple } : {}),
    };
  }
  try {
    const parsed = parseArgs({ args: negativeNumbersAsValues(words), options, allowPositionals: true, strict: true, tokens: true });
    refuseTwice(command, parsed.tokens);
    return parsed;
  } catch (error) {
    if (error instanceof WrongUse) throw error;
    throw wrongUse(command, reasonOf(error, [...Object.keys(options), ...others]), error);
  }
}

/** Separates undeclared options, each with the word after it, from the other words. An option without a word after it is `true`. */
function withoutOpen(command: CommandShape, words: readonly string[]) {
  const declared = new Set((command.options ?? []).map(({ name }) => name));
  const kept: string[] = [];
  const open: [string, string][] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--') return { kept: [...kept, ...words.slice(at)], open };
    const [, name = '', value] = /^--([^=]+)(?:=(.*))?$/su.exec(word) ?? [];
    if (name === '' || declared.has(name)) {
      kept.push(word);
      const isValueNext = name !== '' && value === undefined && command.options?.find((option) => option.name === name)?.type !== 'boolean';
      if (isValueNext && at + 1 < words.length) kept.push(words[(at += 1)] ?? '');
      continue;
    }
    const next = words[at + 1];
    const given = value ?? (next === undefined || next.startsWith('--') ? 'true' : next);
    if (value === undefined && given === next) at += 1;
    if (open.some(([other]) => other === name)) throw wrongUse(command, `--${name} is given more than once`);
    open.push([name, given]);
  }
  return { kept, open };
}

/** Refuses an option given twice, since one of the values would be dropped silently. */
function refuseTwice(command: CommandShape, tokens: readonly { readonly kind: string; readonly name?: string }[]): void {
  for (const { name, type, multiple } of command.options ?? []) {
    if (type === 'boolean' || multiple) continue;
    if (tokens.filter((token) => token.kind === 'option' && token.name === name).length > 1)
      throw wrongUse(command, `--${name} is given more than once`);
  }
}

/** Joins an option and a negative number after it: `-k -3` would otherwise read as two options. */
function negativeNumbersAsValues(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1);
    if (/^-\d/u.test(word) && before !== undefined && /^--[^=]+$/u.test(before)) joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  }
  return joined;
}

function readArguments(command: CommandShape, positionals: readonly string[]): Map<string, string | readonly string[]> {
  const found = new Map<string, string | readonly string[]>();
  let next = 0;
  for (const { name, required, variadic } of command.arguments ?? []) {
    const value = positionals[next];
    if (value === undefined) {
      if (required) throw wrongUse(command, `<${name}> is missing`);
      continue;
    }
    if (required && value.trim() === '') throw wrongUse(command, `<${name}> is empty`);
    found.set(name, variadic ? positionals.slice(next) : value);
    next = variadic ? positionals.length : next + 1;
  }
  const extra = positionals[next];
  if (extra !== undefined) throw wrongUse(command, `unexpected argument '${extra}'`);
  return found;
}

function typed(
  command: CommandShape,
  option: CommandOption,
  value: string | boolean | number | readonly string[],
): string | boolean | number | readonly string[] {
  if (option.type !== 'number' || typeof value !== 'string') return value;
  const number = value.trim() === '' ? Number.NaN : Number(value);
  if (!Number.isFinite(number)) throw wrongUse(command, `--${option.name} must be a number, not '${value}'`);
  return number;
}

/** In characters. A longer usage is cut: it does not help somebody who mistyped one word. */
const LONGEST_USAGE = 100;

function wrongUse(command: CommandShape, why: string, cause?: unknown): WrongUse {
  const usage = commandUsage(command);
  const cure = usage.length > LONGEST_USAGE ? `see: pith ${command.path} --help` : `write: pith ${usage}`;
  return new WrongUse('usage', `wrong use of '${command.path}': ${why}`, cure, { cause });
}

/** What Node's message says happened, without its suggestion, which does not fit here. */
function reasonOf(error: unknown, known: readonly string[]): string {
  const message = error instanceof Error ? error.message : String(error);
  const unknown = /^Unknown option '(-+)([^']*)'/u.exec(message);
  if (unknown)
    return `unknown option '${unknown[1]}${unknown[2]}'${didYouMean(unknown[2] ?? '', known).replaceAll(/'(\S+?)'/gu, "'--$1'")}`;
  const option = /^Option '(?:-\w, )?(--[\w-]+)/u.exec(message)?.[1] ?? 'an option';
  return message.includes('does not take') ? `${option} takes no value` : `${option} needs a value`;
}

/** The value of an option that says how many. Throws `usage` for anything but a whole number from 1. */
export function countOption({ options }: Pick<ParsedCommand, 'options'>, name: string, otherwise = 20): number {
  const count = Number(options[name] ?? otherwise);
  if (Number.isSafeInteger(count) && count >= 1) return count;
  throw new WrongUse('usage', `--${name} must be a whole number from 1, not ${String(options[name])}`, `write: --${name} ${otherwise}`);
}
