import type { Command } from 'pith';
import { wrapLines } from '@pith/plain-text';

/** What people do, and the first words of the commands for it. */
const GROUPS: readonly (readonly [title: string, words: readonly string[]])[] = [
  ['Conversation', ['new', 'clear', 'threads', 'thread', 'compact', 'context', 'expand', 'exit']],
  ['Changes', ['undo', 'plan', 'permissions', 'approvals']],
  ['Who answers', ['agent', 'agents', 'model']],
  ['Skills', ['skills', 'recipes']],
  ['Later', ['tasks', 'schedules']],
  ['Setup', ['setup', 'secrets', 'mcp', 'tools', 'extensions', 'trust', 'untrust', 'doctor', 'init']],
];
const KEYS = [
  'Enter sends · Shift-Enter or \\ at the end begins a line',
  'Esc stops the answer · Ctrl-C clears, twice leaves',
  'Up brings back what was sent · Ctrl-R searches it',
  '@file attaches a file · Tab completes',
];
const MARGIN = 14;

/** Everything that can be typed, on one screen. */
export function helpScreen(commands: readonly Command[], columns: number): string {
  const words = [...new Set(commands.filter(({ yields }) => yields !== true).map(firstWord))];
  const grouped = new Set(['help', 'quit', ...GROUPS.flatMap(([, all]) => all)]);
  const rows: (readonly [string, readonly string[]])[] = [
    ...GROUPS.map(([title, all]) => [title, all.filter((word) => words.includes(word))] as const),
    ['Recipes', [...new Set(commands.filter(({ yields }) => yields === true).map(firstWord))]],
    ['More', words.filter((word) => !grouped.has(word))],
  ];
  const text = [
    ...KEYS.map((line, at) => row(at === 0 ? 'Keys' : '', line, columns)),
    ...rows.filter(([, all]) => all.length > 0).map(([title, all]) => row(title, all.map((word) => `/${word}`).join('  '), columns)),
    row('By name', '/<skill> <text> loads that skill for your message', columns),
    '',
    'See /help <command> for one of them, /help all for every command.',
  ];
  return text.map((line) => wrapLines(line, columns)).join('\n');
}

function row(title: string, text: string, columns: number): string {
  const margin = columns < 60 ? 0 : MARGIN;
  const lines = wrapLines(text, Math.max(20, columns - margin - 1)).split('\n');
  if (margin === 0) return [...(title === '' ? [] : [title]), ...lines.map((line) => `  ${line}`)].join('\n');
  return lines.map((line, at) => `${(at === 0 ? title : '').padEnd(margin)}${line}`).join('\n');
}

function firstWord({ path }: Command): string {
  return path.split(' ', 1)[0] ?? path;
}
