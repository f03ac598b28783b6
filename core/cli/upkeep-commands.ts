import type { CoreCommand } from './core-commands.ts';

const RECIPIENTS = {
  name: 'for',
  type: 'string',
  multiple: true,
  description: "Who gets it: extension:ID, or 'provider:openai https://api.openai.com' (default: who asks for it as the settings are)",
} as const;

/** Commands that set Pith up and keep it running. */
export const UPKEEP_COMMANDS: readonly CoreCommand[] = [
  {
    path: 'setup',
    needsTrust: true,
    description: 'Set up a model, a server or another extension; without a name, list what can be set up',
    arguments: [{ name: 'id', description: 'The extension' }],
    options: [
      { name: 'set', type: 'string', multiple: true, description: 'name=value, instead of being asked' },
      { name: 'for-agent', type: 'boolean', description: 'Only what an agent may set: no keys, addresses or rights' },
    ],
    needs: 'kernel',
    load: async () => (await import('./commands/setup.ts')).setUp,
  },
  {
    path: 'secrets list',
    description: 'List the secrets that extensions ask for and whom they were given for, without their values',
    needs: 'kernel',
    load: async () => (await import('./commands/secrets.ts')).listSecrets,
  },
  {
    path: 'secrets set',
    description: 'Keep a secret, asked for without showing it or piped in',
    arguments: [{ name: 'name', description: 'The name that extensions declare', required: true }],
    options: [RECIPIENTS],
    needs: 'kernel',
    load: async () => (await import('./commands/secrets.ts')).setSecret,
  },
  {
    path: 'secrets allow',
    description: 'Give a kept secret to one more extension, or to another address',
    arguments: [{ name: 'name', description: 'The name', required: true }],
    options: [RECIPIENTS],
    needs: 'kernel',
    load: async () => (await import('./commands/secrets.ts')).allowSecret,
  },
  {
    path: 'secrets remove',
    description: 'Forget a secret that was kept',
    arguments: [{ name: 'name', description: 'The name', required: true }],
    needs: 'kernel',
    load: async () => (await import('./commands/secrets.ts')).removeSecret,
  },
  {
    path: 'restart',
    description: 'Start the kernel again, where something supervises it; the conversations go on',
    arguments: [{ name: 'reason', description: 'Why', variadic: true }],
    only: 'chat',
    needs: 'kernel',
    load: async () => (await import('./commands/restart.ts')).restartKernel,
  },
  {
    path: 'serve',
    description: 'Run the kernel and its services until Ctrl-C, and start it again when it crashes',
    only: 'command line',
    needs: 'opener',
    load: async () => (await import('./serve/serve.ts')).serve,
  },
];
