import pc from 'picocolors';
import {
  commandUsage,
  describedRows,
  matchCommand,
  optionUsage,
  pathUsage,
  type CommandShape,
  type CommandOption,
  widthOf,
} from '@pith/command-line';
import type { Command, CommandIO } from '../contract/index.ts';
import type { Kernel } from '../compose/index.ts';
import { COMMON_OPTIONS, switchesOf } from './common-options.ts';
import { CORE_GROUPS } from './core-commands.ts';
import type { DeclaredCommand } from '../kernel/index.ts';
import { type CommandSource, commandsBelow, LINE_COMMANDS, loadCommands, resolveCommand } from './resolve-command.ts';
import { describeError, EXIT } from './terminal/report.ts';
import { writeError, type Stdio } from './terminal/terminal-io.ts';

/** Prints help for `words`; without words the first commands, with `--all` every one. With --json the definitions themselves. */
export async function showHelp(words: readonly string[], kernel: () => Promise<Kernel>, io: CommandIO, stdio: Stdio): Promise<number> {
  const { bold, dim } = pc.createColors(io.colour);
  const style: HelpStyle = { bold, dim, width: widthOf(io) };
  const source = async () => (await kernel()).host;
  const named = words.filter((word) => !word.startsWith('-'));
  if (named.length === 0) {
    const found = await source()
      .then((host) => ({ declared: host.providers.commands.declared(), switches: switchesOf(host.extensions.list()) }))
      .catch((error: unknown) => {
        writeError(stdio, describeError(error)); // help must work in a broken sandbox
        return { declared: [], switches: [] };
      });
    if (words.includes('--all')) {
      const every = shown([...LINE_COMMANDS, ...(await loadAll(found.declared, source))]);
      return show(io, overview(every, [...COMMON_OPTIONS, ...found.switches], style), every);
    }
    const all = shown([...LINE_COMMANDS, ...found.declared]);
    return show(io, firstHelp([...CORE_GROUPS, ...all], style), all);
  }
  const group = commandsBelow(named, LINE_COMMANDS);
  if (group.length > 0) {
    const all = shown([...group, ...commandsBelow(named, (await source()).providers.commands.declared())]);
    return show(io, groupHelp(named.join(' '), all, style), all);
  }
  const resolved = await resolveCommand(named, source);
  if (resolved.kind === 'core') return show(io, commandHelp(resolved.command, COMMON_OPTIONS, style), [resolved.command]);
  const from = await source();
  const loaded = await loadCommands(from, resolved.command);
  const exact = matchCommand(loaded, named);
  if (exact) {
    const below = shown(commandsBelow(exact.command.path.split(' '), loaded));
    const help = commandHelp(exact.command, [...COMMON_OPTIONS, ...switchesOf(from.extensions.list())], style, below);
    return show(io, help, [exact.command, ...below]);
  }
  const above = resolved.command.path.split(' ');
  const own = commandsBelow(above, loaded);
  const elsewhere = commandsBelow(above, from.providers.commands.declared()).filter(({ path }) => !own.some((each) => each.path === path));
  const below = shown([...own, ...elsewhere]);
  return show(io, groupHelp(resolved.command.path, below, style), below);
}

/** The commands from extensions' code; where that cannot be loaded, from the manifests. */
async function loadAll(declared: readonly DeclaredCommand[], source: () => Promise<CommandSource>): Promise<readonly Entry[]> {
  const found = new Map<string, Entry>();
  const loaded = await Promise.allSettled(declared.map(async (each) => loadCommands(await source(), each)));
  for (const [place, group] of declared.entries()) {
    const result = loaded[place];
    const own = result?.status === 'fulfilled' ? result.value.filter(({ path }) => isBelow(path, group.path)) : [];
    for (const command of own.length > 0 ? own : [group]) if (!found.has(command.path)) found.set(command.path, command);
  }
  return [...found.values()];
}

function isBelow(path: string, group: string): boolean {
  return path === group || path.startsWith(`${group} `);
}

function show(io: CommandIO, text: string, commands: readonly Entry[]): number {
  io.print(text);
  io.json(
    commands.map(({ path, description, arguments: args, options }) => ({
      path,
      description,
      arguments: (args ?? []).map((each) => ({ ...each })),
      options: (options ?? []).map((each) => ({ ...each })),
    })),
  );
  return EXIT.done;
}

interface HelpStyle {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  /** The terminal's width; 0: nothing is wrapped. */
  readonly width: number;
}

/** A line of the command list. */
type Entry = Pick<Command, 'path' | 'description' | 'hidden'> & Partial<CommandShape> & { readonly first?: number | null };

/** Without commands for programs. */
function shown<T extends Entry>(commands: readonly T[]): readonly T[] {
  return commands.filter(({ hidden }) => hidden !== true);
}

const MOST_FIRST = 12;

/** The text of `pith --help`: how to talk, and the first commands, on one screen. */
function firstHelp(commands: readonly Entry[], style: HelpStyle): string {
  const first = commands
    .filter((command) => typeof command.first === 'number')
    .toSorted((a, b) => (a.first ?? 0) - (b.first ?? 0))
    .slice(0, MOST_FIRST);
  return [
    `${style.bold('pith')} — a nano-kernel for agents in which skills are an extension`,
    '',
    style.bold('Usage:'),
    ...columns(
      [
        ['pith', 'start a chat'],
        ['pith "message"', 'send one message, print the answer, exit'],
        ['… | pith "message"', 'the same, with piped input attached'],
        ['pith -c', 'continue the last conversation'],
        ['pith <command> [options]', ''],
      ],
      style,
    ),
    '',
    style.bold('Commands:'),
    ...columns(
      first.map((command) => [command.path, command.description] as const),
      style,
    ),
    '',
    style.dim('pith help --all lists everything; pith help <command> says more.'),
  ].join('\n');
}

/** The text of `pith --help --all`: every command, those of a large group by their names, from the definitions themselves. */
function overview(commands: readonly Entry[], common: readonly CommandOption[], style: HelpStyle): string {
  return [
    `${style.bold('pith')} — a nano-kernel for agents in which skills are an extension`,
    '',
    `${style.bold('Usage:')} pith <command> [options]`,
    '',
    style.bold('Commands:'),
    ...columns(overviewRows(commands), style),
    '',
    style.bold('Options of every command:'),
    ...options(common, style),
    '',
    style.dim('pith help <command> says more, also of a group. pith alone starts a chat.'),
  ].join('\n');
}

/** The commands below a word that is not a command itself. */
function groupHelp(group: string, commands: readonly Entry[], style: HelpStyle): string {
  return [`${style.bold('Usage:')} pith ${group} <command>`, '', style.bold('Commands:'), ...listed(commands, style)].join('\n');
}

/** How one command is used, and which ones are below it. */
function commandHelp(command: Entry, common: readonly CommandOption[], style: HelpStyle, below: readonly Entry[] = []): string {
  const lines = [command.description, '', `${style.bold('Usage:')} pith ${commandUsage(command)}`];
  if (command.arguments?.length) {
    lines.push(
      '',
      style.bold('Arguments:'),
      ...columns(
        command.arguments.map(({ name, description }) => [name, description] as const),
        style,
      ),
    );
  }
  if (command.options?.length) lines.push('', style.bold('Options:'), ...options(command.options, style));
  lines.push('', style.bold('Options of every command:'), ...options(common, style));
  if (below.length > 0) lines.splice(3, 0, '', style.bold('Commands:'), ...listed(below, style));
  return lines.join('\n');
}

function listed(commands: readonly Entry[], style: HelpStyle): readonly string[] {
  return columns(sorted(commands).map(rowOf), style);
}

/** A group with more commands is one line of their names. */
const MOST_OF_GROUP = 4;

function overviewRows(commands: readonly Entry[]): readonly (readonly [string, string])[] {
  const groupOf = ({ path }: Entry) => path.split(' ', 1)[0] as string;
  return [...new Set(sorted(commands).map(groupOf))].flatMap((group) => {
    const members = sorted(commands).filter((command) => groupOf(command) === group);
    if (members.length <= MOST_OF_GROUP) return members.map(rowOf);
    const names = members.flatMap(({ path }) => path.slice(group.length + 1) || []);
    return [[`${group} …`, names.join(', ')] as const];
  });
}

function sorted(commands: readonly Entry[]): readonly Entry[] {
  return [...commands].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function rowOf(command: Entry): readonly [string, string] {
  return [pathUsage(command), command.description];
}

function options(list: readonly CommandOption[], style: HelpStyle): readonly string[] {
  return columns(
    list.map(
      (option) =>
        [
          `${option.short === undefined ? '    ' : `-${option.short}, `}${optionUsage(option)}`,
          option.default === undefined || option.default === false
            ? option.description
            : `${option.description} (default ${option.default})`,
        ] as const,
    ),
    style,
  );
}

function columns(rows: readonly (readonly [string, string])[], { dim, width }: HelpStyle): readonly string[] {
  return describedRows(rows, width, dim);
}
