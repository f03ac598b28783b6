import type { CommandOption } from '../contract/protocols/command-provider.ts';
import type { CoreCommand } from './core-commands.ts';

const DIR = { name: 'dir', description: 'The project or its sandbox (default: the one that would be used here)' };
const YES: CommandOption = { name: 'yes', type: 'boolean', description: 'Without a question' };

/** Whether a sandbox is the person's own. */
export const TRUST_COMMANDS: readonly CoreCommand[] = [
  {
    path: 'trust',
    description: 'Show what a sandbox brings, and trust it; or list what is trusted',
    arguments: [DIR],
    options: [
      YES,
      { name: 'state', type: 'boolean', description: 'The state that lies in its data folder is mine, too' },
      { name: 'list', type: 'boolean', description: 'List the sandboxes about which you have decided' },
    ],
    only: 'command line',
    needs: 'target',
    load: async () => (await import('./commands/trust.ts')).trust,
  },
  {
    path: 'untrust',
    description: 'Trust a sandbox no longer: only what ships with Pith is used in it',
    arguments: [DIR],
    only: 'command line',
    needs: 'target',
    load: async () => (await import('./commands/trust.ts')).untrust,
  },
];
