import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';
import { DEFAULT_RECIPIENT, recipientOf } from '../../trust/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { didYouMean } from '@pith/plain-text';
import { findExtension } from './extensions.ts';
import { printTable } from './text.ts';

/** Lists names and recipients only. */
export async function listSecrets(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
  const secrets = kernel.host.setup.secrets();
  io.json(
    secrets.map((secret) => ({
      ...secret,
      extensions: [...secret.extensions],
      for: secret.for && [...secret.for],
      none: [...secret.none],
    })),
  );
  printTable(
    io,
    secrets,
    [
      { title: 'SECRET', value: ({ name }) => name },
      { title: 'SET IN', value: ({ from }) => from ?? '-' },
      { title: 'GIVEN FOR', value: givenFor },
      { title: 'ASKED FOR BY', value: ({ extensions }) => extensions.join(', '), below: true },
    ],
    'No extension asks for a secret',
  );
}

/** Reads the value hidden from a terminal, or the first line of piped input. The value is never an argument. */
export async function setSecret(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const name = String(input.arguments['name']);
  const { setup } = kernel.host;
  setup.checkSecret(name); // before anybody types
  const recipients = await recipientsOf(kernel, input, name);
  if (!(await mayReplace(kernel, { name, recipients }, input, io))) return 1;
  if (io.interactive) io.print(`${name} will be given to ${recipients.join(', ')} and to nobody else.`);
  const value = io.interactive ? await io.ask(`${name}:`, { secret: true }) : await firstLine(io.input);
  if (value === null || value.trim() === '')
    throw new PithError('usage', `nothing was stored: no value was given for '${name}'`, {
      cure: io.interactive ? undefined : `run it on a terminal, or pipe the value into: pith secrets set ${name}`,
    });
  const { from } = await setup.setSecret(name, { value: value.trim(), for: recipients });
  io.json({ ok: true, name, from, for: [...recipients] });
  if (from === 'environment') io.error(`The environment has ${name} too, and wins`);
  if (!io.quiet) io.print(`Stored ${name} for ${recipients.join(', ')}`);
  return 0;
}

/** False: the person keeps the present value. Throws `usage` where nobody can be asked. */
async function mayReplace(
  kernel: Kernel,
  { name, recipients }: { readonly name: string; readonly recipients: readonly string[] },
  { options }: CommandInput,
  io: CommandIO,
): Promise<boolean> {
  const given = kernel.host.setup.secrets().find((secret) => secret.name === name)?.for ?? [];
  const having = recipients.filter((one) => given.includes(one));
  if (having.length === 0 || options['yes'] === true) return true;
  const is = `${name} is stored already for ${having.join(', ')}`;
  if (!io.interactive)
    throw new PithError('usage', `${is}, and cannot be restored once it is replaced`, { cure: 'add --yes to replace it' });
  if ((await io.ask(`${is}, and cannot be restored. Replace it?`, { choices: ['yes', 'no'] })) === 'yes') return true;
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

/** Of several recipients only those that a person names, or with `--yes` all. */
export async function removeSecret(kernel: Kernel, { arguments: words, options }: CommandInput, io: CommandIO): Promise<void> {
  const name = String(words['name']);
  const stored = kernel.host.setup.secrets().find((secret) => secret.name === name);
  const kept = [...(stored?.for ?? []), ...(stored?.none ?? [])];
  if (stored !== undefined && stored.for === null && kept.length === 0)
    throw new PithError('not_found', `no secret '${name}' is stored: there is nothing to remove`, {
      cure: stored.from === 'environment' ? `it is set in the environment; to remove it there: unset ${name}` : 'see: pith secrets list',
    });
  const named = ((options['for'] ?? []) as readonly string[]).map((text) => (kept.includes(text) ? text : recipientOf(text)));
  const missing = named.find((one) => !kept.includes(one));
  if (missing !== undefined)
    throw new PithError('not_found', `no secret '${name}' is stored for ${missing}${didYouMean(missing, kept)}`, {
      cure: 'see: pith secrets list',
    });
  if (named.length === 0 && kept.length > 1 && options['yes'] !== true)
    throw new PithError('usage', `'${name}' is stored for ${kept.map(inWords).join(', ')}, and cannot be restored`, {
      cure: `name one: pith secrets remove ${name} --for '${kept[0]}'; or remove all: pith secrets remove ${name} --yes`,
    });
  const { from } = await kernel.host.setup.removeSecret(name, named.length > 0 ? named : null);
  io.json({ ok: true, name, from });
  if (io.quiet) return;
  const left = from === 'file' || from === null ? '' : `; ${from === '.env' ? 'the .env of this project' : 'the environment'} still has it`;
  io.print(`Removed ${name}${named.length > 0 ? ` for ${named.map(inWords).join(', ')}` : ''}${left}`);
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

function givenFor({ for: recipients, none }: ReturnType<Kernel['host']['setup']['secrets']>[number]): string {
  const given = recipients === null ? [] : recipients.map(inWords);
  const all = [...(recipients?.length === 0 ? ['nobody'] : given), ...none.map((one) => `${inWords(one)} (needs none)`)];
  return all.join(', ') || '-';
}

function inWords(recipient: string): string {
  return recipient === DEFAULT_RECIPIENT ? 'the default addresses' : recipient;
}

async function firstLine(lines: AsyncIterable<string>): Promise<string | null> {
  for await (const line of lines) return line;
  return null;
}
