import type { Diagnostic, JsonValue } from 'pith';
import type { Skill } from '../skill.ts';

/** One skill as `--json` prints it. */
export function skillJson(skill: Skill): { [key: string]: JsonValue } {
  const { id, name, description, source, file, state, tokens, version, reason, diagnostics } = skill;
  return {
    id,
    name,
    description,
    source,
    path: file,
    state,
    tokens,
    ...(version === null ? {} : { version }),
    ...(reason === null ? {} : { reason }),
    diagnostics: diagnostics.map(diagnosticJson),
  };
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
  return `${place}${severity}: ${message}${cure === undefined ? '' : `; ${cure}`}`;
}

/** Aligned columns, each as wide as its widest cell; the last is cut to what is left of `width`. */
export function table(rows: readonly (readonly string[])[], width: number): string {
  const cells = rows.map((row) => row.map(oneLine));
  const widths = (cells[0] ?? []).map((_, column) => cells.reduce((most, row) => Math.max(most, (row[column] ?? '').length), 0));
  const last = widths.length - 1;
  const room = Math.max(20, width - widths.slice(0, last).reduce((sum, each) => sum + each + 2, 0));
  return cells
    .map((row) =>
      row
        .map((cell, column) => (column === last ? cut(cell, room) : cell.padEnd(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
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

/** Nothing that a file holds may move the cursor or hide text. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}
