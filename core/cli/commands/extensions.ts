import { PithError } from '../../contract/errors.ts';
import { didYouMean } from '../../contract/nearest.ts';
import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { ExtensionStatus } from '../../host/host-options.ts';
import type { KernelPort } from '../kernel-port.ts';
import { findingLine, paintState, printFields, printTable } from './text.ts';

export async function listExtensions(kernel: KernelPort, _input: CommandInput, io: CommandIO): Promise<void> {
  const extensions = kernel.extensions.list();
  io.json(extensions.map(jsonOf));
  printTable(
    io,
    extensions,
    [
      { title: 'EXTENSION', value: ({ id }) => id },
      { title: 'STATE', value: ({ state }) => state, paint: (text, { state }) => paintState(io, state, text) },
      { title: 'VERSION', value: ({ version }) => version },
      { title: 'PROVIDES', value: ({ provides }) => provides.join(', ') },
      { title: 'FROM', value: ({ shipped }) => (shipped ? 'pith' : 'sandbox') },
      { title: 'REASON', value: (extension) => (extension.message === undefined ? '' : findingLine(extension)) },
    ],
    'No extensions',
  );
}

export async function showExtension(kernel: KernelPort, input: CommandInput, io: CommandIO): Promise<number> {
  const extension = findExtension(kernel, String(input.arguments['id']));
  io.json(jsonOf(extension));
  printFields(io, [
    ['extension', extension.id],
    ['state', paintState(io, extension.state)],
    ['version', extension.version],
    ['provides', extension.provides.join(', ')],
    ['folder', extension.directory],
    ['phase', extension.phase],
    ['code', extension.code],
    ['reason', extension.message === undefined ? undefined : findingLine(extension)],
    ['notes', extension.notes.map(({ message }) => message).join('\n')],
  ]);
  return extension.state === 'failed' || extension.state === 'blocked' ? 1 : 0;
}

/** Exit code 1 when the new version did not load; the old one then still runs. */
export async function reloadExtension(kernel: KernelPort, input: CommandInput, io: CommandIO): Promise<number> {
  const { id } = findExtension(kernel, String(input.arguments['id']));
  const status = await kernel.extensions.reload(id);
  const ok = status.state === 'active' || status.state === 'idle';
  io.json({ ok, ...jsonOf(status) });
  if (!ok) io.error(`pith: ${id} was not reloaded: ${findingLine(status)}`);
  else if (!io.quiet) io.print(`Reloaded ${id}`);
  return ok ? 0 : 1;
}

function findExtension(kernel: KernelPort, id: string): ExtensionStatus {
  const found = kernel.extensions.show(id);
  if (found) return found;
  const extensions = kernel.extensions.list();
  throw new PithError(
    'not_found',
    `no extension '${id}': nothing declares it${didYouMean(
      id,
      extensions.map((extension) => extension.id),
    )}`,
    { cure: 'see: pith extensions list' },
  );
}

function jsonOf(extension: ExtensionStatus) {
  const { notes, provides, ...plain } = extension;
  return { ...plain, provides: [...provides], notes: notes.map((note) => ({ ...note })) };
}
