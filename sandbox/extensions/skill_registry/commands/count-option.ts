import { PithError, type CommandInput } from 'pith';

/** How many things an option asks for. Throws `usage` for what is no whole number from 1. */
export function countOption({ options }: Pick<CommandInput, 'options'>, name: string, otherwise: number): number {
  const given = options[name] ?? otherwise;
  if (Number.isSafeInteger(given) && Number(given) >= 1) return Number(given);
  throw new PithError('usage', `--${name} must be a whole number of at least 1, not '${String(given)}'`);
}
