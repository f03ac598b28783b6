import type { CommandOption } from '../contract/protocols/command-provider.ts';
import type { CoreCommand } from './core-commands.ts';

const DIR = { name: 'dir', description: 'The project or its sandbox (default: the one that would be used here)' };
const YES: CommandOption = { name: 'yes', type: 'boolean', description: 'Do not ask; answer yes' };

/** Whether a sandbox is the person's own. */
export const TRUST_COMMANDS: readonly CoreCommand[] = [
  {
    path: 'trust',
    description: 'Show what a sandbox brings, and trust it; or list what is trusted',
    arguments: [DIR],
    options: [
      YES,
      { name: 'state', type: 'boolean', description: 'Also use the state in its data folder: it is mine' },
      { name: 'list', type: 'boolean', description: 'List the sandboxes that you have trusted or refused' },
    ],
    only: 'command line',
    needs: 'target',
    load: async () => (await import('./commands/trust.ts')).trust,
  },
  {
    path: 'untrust',
    description: 'Stop trusting a sandbox; Pith then uses nothing from it',
    arguments: [DIR],
    only: 'command line',
    needs: 'target',
    load: async () => (await import('./commands/trust.ts')).untrust,
  },
];
