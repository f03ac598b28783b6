import { type CommandInput, type CommandIO, type Diagnostic, type JsonValue, PithError } from 'pith';
import { clean } from '../catalog/brief.ts';
import { type Skill, summaryOf } from '../skill.ts';

/** One skill as `--json` prints it. */
export function skillJson(skill: Skill): { [key: string]: JsonValue } {
  return { ...summaryOf(skill), diagnostics: skill.diagnostics.map(diagnosticJson) };
}

export function diagnosticJson({ severity, code, message, file, line, column, cure }: Diagnostic): { [key: string]: JsonValue } {
  return {
    severity,
    code,
    message,
    file: file ?? null,
    line: line ?? null,
    column: column ?? null,
    ...(cure === undefined ? {} : { cure }),
  };
}

/** `~` says that nobody has read the body yet. */
export function tokensText({ tokens, tokensEstimated }: Skill): string {
  return `${tokensEstimated ? '~' : ''}${tokens}`;
}

/** `file:line:column: severity: message; cure`, the place as far as it is known. */
export function diagnosticText({ severity, message, file, line, column, cure }: Diagnostic): string {
  const place = file === undefined ? '' : `${[file, line, column].filter((part) => part !== undefined).join(':')}: `;
  return clean(`${place}${severity}: ${message}${cure === undefined ? '' : `; ${cure}`}`);
}

/** The width that a table may have: what is piped is never cut. */
export function widthOf(io: Pick<CommandIO, 'interactive' | 'columns'>): number {
  return io.interactive ? io.columns || 120 : Infinity;
}

/** What is left for the last column must be so much, else it goes below its row. */
const LEAST_ROOM = 40;
const INDENT = '    ';

/**
 * Aligned columns below a heading, each as wide as its widest cell; the last is cut to what is left of `width`. A column that
 * says nothing is left out.
 */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const last = heading.length - 1;
  const cells = [heading, ...rows.map((row) => row.map(clean))];
  const used = heading
    .map((_, column) => column)
    .filter((column) => column < last && cells.some((row, at) => at > 0 && row[column] !== ''));
  const widths = heading.map((_, column) => cells.reduce((most, row) => Math.max(most, (row[column] ?? '').length), 0));
  const room = width - used.reduce((sum, column) => sum + widths[column]! + 2, 0);
  const below = room < LEAST_ROOM && room < widths[last]!;
  const lines: string[] = [];
  cells.forEach((row, at) => {
    const aligned = used.map((column) => row[column]!.padEnd(widths[column]!)).join('  ');
    if (!below) lines.push(`${aligned}  ${cut(row[last]!, room)}`.trimEnd());
    else
      lines.push(
        aligned.trimEnd(),
        ...(at > 0 && row[last] !== '' ? [INDENT + cut(row[last]!, Math.max(LEAST_ROOM, width - INDENT.length))] : []),
      );
  });
  return lines.join('\n');
}

function cut(text: string, room: number): string {
  const characters = text.length <= room ? null : [...text];
  return characters === null || characters.length <= room
    ? text
    : `${characters
        .slice(0, room - 1)
        .join('')
        .trimEnd()}…`;
}

/** How many things an option asks for. Throws `usage` for what is no whole number from 1. */
export function countOption({ options }: Pick<CommandInput, 'options'>, name: string, otherwise: number): number {
  const given = options[name] ?? otherwise;
  if (Number.isSafeInteger(given) && Number(given) >= 1) return Number(given);
  throw new PithError('usage', `--${name} must be a whole number of at least 1, not '${String(given)}'`);
}
