import { displayWidth, wrapLines } from '@pith/plain-text';

const MOST_LEFT = 40;
/** In columns. With less room, a description goes below its name. */
const LEAST_ROOM = 30;

/** Names with descriptions: `name  description`, wrapped in a column, or below the name on a narrow terminal. `width` 0: no wrapping. */
export function describedRows(
  rows: readonly (readonly [name: string, description: string])[],
  width: number,
  paint: (description: string) => string = (text) => text,
): readonly string[] {
  const left = Math.min(MOST_LEFT, Math.max(0, ...rows.map(([name]) => displayWidth(name))));
  const room = width > 0 ? width - left - 4 : Infinity;
  return rows.flatMap(([name, description]): readonly string[] => {
    if (description === '') return [`  ${name}`];
    if (room >= LEAST_ROOM) {
      const [first = '', ...more] = lines(description, room);
      const shown = `  ${name}${' '.repeat(Math.max(0, left - displayWidth(name)))}  ${paint(first)}`;
      return [shown, ...more.map((line) => `${' '.repeat(left + 4)}${paint(line)}`)];
    }
    return [...lines(name, width - 2).map((line) => `  ${line}`), ...lines(description, width - 6).map((line) => `      ${paint(line)}`)];
  });
}

function lines(text: string, width: number): readonly string[] {
  return Number.isFinite(width) ? wrapLines(text, Math.max(10, width)).split('\n') : [text];
}
