import type { Row, Spread } from './measure.ts';

const HEADING = ['figure', 'measured (min–max)', 'floor', 'ratio', 'must', 'aim', 'verdict'];

/** The cells of one line. */
function cellsOf(row: Row): readonly string[] {
  const { figure, unit, measured, floor, bounds = 'figure', boundsAt, must, aim, note } = row;
  const ratio = floor === null ? null : measured.median / floor.median;
  const slower = boundsAt === undefined || floor === null ? 1 : Math.max(1, floor.median / boundsAt);
  const compared = bounds === 'ratio' ? ratio : measured.median / slower;
  const limit = (value: number | undefined) => (value === undefined ? '' : `≤ ${shown(value)}${bounds === 'ratio' ? ' ×' : suffix(unit)}`);
  return [
    note === undefined ? figure : `${figure} (${note})`,
    `${shown(measured.median)}${suffix(unit)} (${shown(measured.min)}–${shown(measured.max)})`,
    floor === null ? '' : `${shown(floor.median)}${suffix(unit)}`,
    ratio === null ? '' : `${shown(ratio)} ×`,
    limit(must),
    limit(aim),
    verdict(compared, must, aim),
  ];
}

/** The first two lines of a Markdown table. */
export function heading(): string {
  return `${line(HEADING)}\n${line(HEADING.map(() => '---'))}\n`;
}

/** The lines of these rows. */
export function linesOf(rows: readonly Row[]): string {
  return rows.map((row) => `${line(cellsOf(row))}\n`).join('');
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function verdict(value: number | null, must: number | undefined, aim: number | undefined): string {
  if (value === null || (must === undefined && aim === undefined)) return '';
  if (aim !== undefined && value <= aim) return 'aim';
  if (must !== undefined && value <= must) return 'must';
  return must === undefined ? 'aim missed' : '**missed**';
}

function shown(value: Spread['median']): string {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}

function suffix(unit: Row['unit']): string {
  return unit === '' ? '' : ` ${unit}`;
}
