import { countOption, WrongUse, type CommandOption, type ParsedCommand } from './command-line.ts';

/** The option of a command that lists from somewhere on. */
export const AFTER: CommandOption = { name: 'after', type: 'string', description: 'Only what follows this one in the list' };

/** The option of a command that lists work. */
export const OPEN: CommandOption = { name: 'open', type: 'boolean', description: 'Only what has not ended' };

/** The options of a command that lists in pages. */
export const PAGE_OPTIONS: readonly CommandOption[] = [{ name: 'limit', type: 'number', description: 'At most this many' }, AFTER];

/** The page that the options ask for, of a list in memory. `named`: whether a row is the one of this name. Throws `usage` where none is. */
export function pageOf<Row>(
  rows: readonly Row[],
  { options }: Pick<ParsedCommand, 'options'>,
  named: (name: string) => (row: Row) => boolean,
): readonly Row[] {
  const { after } = options;
  const at = typeof after === 'string' ? rows.findIndex(named(after)) : null;
  if (at === -1) throw new WrongUse('usage', `'${String(after)}' is not in this list`, 'list it from its beginning again');
  const rest = at === null ? rows : rows.slice(at + 1);
  return options['limit'] === undefined ? rest : rest.slice(0, countOption({ options }, 'limit'));
}
