import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';
import { DEFAULT_RECIPIENT, recipientOf } from '../../trust/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { findExtension } from './extensions.ts';
import { printTable } from './text.ts';

/** Lists names and recipients only. */
export async function listSecrets(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
  const secrets = kernel.host.setup.secrets();
  io.json(secrets.map((secret) => ({ ...secret, extensions: [...secret.extensions], for: secret.for && [...secret.for] })));
  printTable(
    io,
    secrets,
    [
      { title: 'SECRET', value: ({ name }) => name },
      { title: 'SET IN', value: ({ from }) => from ?? '-' },
      { title: 'GIVEN FOR', value: ({ for: recipients }) => (recipients === null ? '-' : recipients.map(inWords).join(', ') || 'nobody') },
      { title: 'ASKED FOR BY', value: ({ extensions }) => extensions.join(', ') },
    ],
    'No extension asks for a secret',
  );
}

/** Reads the value hidden from a terminal, or the first line of piped input. The value is never an argument. */
export async function setSecret(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const name = String(input.arguments['name']);
  const { setup } = kernel.host;
  if (!setup.secrets().some((secret) => secret.name === name)) await setup.setSecret(name, null); // throws the reason before anybody types
  const recipients = await recipientsOf(kernel, input, name);
  if (!(await mayReplace(kernel, name, input, io))) return 1;
  if (io.interactive) io.print(`${name} will be given to ${recipients.join(', ')} and to nobody else.`);
  const value = io.interactive ? await io.ask(`${name}:`, { secret: true }) : await firstLine(io.input);
  if (value === null || value.trim() === '')
    throw new PithError('usage', `nothing was stored: no value was given for '${name}'`, {
      cure: io.interactive ? undefined : `run it on a terminal, or pipe the value in: … | pith secrets set ${name}`,
    });
  const { from } = await setup.setSecret(name, { value: value.trim(), for: recipients });
  io.json({ ok: true, name, from, for: [...recipients] });
  if (from === 'environment') io.error(`The environment has ${name} too, and wins`);
  if (!io.quiet) io.print(`Stored ${name} for ${recipients.join(', ')}`);
  return 0;
}

/** False: the person keeps the present value. Throws `usage` where nobody can be asked. */
async function mayReplace(kernel: Kernel, name: string, { options }: CommandInput, io: CommandIO): Promise<boolean> {
  const isKept = kernel.host.setup.secrets().some((secret) => secret.name === name && secret.for !== null);
  if (!isKept || options['yes'] === true) return true;
  if (!io.interactive)
    throw new PithError('usage', `'${name}' is stored already, and cannot be restored once it is replaced`, {
      cure: 'add --yes to replace it',
    });
  if ((await io.ask(`${name} is stored already, and cannot be restored. Replace it?`, { choices: ['yes', 'no'] })) === 'yes') return true;
  io.print('Nothing was changed');
  return false;
}

/** Gives a stored secret to more recipients. */
export async function allowSecret(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const name = String(input.arguments['name']);
  const recipients = await recipientsOf(kernel, input, name);
  const { for: given } = await kernel.host.setup.allowSecret(name, recipients);
  io.json({ ok: true, name, for: [...(given ?? [])] });
  if (!io.quiet) io.print(`${name} is now given to ${(given ?? []).map(inWords).join(', ')}`);
}

export async function removeSecret(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const name = String(input.arguments['name']);
  const stored = kernel.host.setup.secrets().find((secret) => secret.name === name);
  if (stored !== undefined && stored.for === null)
    throw new PithError('not_found', `no secret '${name}' is stored: there is nothing to remove`, {
      cure: stored.from === 'environment' ? `it is set in the environment; to remove it there: unset ${name}` : 'see: pith secrets list',
    });
  const { from } = await kernel.host.setup.setSecret(name, null);
  io.json({ ok: true, name, from });
  if (!io.quiet)
    io.print(
      from === null
        ? `Removed ${name}`
        : `Removed ${name}; ${from === '.env' ? 'the .env of this project' : 'the environment'} still has it`,
    );
}

/** The recipients that a person names, else those that request it under the current settings. */
async function recipientsOf(kernel: Kernel, { options }: CommandInput, name: string): Promise<readonly string[]> {
  const named = ((options['for'] ?? []) as readonly string[]).map(recipientOf);
  for (const who of named) {
    const [, id] = /^extension:(\S+)/u.exec(who) ?? [];
    if (id !== undefined) findExtension(kernel, id);
  }
  if (named.length > 0) return named;
  const users = await kernel.host.setup.secretUsers(name);
  if (users.length > 0) return users;
  throw new PithError('not_declared', `no extension or setting uses '${name}' now`, {
    cure: `name who gets it: pith secrets set ${name} --for extension:ID`,
  });
}

function inWords(recipient: string): string {
  return recipient === DEFAULT_RECIPIENT ? 'the usual addresses' : recipient;
}

async function firstLine(lines: AsyncIterable<string>): Promise<string | null> {
  for await (const line of lines) return line;
  return null;
}
