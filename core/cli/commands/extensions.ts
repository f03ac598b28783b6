import { type CommandInput, type CommandIO, type JsonValue, PithError } from '../../contract/index.ts';
import type { ExtensionStatus } from '../../kernel/index.ts';
import { askText, GUARD_ASK, type Manifest, NETWORK_REACH } from '../../trust/index.ts';
import { didYouMean, findingLine, printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { agreed, paintState, printFields, printTable } from './text.ts';

export async function listExtensions(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
  const extensions = kernel.host.extensions.list();
  io.json(extensions.map(jsonOf));
  printTable(
    io,
    extensions,
    [
      { title: 'EXTENSION', value: ({ id }) => id },
      { title: 'STATE', value: ({ state }) => state, paint: (text, { state }) => paintState(io, state, text) },
      { title: 'VERSION', value: ({ version }) => version },
      { title: 'RUNS IN', value: ({ tier }) => PLACES[tier ?? 'contract'].short },
      { title: 'FROM', value: ({ shipped }) => (shipped ? 'pith' : 'sandbox') },
      { title: 'PROVIDES', value: (one) => (one.message === undefined ? one.provides.join(', ') : findingLine(one)), below: true },
    ],
    'No extensions',
  );
}

export async function showExtension(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const extension = findExtension(kernel, String(input.arguments['id']));
  if (input.options['source'] === true) return (await import('./extension-source.ts')).showSource(extension, io);
  io.json({ ...jsonOf(extension), manifest: extension.manifest as JsonValue });
  printFields(io, [
    ['extension', extension.id],
    ['state', extension.state, (text) => paintState(io, text)],
    ['version', extension.version],
    ['provides', extension.provides.join(', ')],
    ['runs', PLACES[extension.tier ?? 'contract'].long],
    ['folder', extension.directory],
    ...asksOf(extension.manifest),
    ['not agreed to', withheldText(extension)],
    ['phase', extension.phase],
    ['code', extension.code],
    ['reason', extension.message === undefined ? undefined : findingLine(extension)],
    ['notes', extension.notes.map(({ message }) => message).join('\n')],
  ]);
  return extension.state === 'failed' || extension.state === 'blocked' ? 1 : 0;
}

const PLACES = {
  in_process: { short: 'kernel', long: 'in the process of the kernel' },
  process: { short: 'process', long: 'in a separate process' },
  contract: { short: 'importers', long: 'in the extensions that import its contract' },
} as const satisfies Record<NonNullable<ExtensionStatus['tier']> | 'contract', object>;

/** The requests of its manifest that are not granted. */
function withheldText({ asks }: ExtensionStatus): string | undefined {
  const withheld = asks.filter((each) => each.withheld);
  return (
    withheld.map(({ ask, never }) => `${printableLine(askText(ask))}${never === null ? '' : ` (not possible: ${never})`}`).join('\n') ||
    undefined
  );
}

/** What it needs of others and of the person; lines without a value are left out. */
function asksOf(manifest: Manifest | null): readonly (readonly [string, string | undefined])[] {
  if (manifest === null) return [];
  const { permissions, events } = manifest;
  const granted = [
    ...(permissions.network ? [`network (${NETWORK_REACH})`] : []),
    ...permissions.read.map((path) => `read ${path}`),
    ...permissions.write.map((path) => `write ${path}`),
    ...(manifest.provides.includes('guard') ? [askText(GUARD_ASK)] : []),
  ];
  return [
    ['defines', [...Object.keys(manifest.defines.protocols), ...Object.keys(manifest.defines.topics)].join(', ') || undefined],
    ['depends on', [...manifest.depends_on, ...manifest.optional_depends_on.map((id) => `${id} (optional)`)].join(', ') || undefined],
    ['asks to run', manifest.entrypoint === undefined ? undefined : PLACES[manifest.isolation].long],
    ['asks for', granted.join(', ') || undefined],
    ['secrets', manifest.secrets.join(', ') || undefined],
    ['publishes', events.publishes.join(', ') || undefined],
    ['handles', events.handles.map(({ topic, handler }) => `${topic} (${handler})`).join(', ') || undefined],
    ['jobs', manifest.jobs.map(({ name }) => name).join(', ') || undefined],
    ['schedules', manifest.schedules.map(({ name, cron, handler, job }) => `${name}: ${cron} (${handler ?? job})`).join('\n') || undefined],
    ['set-up', manifest.setup_instructions || undefined],
  ];
}

/** Exit code 1 when the new version did not load; the old one then still runs. */
export async function reloadExtension(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const id = String(input.arguments['id']);
  const status = await kernel.host.extensions.reload(id); // it scans the disk first, so a new extension is found
  const ok = (status.state === 'active' || status.state === 'idle') && status.phase !== 'reload';
  io.json({ ok, ...jsonOf(status) });
  if (!ok) io.error(`pith: ${id} was not reloaded: ${findingLine(status)}`);
  else if (!io.quiet) io.print(`Reloaded ${id}`);
  return ok ? 0 : 1;
}

/** Throws `not_found` with the nearest id. */
export function findExtension(kernel: Kernel, id: string): ExtensionStatus {
  const found = kernel.host.extensions.show(id);
  if (found) return found;
  const ids = kernel.host.extensions.list().map((extension) => extension.id);
  const isRestricted = kernel.trust.level === 'restricted';
  throw new PithError('not_found', `no extension '${id}': nothing declares it${didYouMean(id, ids)}`, {
    cure: isRestricted ? 'the sandbox is restricted: see what it brings with pith trust' : 'see: pith extensions list',
  });
}

function jsonOf(extension: ExtensionStatus) {
  const { notes, provides, asks, manifest, ...plain } = extension;
  return {
    ...plain,
    description: manifest?.description ?? '',
    asks: asks.map((each) => ({ ...each })),
    provides: [...provides],
    depends_on: manifest?.depends_on ?? [],
    optional_depends_on: manifest?.optional_depends_on ?? [],
    defines: Object.keys(manifest?.defines.protocols ?? {}),
    notes: notes.map((note) => ({ ...note })),
  };
}

/** Records that a person grants what a manifest requests now. Exit code 1 when they refuse. */
export async function allowExtension(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const { ask: named, revoke } = input.options;
  const given = String(input.arguments['id']);
  if (revoke === true) return takeBack(kernel, given, io);
  if (Array.isArray(named)) return allowNamed(kernel, given, named.map(String), io);
  const { id, asks, manifest } = findExtension(kernel, given);
  if (manifest === null)
    throw new PithError('manifest_invalid', `the manifest of '${id}' is invalid, so what it asks for is unknown`, {
      cure: `correct it; see: pith extensions show ${id}`,
    });
  const open = asks.filter(({ withheld }) => withheld);
  const possible = open.filter(({ never }) => never === null);
  for (const { ask, never } of open)
    io.print(`${id} asks to ${printableLine(askText(ask))}${never === null ? '' : ` — not possible: ${never}`}`);
  if (possible.length === 0) {
    if (!io.quiet && open.length === 0) io.print(`${id} has everything that it asks for`);
    io.json({ ok: open.length === 0, id, granted: [] });
    return open.length === 0 ? 0 : 1;
  }
  const cure = `read the list above, then run: pith extensions allow ${id} --yes`;
  if (!(await agreed('Allow this?', cure, input, io))) return 1;
  kernel.trust.allow(
    id,
    asks.filter(({ never }) => never === null).map(({ ask }) => ask),
  );
  io.json({ ok: true, id, granted: possible.map(({ ask }) => ask) });
  if (!io.quiet) io.print(`${id} may now ${possible.map(({ ask }) => printableLine(askText(ask))).join('; ')}`);
  return 0;
}

function takeBack({ trust }: Kernel, id: string, io: CommandIO): number {
  const revoked = trust.takeBack(id);
  io.json({ ok: true, id, granted: [], revoked: [...revoked] });
  const texts = revoked.map((ask) => printableLine(askText(ask))).join('; ');
  if (!io.quiet)
    io.print(texts === '' ? `You had agreed to nothing for ${printableLine(id)}` : `${printableLine(id)} may no longer ${texts}`);
  return 0;
}

/** Records what a person has just granted in another question, which showed it: the manifest may not exist yet. */
function allowNamed({ trust }: Kernel, id: string, asks: readonly string[], io: CommandIO): number {
  if (io.session !== undefined) throw new PithError('usage', '--ask is for programs', { cure: `run: /extensions allow ${id}` });
  if (trust.level === 'restricted')
    throw new PithError('restricted', `'${id}' is given nothing: nobody has trusted the sandbox`, {
      where: trust.opened,
      cure: 'pith trust',
    });
  if (asks.length > 0) trust.allow(id, asks);
  io.json({ ok: true, id, granted: [...asks] });
  return 0;
}
