import { commandUsage, optionUsage, type CommandShape } from '../contract/command-line.ts';
import type { Command, CommandOption } from '../contract/protocols/command-provider.ts';
import { COMMON_OPTIONS } from './common-options.ts';

export interface HelpStyle {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
}

/** A line of the command list. */
export type Entry = Pick<Command, 'path' | 'description'> & Partial<CommandShape>;

const PLAIN: HelpStyle = { bold: (text) => text, dim: (text) => text };

/** What `pith` and `pith --help` print: every command, from the definitions themselves. */
export function overview(commands: readonly Entry[], style: HelpStyle = PLAIN): string {
  return [
    `${style.bold('pith')} — a nano-kernel for agents in which skills are an extension`,
    '',
    `${style.bold('Usage:')} pith <command> [options]`,
    '',
    style.bold('Commands:'),
    ...listed(commands, style),
    '',
    style.bold('Options of every command:'),
    ...options(COMMON_OPTIONS, style),
    '',
    style.dim('pith <command> --help says more. pith chat starts a conversation.'),
  ].join('\n');
}

/** The commands below a word that is none itself. */
export function groupHelp(group: string, commands: readonly Entry[], style: HelpStyle = PLAIN): string {
  return [`${style.bold('Usage:')} pith ${group} <command>`, '', style.bold('Commands:'), ...listed(commands, style)].join('\n');
}

/** How one command is used. */
export function commandHelp(command: Entry, style: HelpStyle = PLAIN): string {
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
  lines.push('', style.bold('Options of every command:'), ...options(COMMON_OPTIONS, style));
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
