import { PithError } from '../../contract/errors.ts';
import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { KernelPort } from '../kernel-port.ts';
import { printTable } from './text.ts';

/** Names only. */
export async function listSecrets(kernel: KernelPort, _input: CommandInput, io: CommandIO): Promise<void> {
  const secrets = kernel.extensions.setup.secrets();
  io.json(secrets.map(({ name, extensions, from }) => ({ name, extensions: [...extensions], from })));
  printTable(
    io,
    secrets,
    [
      { title: 'SECRET', value: ({ name }) => name },
      { title: 'SET IN', value: ({ from }) => from ?? '-' },
      { title: 'FOR', value: ({ extensions }) => extensions.join(', ') },
    ],
    'No extension asks for a secret',
  );
}

/** Asks without showing what is typed; takes the first line of what is piped in. The value is never an argument. */
export async function setSecret(kernel: KernelPort, input: CommandInput, io: CommandIO): Promise<number> {
  const name = String(input.arguments['name']);
  const { setup } = kernel.extensions;
  if (!setup.secrets().some((secret) => secret.name === name)) await setup.setSecret(name, null); // says why not, before anybody types
  const value = io.interactive ? await io.ask(`${name}:`, { secret: true }) : await firstLine(io.input);
  if (value === null || value.trim() === '')
    throw new PithError('usage', `no value was given for '${name}'`, {
      cure: `run it on a terminal, or pipe the value in: … | pith secrets set ${name}`,
    });
  const { from } = await setup.setSecret(name, value.trim());
  io.json({ ok: true, name, from });
  if (from === 'environment') io.error(`The environment has ${name} too, and wins`);
  if (!io.quiet) io.print(`Kept ${name}`);
  return 0;
}

export async function removeSecret(kernel: KernelPort, input: CommandInput, io: CommandIO): Promise<void> {
  const name = String(input.arguments['name']);
  const { from } = await kernel.extensions.setup.setSecret(name, null);
  io.json({ ok: true, name, from });
  if (!io.quiet) io.print(from === null ? `Removed ${name}` : `Removed ${name}; the environment still has it`);
}

async function firstLine(lines: AsyncIterable<string>): Promise<string | null> {
  for await (const line of lines) return line;
  return null;
}
