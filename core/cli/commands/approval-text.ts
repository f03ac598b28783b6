import type { JsonValue } from '../../contract/index.ts';
import { printableLine } from '@pith/plain-text';
import { timeOf } from './text.ts';
import { shownQuestion, startersOfPath, type Approval } from '../../agent/index.ts';

const MOST_LINES = 40;
const LONGEST_LINE = 400;
const SHOWN_DIGEST = 12;

/** A question as a person reads it: who asks, for what, with the exact arguments. Bounded unless `all`. */
export function questionLines(approval: Approval, all: boolean): readonly string[] {
  const { tool, path, input, digest, id, expiresAt, details, always } = approval;
  const agents = path.map(({ agentId }) => printableLine(agentId)).join(' → ');
  const toRead = [argumentLines(input), detailLines(details)].map((lines) =>
    all ? lines : bounded(lines, `pith approvals show ${id} --all`),
  );
  return [
    `${printableLine(tool)} needs your approval (asked by ${agents}${startedText(path)})`,
    ...toRead.flat().map((line) => `  ${line}`),
    `  ${coverOf(always)}`,
    `  question ${id} · arguments ${digest.slice(0, SHOWN_DIGEST)} · open until ${timeOf(expiresAt)}`,
  ];
}

/** `, started by extension 'x'` where a stranger began what leads to the question, else nothing. */
export function startedText(path: Approval['path']): string {
  const ids = startersOfPath(path);
  if (ids.length === 0) return '';
  return `, started by extension${ids.length > 1 ? 's' : ''} ${ids.map((id) => `'${printableLine(id)}'`).join(' and ')}`;
}

/** The first lines, and how much was left out, exactly. Arguments and what the tool says are cut apart, so that neither hides the other. */
function bounded(lines: readonly string[], wholeBy: string): readonly string[] {
  const shown = lines.slice(0, MOST_LINES);
  const more = lines.length - shown.length;
  const long = shown.filter((line) => line.length > LONGEST_LINE);
  const characters = long.reduce((sum, line) => sum + line.length - LONGEST_LINE, 0);
  const left = [
    ...(more > 0 ? [`${more} more ${more === 1 ? 'line' : 'lines'}`] : []),
    ...(characters > 0 ? [`${characters} characters at the end of ${long.length} ${long.length === 1 ? 'line' : 'lines'}`] : []),
  ];
  return left.length === 0 ? lines : [...shown.map(cut), `… not shown: ${left.join(' and ')}; all of it: ${wholeBy}`];
}

/** What the answer `always` means for this question. */
function coverOf(always: string | null): string {
  if (always === null) return 'always is not offered: Pith asks about every such call';
  if (always.startsWith('tool:')) return 'always: every call of this tool in this conversation, until its code or its description changes';
  if (always.startsWith('subject:')) return 'always: every call in this conversation that says exactly the same, also with other arguments';
  return 'always: every call in this conversation with exactly these arguments, as long as the tool describes them the same way';
}

/** What the tool itself wants to be read. */
export function detailLines(details: string | null): readonly string[] {
  return details === null ? [] : valueLines('what it says', `${details}\n`);
}

/** Each argument on a line; texts of several lines stand below their names, each line behind a bar that no text can forge. */
export function argumentLines(input: JsonValue): readonly string[] {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  const entries = isObject ? Object.entries(input) : [['input', input] as const];
  return entries.length === 0 ? ['no arguments'] : entries.flatMap(([name, value]) => valueLines(printableLine(name), value ?? null));
}

function valueLines(name: string, value: JsonValue): readonly string[] {
  if (typeof value === 'string' && value.includes('\n'))
    return [`${name}:`, ...value.split('\n').map((line) => `  │ ${printableLine(line.replaceAll('\t', '  '))}`)];
  const [first = '', ...rest] = (JSON.stringify(value, null, 2) ?? 'null').split('\n').map((line) => printableLine(line));
  return [`${name}: ${first}`, ...rest];
}

function cut(line: string): string {
  return printableLine(line, LONGEST_LINE + 1);
}

/** DESIGN's shape of `approvals list --json`. */
export function approvalJson(approval: Approval) {
  return { ...shownQuestion(approval), expiresAt: approval.expiresAt };
}
