import { PithError } from '../contract/index.ts';
import type { CommandOption, CommandShape } from '@pith/command-line';
import type { Manifest } from '../trust/index.ts';

/** Options that every command accepts, anywhere on the line. */
export interface CommonOptions {
  /** As typed; null when it was not given. */
  readonly sandbox: string | null;
  readonly json: boolean;
  readonly quiet: boolean;
  /** The sandbox is trusted for this process. */
  readonly trust: boolean;
  readonly help: boolean;
  readonly version: boolean;
  /** The remaining words as typed. */
  readonly words: readonly string[];
}

export const COMMON_OPTIONS: readonly CommandOption[] = [
  { name: 'sandbox', type: 'string', description: 'The sandbox to use (default: the nearest sandbox/ upwards)' },
  { name: 'trust', type: 'boolean', description: 'Trust the sandbox, for this command only' },
  { name: 'json', type: 'boolean', description: 'Print JSON and nothing else' },
  { name: 'quiet', type: 'boolean', description: 'Print only results and errors' },
  { name: 'help', short: 'h', type: 'boolean', description: 'Show how a command is used' },
  { name: 'version', short: 'v', type: 'boolean', description: "Print Pith's version" },
];

type Switch = 'json' | 'quiet' | 'trust' | 'help' | 'version';

const SWITCHES: ReadonlyMap<string, Switch> = new Map([
  ...COMMON_OPTIONS.filter(({ type }) => type === 'boolean').flatMap(({ name, short }) =>
    [`--${name}`, ...(short === undefined ? [] : [`-${short}`])].map((word) => [word, name as Switch] as const),
  ),
  ['-V', 'version'],
]);

/** Removes the common options from `argv`; what follows `--` is left alone. Throws `usage`. */
export function takeCommonOptions(argv: readonly string[]): CommonOptions {
  const found = { sandbox: null as string | null, trust: false, json: false, quiet: false, help: false, version: false };
  const words: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--') {
      words.push(...argv.slice(index));
      break;
    }
    const name = SWITCHES.get(word);
    if (name !== undefined) found[name] = true;
    else if (word === '--sandbox') found.sandbox = valueOf(argv[(index += 1)]);
    else if (word.startsWith('--sandbox=')) found.sandbox = valueOf(word.slice('--sandbox='.length));
    else words.push(word);
  }
  return { ...found, words };
}

/** Moves options that were typed before the command behind it. */
export function commandFirst(words: readonly string[]): readonly string[] {
  const first = words.findIndex((word) => !word.startsWith('--'));
  return first > 0 ? [...words.slice(first), ...words.slice(0, first)] : words;
}

/** The words with two dashes before `--`, without the dashes. */
export function switchesIn(words: readonly string[]): readonly string[] {
  const end = words.indexOf('--');
  return (end < 0 ? words : words.slice(0, end)).flatMap((word) => (word.startsWith('--') ? [word.slice(2)] : []));
}

/** The `switches` that extensions declare; one that several declare counts once. */
export function switchesOf(extensions: readonly { readonly manifest: Pick<Manifest, 'switches'> | null }[]): readonly CommandOption[] {
  const taken = new Set(COMMON_OPTIONS.map(({ name }) => name));
  const declared = new Map<string, CommandOption>();
  for (const { name, description } of extensions.flatMap(({ manifest }) => manifest?.switches ?? []))
    if (!taken.has(name) && !declared.has(name)) declared.set(name, { name, description, type: 'boolean' });
  return [...declared.values()];
}

/** Removes `switches` that the command itself does not have as options; what follows `--` is left alone. */
export function withoutSwitches(
  words: readonly string[],
  switches: readonly CommandOption[],
  { options = [] }: Pick<CommandShape, 'options'> = {},
): readonly string[] {
  const taken = new Set(switches.map(({ name }) => name));
  for (const { name } of options) taken.delete(name);
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  return words.filter((word, index) => index >= end || !word.startsWith('--') || !taken.has(word.slice(2)));
}

function valueOf(value: string | undefined): string {
  if (value === undefined || value === '')
    throw new PithError('usage', 'wrong use of --sandbox: it needs a folder', { cure: 'write: --sandbox <folder>' });
  return value;
}
