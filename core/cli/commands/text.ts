import pc from 'picocolors';
import { type Column, localTime, renderTable, whoCells } from '@pith/command-line';
import { printable, printableLine } from '@pith/plain-text';
import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';

/** Colours text where the output supports it, and leaves it alone elsewhere. */
export function colours(io: Pick<CommandIO, 'colour'>) {
  return pc.createColors(io.colour);
}

/** Prints a table cut to the terminal, or `none` when there are no rows. A pipe gets all of it. */
export function printTable<Row>(io: CommandIO, rows: readonly Row[], columns: readonly Column<Row>[], none: string): void {
  const colour = colours(io);
  if (rows.length === 0) io.print(colour.dim(none));
  else io.print(renderTable(rows, columns, io.colour || io.interactive ? io.columns : 0, colour.dim));
}

/** Prints `name   value` lines; fields without a value are left out. */
export function printFields(
  io: CommandIO,
  fields: readonly (readonly [name: string, value: string | undefined, paint?: (text: string) => string])[],
): void {
  const colour = colours(io);
  const shown = fields.filter(([, value]) => value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  for (const [name, value = '', paint = String] of shown)
    io.print(
      `${colour.dim(name.padEnd(width))}  ${paint(
        printable(value)
          .split('\n')
          .join(`\n${' '.repeat(width + 2)}`),
      )}`,
    );
}

/** A column WHO, with cells where a row is not of the person who asks. */
export function whoColumn<Row extends { readonly userId?: string }>({ userId: own }: Pick<CommandIO, 'userId'>, rows: readonly Row[]) {
  const cells = whoCells(
    rows.map(({ userId = own }) => userId),
    own,
  );
  return { title: 'WHO', value: (row: Row) => printableLine(cells[rows.indexOf(row)] ?? '') };
}

const STATE_COLOURS = {
  active: 'green',
  idle: 'green',
  offered: 'green',
  degraded: 'yellow',
  blocked: 'yellow',
  failed: 'red',
  disabled: 'dim',
  running: 'green',
  dead: 'red',
  done: 'dim',
  cancelled: 'dim',
} as const;

export function paintState(io: CommandIO, state: string, text: string = state): string {
  const colour = (STATE_COLOURS as Readonly<Record<string, 'green' | 'yellow' | 'red' | 'dim' | undefined>>)[state];
  return colour === undefined ? text : colours(io)[colour](text);
}

/** Piped text never agrees; a person who types --yes on the command line does. `cure`: how to agree where nobody can be asked. */
export async function agreed(question: string, cure: string, input: CommandInput, io: CommandIO): Promise<boolean> {
  if (input.options['yes'] === true && (io.session === undefined || io.interactive)) return true;
  if (io.interactive) return (await io.ask(question, { choices: ['yes', 'no'] })) === 'yes';
  throw new PithError('usage', 'Pith cannot ask here, because this is not a terminal', { cure });
}

/** To the minute, in the person's time zone. */
export function timeOf(at: number): string {
  return localTime(at, Date.now());
}
