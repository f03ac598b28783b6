import { PithError } from '../../contract/errors.ts';
import { didYouMean } from '../../contract/nearest.ts';
import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { ExtensionLine, KernelPort } from '../kernel-port.ts';
import { findingLine, paintState, printFields, printTable } from './text.ts';

export async function listExtensions(kernel: KernelPort, _input: CommandInput, io: CommandIO): Promise<void> {
  const extensions = kernel.extensions.list();
  io.json(extensions.map(jsonOf));
  printTable(io, extensions, [
    { title: 'EXTENSION', value: ({ id }) => id },
    { title: 'STATE', value: ({ state }) => state, paint: (text, { state }) => paintState(io, state, text) },
    { title: 'VERSION', value: ({ version }) => version ?? '' },
    { title: 'PROVIDES', value: ({ provides }) => provides?.join(', ') ?? '' },
    { title: 'DESCRIPTION', value: (extension) => extension.message ?? extension.description ?? '' },
  ], 'No extensions');
}

export async function showExtension(kernel: KernelPort, input: CommandInput, io: CommandIO): Promise<number> {
  const extension = findExtension(kernel, String(input.arguments['id']));
  io.json(jsonOf(extension));
  printFields(io, [
    ['extension', extension.id],
    ['name', extension.name === extension.id ? undefined : extension.name],
    ['state', paintState(io, extension.state)],
    ['version', extension.version],
    ['description', extension.description],
    ['provides', extension.provides?.join(', ')],
    ['folder', extension.directory],
    ['phase', extension.phase],
    ['code', extension.code],
    ['reason', extension.message === undefined ? undefined : findingLine(extension)],
  ]);
  return extension.state === 'failed' || extension.state === 'blocked' ? 1 : 0;
}

/** Throws what kept the new version from loading; the old one then still runs. */
export async function reloadExtension(kernel: KernelPort, input: CommandInput, io: CommandIO): Promise<void> {
  const { id } = findExtension(kernel, String(input.arguments['id']));
  await kernel.extensions.reload(id);
  io.json({ ok: true, id });
  if (!io.quiet) io.print(`Reloaded ${id}`);
}

function findExtension(kernel: KernelPort, id: string): ExtensionLine {
  const extensions = kernel.extensions.list();
  const found = extensions.find((extension) => extension.id === id);
  if (found) return found;
  throw new PithError('not_found', `no extension '${id}': nothing declares it${didYouMean(id, extensions.map((extension) => extension.id))}`, { cure: 'see: pith extensions list' });
}

function jsonOf(extension: ExtensionLine) {
  const { id, state, name, version, description, provides, directory, phase, code, message, file, line, cure } = extension;
  return { id, state, name, version, description, provides, directory, phase, code, message, file, line, cure };
}
