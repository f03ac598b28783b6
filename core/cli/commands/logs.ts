import { type CommandInput, type CommandIO, type JsonValue, PithError } from '../../contract/index.ts';
import { countOption } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { LOG_LEVELS, readLog } from '../../kernel/index.ts';
import { findExtension } from './extensions.ts';
import { colours, timeOf } from './text.ts';

/** The newest records, the oldest of them first. Rejects a name that neither an extension nor a record has. */
export async function showLogs(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const { name } = input.arguments;
  const level = LOG_LEVELS.find((each) => each === input.options['level']);
  if (level === undefined)
    throw new PithError('usage', `there is no level '${printableLine(String(input.options['level']), 40)}'`, {
      cure: `use one of ${LOG_LEVELS.join(', ')}`,
    });
  const wanted = { name: name === undefined ? null : String(name), level, most: countOption(input, 'last') };
  const records = readLog(kernel.settings.data_dir, wanted);
  const isKnown =
    wanted.name === null || records.length > 0 || readLog(kernel.settings.data_dir, { ...wanted, level: 'debug', most: 1 }).length > 0;
  if (!isKnown) findExtension(kernel, String(name));
  io.json(records as unknown as JsonValue);
  const colour = colours(io);
  const paint = { debug: colour.dim, info: colour.dim, warn: colour.yellow, error: colour.red };
  for (const record of records) {
    const fields = Object.keys(record.fields).length === 0 ? '' : ` ${colour.dim(printableLine(JSON.stringify(record.fields)))}`;
    io.print(`${timeOf(record.time)} ${paint[record.level](record.level)} ${record.name}: ${printableLine(record.message)}${fields}`);
  }
  if (records.length === 0) io.print('The log has nothing of it');
}
