import { matchCommand, pathThrough, shownWords } from '@pith/command-line';
import { type Command, PithError } from '../contract/index.ts';
import type { DeclaredCommand, Host } from '../kernel/index.ts';
import { CORE_COMMANDS, type CoreCommand } from './core-commands.ts';

/** The meaning of a command line, before any code of an extension is loaded. */
export type Resolved =
  | { readonly kind: 'core'; readonly command: CoreCommand; readonly rest: readonly string[] }
  | { readonly kind: 'declared'; readonly command: DeclaredCommand; readonly words: readonly string[] };

export const LINE_COMMANDS = CORE_COMMANDS.filter(({ only }) => only !== 'chat');

/** Where extensions' commands are found. */
export type CommandSource = {
  readonly extensions: Pick<Host['extensions'], 'list'>;
  readonly providers: Pick<Host['providers'], 'commands'>;
};

/** A command of an extension that cannot run. */
interface WithheldCommand {
  readonly path: string;
  readonly extensionId: string;
  /** null: it is switched off. */
  readonly reason: string | null;
}

/** The command of a line that names none. */
export const TALK = 'chat';

/**
 * Asks extensions only when no command of the kernel matches. A group alone means its list. Throws `command_unknown` or, for a group
 * without a list, `usage`.
 */
export async function resolveCommand(words: readonly string[], extensions: () => Promise<CommandSource>): Promise<Resolved> {
  const core = matchLine(LINE_COMMANDS, words);
  if (core && (await isSlipBelow(core, LINE_COMMANDS))) return unknownCommand(words, LINE_COMMANDS, core.command.path);
  if (core) return { kind: 'core', ...core };
  const source = await extensions();
  const others = source.providers.commands.declared();
  const found = matchCommand(others, words);
  const missing = matchCommand(withheldBy(source), words);
  if (missing && missing.rest.length < (found?.rest.length ?? Infinity)) throw unavailable(missing.command); // also below a word that other commands share
  if (found) return { kind: 'declared', command: found.command, words };
  return unknownCommand(words, [...LINE_COMMANDS, ...others]);
}

/** The command among those of an extension's code; a declared path may be only the first word of several. */
export async function resolveLoaded(
  words: readonly string[],
  commands: readonly Command[],
  source: CommandSource,
): Promise<{ readonly command: Command; readonly rest: readonly string[] }> {
  const found = matchLine(commands, words);
  if (found && (await isSlipBelow(found, commands))) return unknownCommand(words, commands, found.command.path);
  return found ?? unknownCommand(words, [...commands, ...source.providers.commands.declared()]); // another command may be declared separately
}

/** Whether there are more words than the command takes, and the first of them is a misspelt subcommand. */
async function isSlipBelow(
  { command, rest }: { readonly command: Pick<Command, 'path' | 'arguments'>; readonly rest: readonly string[] },
  commands: readonly { readonly path: string }[],
): Promise<boolean> {
  const [first, ...more] = leading(rest);
  const { path, arguments: taken = [] } = command;
  if (first === undefined || more.length < taken.length || taken.some(({ variadic }) => variadic === true)) return false;
  const names = commandsBelow(path.split(' '), commands).map((each) => each.path.split(' ')[path.split(' ').length] ?? '');
  const { slipsOf } = await import('@pith/plain-text');
  return slipsOf(first, names, MOST_WRONG).length > 0;
}

/**
 * Whether a line without a command is a message: its first word contains a sentence (`pith "fix the tests"`), or resembles no command, nor
 * is the later word of one. A word that resembles a command is a typing error.
 */
export async function isMessage(words: readonly string[], source: CommandSource): Promise<boolean> {
  const [first = ''] = words;
  if (/\s/u.test(first.trim())) return true;
  if (first.startsWith('-') || first.trim() === '') return false;
  const commands = [...LINE_COMMANDS, ...source.providers.commands.declared(), ...withheldBy(source)];
  const names = new Set([...commands.map(({ path }) => path.split(' ', 1)[0] ?? path), HELP]);
  if (pathThrough(words, commands) !== null) return false;
  if (Object.hasOwn(FAMILIAR, first) && words.length <= 2) return false;
  const { slipsOf } = await import('@pith/plain-text');
  return !names.has(first) && slipsOf(first, names, MOST_WRONG).length === 0;
}

/** Other programs' commands, and what does that here. Alone, or with one more word, they are not a message. */
const FAMILIAR: Readonly<Record<string, string>> = {
  models: 'connect a model: pith setup; which one answers: pith doctor',
  model: 'connect a model: pith setup; which one answers: pith doctor',
  login: 'connect a model: pith setup',
  config: 'edit pith.yaml in the sandbox, or ~/.pith/config.yaml; see: pith doctor',
  plugins: 'see: pith extensions list',
  sessions: 'see: pith threads list',
  history: 'see: pith threads list',
  resume: 'go on in a conversation: pith chat --resume',
  update: 'update Pith where it was installed: git pull && npm ci',
  upgrade: 'update Pith where it was installed: git pull && npm ci',
};

/** Letters. */
const MOST_WRONG = 2;

/** The first word of a line that asks for help. */
export const HELP = 'help';

/** As `matchCommand`; a group alone means its list. */
function matchLine<T extends { readonly path: string }>(commands: readonly T[], words: readonly string[]) {
  const typed = leading(words);
  const listing = [...typed, 'list'];
  const found = matchCommand(commands, words);
  if (found !== null || typed.length === 0) return found;
  const listed = matchCommand(commands, [...listing, ...words.slice(typed.length)]);
  return listed?.command.path === listing.join(' ') ? listed : null;
}

/** The commands behind a declared one. One that needs only the index activates nothing. */
export async function loadCommands(
  source: CommandSource,
  { needs, entry, extensionId, path }: DeclaredCommand,
): Promise<readonly Command[]> {
  if (needs !== 'index') return source.providers.commands.of(extensionId);
  if (entry === undefined)
    throw new PithError(
      'manifest_invalid',
      `the command '${path}' of ${extensionId} cannot be run: it needs only the index but does not name an entry`,
      {
        cure: 'add `entry:` to it in the manifest',
      },
    );
  const { commands } = source.providers;
  return (await commands.importEntry(extensionId, entry))(commands.contextOf(extensionId));
}

/** Commands below `words`, where these are a group and not a command. */
export function commandsBelow<T extends { readonly path: string }>(words: readonly string[], commands: readonly T[]): readonly T[] {
  const prefix = `${words.join(' ')} `;
  return commands.filter(({ path }) => path.startsWith(prefix));
}

function withheldBy(source: CommandSource): readonly WithheldCommand[] {
  return source.extensions
    .list()
    .filter(({ state }) => state === 'disabled' || state === 'failed' || state === 'blocked')
    .flatMap(({ id, state, message = 'it failed', manifest }) =>
      (manifest?.commands ?? []).map(({ path }) => ({ path, extensionId: id, reason: state === 'disabled' ? null : message })),
    );
}

function unavailable({ path, extensionId, reason }: WithheldCommand): PithError {
  return reason === null
    ? new PithError('command_unknown', `no command '${path}': its extension '${extensionId}' is switched off`, {
        cure: `switch it on in pith.yaml: extensions.${extensionId}.enabled`,
      })
    : new PithError('command_unknown', `no command '${path}': its extension '${extensionId}' cannot run: ${reason}`, {
        cure: 'see: pith doctor',
      });
}

/** `slipBelow`: the command before the misspelt word; default: the group that the words name. */
async function unknownCommand(
  words: readonly string[],
  commands: readonly { readonly path: string }[],
  slipBelow?: string,
): Promise<never> {
  const { didYouMean } = await import('@pith/plain-text');
  const typed = leading(words);
  const group = slipBelow?.split(' ') ?? groupOf(typed, commands);
  const below = commandsBelow(group, commands).map(({ path }) => path);
  if (group.length === typed.length && below.length > 0) {
    const message = `choose a subcommand of '${group.join(' ')}': ${below.map((path) => path.slice(group.join(' ').length + 1)).join(', ')}`;
    throw new PithError('usage', message, { cure: `see: pith ${group.join(' ')} --help` });
  }
  const word = typed[group.length] ?? '';
  const siblings = new Set(
    (group.length > 0 ? below : commands.map(({ path }) => path)).map((path) => path.split(' ')[group.length] ?? path),
  );
  const guess = didYouMean(word, siblings).replaceAll(/'(\S+)'/gu, `'${[...group, '$1'].join(' ')}'`);
  const known = group.length > 0 ? undefined : knownCure(typed, commands);
  const asMessage = group.length === 0 && typed.length === 1 && guess !== '' ? sendingIt(typed) : undefined;
  throw new PithError('command_unknown', `unknown command '${[...group, word].join(' ')}'${known === undefined ? guess : ''}`, {
    cure: known ?? asMessage ?? (guess === '' ? `see: ${['pith', ...group].join(' ')} --help` : undefined),
  });
}

function knownCure(typed: readonly string[], commands: readonly { readonly path: string }[]): string | undefined {
  const [word = ''] = typed;
  if (Object.hasOwn(FAMILIAR, word)) return FAMILIAR[word];
  const through = pathThrough(typed, commands);
  return through === null ? undefined : `see: pith ${through}; ${sendingIt(typed)}`;
}

function sendingIt(typed: readonly string[]): string {
  return `to send it as a message: pith -p ${shownWords([typed.join(' ')])}`;
}

/** The longest prefix of the words that begins some command's path. */
function groupOf(words: readonly string[], commands: readonly { readonly path: string }[]): readonly string[] {
  let group: readonly string[] = [];
  while (group.length < words.length && commandsBelow(words.slice(0, group.length + 1), commands).length > 0)
    group = words.slice(0, group.length + 1);
  return group;
}

function leading(words: readonly string[]): readonly string[] {
  const option = words.findIndex((word) => word.startsWith('-'));
  return option < 0 ? words : words.slice(0, option);
}
