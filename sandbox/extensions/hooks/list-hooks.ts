import type { Command } from 'pith';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { Hook } from './config.ts';

export function listHooks(hooks: readonly Hook[]): Command {
  return {
    path: 'hooks list',
    description: 'Show the commands that run before and after tools',
    async run(_input, io) {
      io.json(hooks.map((hook) => ({ ...hook })));
      const rows = hooks.map(({ name, on, tools, command }) =>
        [name, on, on === 'turn_end' ? '' : tools.join(', '), command].map((text) => printableLine(text)),
      );
      io.print(
        rows.length === 0
          ? 'No hooks: add them to your settings under extensions.hooks, as in the example of docs/tools.md'
          : renderTable(rows, textColumns(['HOOK', 'ON', 'TOOLS', 'COMMAND']), widthOf(io)),
      );
    },
  };
}
