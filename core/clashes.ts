import type { Diagnostic } from './contract/index.ts';
import type { ExtensionHost } from './host/host.ts';

const KERNEL = 'pith itself';

/** Notes on names that more than one extension gives to a tool or a command; `taken`: commands of the kernel. Ask when everything has been activated. */
export async function clashes(
  host: Pick<ExtensionHost, 'list' | 'tools' | 'commands' | 'keepsNames'>,
  taken: readonly { readonly path: string }[] = [],
): Promise<readonly Diagnostic[]> {
  const active = host.list().filter(({ state, provides }) => state === 'active' && provides.includes('tool'));
  const offered = await Promise.all(
    active.map(async ({ id }) => {
      const tools = await host.tools(id).catch(() => []); // it stopped in between, and is told as failed
      return tools.map(({ name, yields }) => [name, id, host.keepsNames(id) && yields !== true] as const);
    }),
  );
  return [
    ...shared(offered.flat().map(([name, id]) => [name, id] as const)).map(([name, ids]) => {
      const keepers = offered.flat().flatMap(([each, id, keeps]) => (keeps && each === name ? [id] : []));
      const seen = ids.map((id) => (keepers.length === 1 && keepers[0] === id ? `${name} of '${id}'` : `${id}__${name}`));
      return clash(`the tool '${name}' is offered by ${listed(ids)}; an agent that uses both sees ${seen.join(' and ')}`);
    }),
    ...host
      .commands()
      .filter(({ path, declared }) => path !== declared)
      .map(({ path, declared, extensionId }) =>
        clash(
          `the command '${declared}' of '${extensionId}' is reached as 'pith ${path}': another has that name, or begins with the same word`,
        ),
      ),
    ...shared([
      ...taken.map(({ path }) => [path, KERNEL] as const),
      ...host.commands().map(({ path, extensionId }) => [path, extensionId] as const),
    ]).map(([path, ids]) =>
      clash(`the command '${path}' is declared by ${listed(ids)}; only that of '${ids[0]}' runs where both have the same words`),
    ),
  ];
}

/** Names with all that have them, where these are several. */
function shared(pairs: readonly (readonly [string, string])[]): readonly (readonly [string, readonly string[]])[] {
  const owners = new Map<string, Set<string>>();
  for (const [name, owner] of pairs) owners.set(name, (owners.get(name) ?? new Set()).add(owner));
  return [...owners].filter(([, ids]) => ids.size > 1).map(([name, ids]) => [name, [...ids]] as const);
}

function listed(ids: readonly string[]): string {
  return ids.map((id) => `'${id}'`).join(' and ');
}

function clash(message: string): Diagnostic {
  return { severity: 'info', code: 'name_clash', message, cure: 'rename one of them if that is not meant' };
}
