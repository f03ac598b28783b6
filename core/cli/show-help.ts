import pc from 'picocolors';
import { commandUsage, matchCommand, optionUsage, type CommandShape, type CommandOption } from '@pith/command-line';
import type { Command, CommandIO } from '../contract/index.ts';
import type { Kernel } from '../compose/index.ts';
import { COMMON_OPTIONS, switchesOf } from './common-options.ts';
import { commandsBelow, LINE_COMMANDS, loadCommands, resolveCommand } from './resolve-command.ts';
import { describeError, EXIT } from './terminal/report.ts';
import { writeError, type Stdio } from './terminal/terminal-io.ts';

/** Prints help for `words`, or for all. Under --json the definitions themselves. */
export async function showHelp(words: readonly string[], kernel: () => Promise<Kernel>, io: CommandIO, stdio: Stdio): Promise<number> {
  const style = pc.createColors(io.colour);
  const source = async () => (await kernel()).host;
  const named = words.filter((word) => !word.startsWith('-'));
  if (named.length === 0) {
    const found = await source()
      .then((host) => ({ declared: host.providers.commands.declared(), switches: switchesOf(host.extensions.list()) }))
      .catch((error: unknown) => {
        writeError(stdio, describeError(error)); // help must help where the sandbox is broken
        return { declared: [], switches: [] };
      });
    const all = [...LINE_COMMANDS, ...found.declared];
    return show(io, overview(all, [...COMMON_OPTIONS, ...found.switches], style), all);
  }
  const group = commandsBelow(named, LINE_COMMANDS);
  if (group.length > 0) {
    const all = [...group, ...commandsBelow(named, (await source()).providers.commands.declared())];
    return show(io, groupHelp(named.join(' '), all, style), all);
  }
  const resolved = await resolveCommand(named, source);
  if (resolved.kind === 'core') return show(io, commandHelp(resolved.command, COMMON_OPTIONS, style), [resolved.command]);
  const from = await source();
  const loaded = await loadCommands(from, resolved.command);
  const exact = matchCommand(loaded, named);
  if (exact)
    return show(io, commandHelp(exact.command, [...COMMON_OPTIONS, ...switchesOf(from.extensions.list())], style), [exact.command]);
  const above = resolved.command.path.split(' ');
  const own = commandsBelow(above, loaded);
  const elsewhere = commandsBelow(above, from.providers.commands.declared()).filter(({ path }) => !own.some((each) => each.path === path));
  const below = [...own, ...elsewhere];
  return show(io, groupHelp(resolved.command.path, below, style), below);
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
}

/** A line of the command list. */
type Entry = Pick<Command, 'path' | 'description'> & Partial<CommandShape>;

/** What `pith` and `pith --help` print: every command, from the definitions themselves. */
function overview(commands: readonly Entry[], common: readonly CommandOption[], style: HelpStyle): string {
  return [
    `${style.bold('pith')} — a nano-kernel for agents in which skills are an extension`,
    '',
    `${style.bold('Usage:')} pith <command> [options]`,
    '',
    style.bold('Commands:'),
    ...listed(commands, style),
    '',
    style.bold('Options of every command:'),
    ...options(common, style),
    '',
    style.dim('pith <command> --help says more. pith chat starts a conversation.'),
  ].join('\n');
}

/** The commands below a word that is none itself. */
function groupHelp(group: string, commands: readonly Entry[], style: HelpStyle): string {
  return [`${style.bold('Usage:')} pith ${group} <command>`, '', style.bold('Commands:'), ...listed(commands, style)].join('\n');
}

/** How one command is used. */
function commandHelp(command: Entry, common: readonly CommandOption[], style: HelpStyle): string {
  const lines = [command.description, '', `${style.bold('Usage:')} pith ${commandUsage(command)}`];
  if (command.arguments?.length) {
    lines.push(
      '',
      style.bold('Arguments:'),
      ...columns(
        command.arguments.map(({ name, description }) => [name, description]),
        style,
      ),
    );
  }
  if (command.options?.length) lines.push('', style.bold('Options:'), ...options(command.options, style));
  lines.push('', style.bold('Options of every command:'), ...options(common, style));
  return lines.join('\n');
}

function listed(commands: readonly Entry[], style: HelpStyle): readonly string[] {
  const sorted = [...commands].sort((a, b) => (a.path < b.path ? -1 : 1));
  return columns(
    sorted.map((command) => [command.path + argumentsOf(command), command.description]),
    style,
  );
}

function argumentsOf(command: Entry): string {
  return (command.arguments ?? [])
    .map(({ name, required, variadic }) => ` ${required ? `<${name}${variadic ? '…' : ''}>` : `[${name}${variadic ? '…' : ''}]`}`)
    .join('');
}

function options(list: readonly CommandOption[], style: HelpStyle): readonly string[] {
  return columns(
    list.map((option) => [
      `${option.short === undefined ? '    ' : `-${option.short}, `}${optionUsage(option)}`,
      option.default === undefined || option.default === false ? option.description : `${option.description} (default ${option.default})`,
    ]),
    style,
  );
}

function columns(rows: readonly (readonly [string, string])[] | readonly string[][], style: HelpStyle): readonly string[] {
  const width = Math.min(40, Math.max(0, ...rows.map(([left = '']) => left.length)));
  return rows.map(([left = '', right = '']) => `  ${left.padEnd(width)}  ${style.dim(right)}`.trimEnd());
}
