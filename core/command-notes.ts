import type { Command, Diagnostic } from './contract/index.ts';
import type { ExtensionHost } from './host/host.ts';

/** What commands say is wrong with them, and those that give way to others; `taken`: commands of the kernel. Ask when everything has been activated. */
export async function commandNotes(
  host: Pick<ExtensionHost, 'list' | 'commands' | 'commandsOf'>,
  taken: readonly { readonly path: string }[] = [],
): Promise<readonly Diagnostic[]> {
  const active = host.list().filter(({ state, provides }) => state === 'active' && provides.includes('command'));
  const lists = await Promise.all(active.map(({ id }) => host.commandsOf(id).catch((): readonly Command[] => []))); // told as failed
  const commands = lists.flat();
  const strangers = new Set(commands.filter(({ prefixed }) => prefixed !== undefined).map(({ path }) => path)); // these give way themselves
  const others = [...host.commands(), ...commands.filter((command) => command.yields !== true)].filter(({ path }) => !strangers.has(path));
  const words = new Set([...taken, ...others].map(firstWord));
  return commands.flatMap((command): readonly Diagnostic[] => [
    ...(command.notes ?? []),
    ...(command.yields === true && words.has(firstWord(command)) ? [hidden(command)] : []),
  ]);
}

function firstWord({ path }: { readonly path: string }): string {
  return path.split(' ', 1)[0] ?? path;
}

function hidden({ path, description }: Command): Diagnostic {
  return {
    severity: 'warning',
    code: 'name_clash',
    message: `'/${path}' (${description}) gives way to the command of that name`,
    cure: 'rename it',
  };
}
