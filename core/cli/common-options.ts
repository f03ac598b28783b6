import { PithError } from '../contract/index.ts';
import type { CommandOption } from '@pith/command-line';

/** What every command understands, wherever it stands on the line. */
export interface CommonOptions {
  /** As typed; null when it was not given. */
  readonly sandbox: string | null;
  readonly json: boolean;
  readonly quiet: boolean;
  /** The sandbox is trusted for this process. */
  readonly trust: boolean;
  readonly help: boolean;
  readonly version: boolean;
  /** Settings of the highest precedence, from switches such as `--no-skills`. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** The words that are left. */
  readonly words: readonly string[];
}

export const COMMON_OPTIONS: readonly CommandOption[] = [
  { name: 'sandbox', type: 'string', description: 'The sandbox to use (default: the nearest sandbox/ upwards)' },
  { name: 'trust', type: 'boolean', description: 'Trust the sandbox, for this command only' },
  { name: 'json', type: 'boolean', description: 'Print JSON and nothing else' },
  { name: 'quiet', type: 'boolean', description: 'Print only results and errors' },
  { name: 'help', short: 'h', type: 'boolean', description: 'Show how a command is used' },
  { name: 'version', short: 'V', type: 'boolean', description: "Print Pith's version" },
];

/**
 * Switches that stand for settings. They must be known before the kernel exists, and so before the command that
 * names them has been loaded: the line is searched for them whatever the command is.
 */
const SETTING_SWITCHES: ReadonlyMap<string, Readonly<Record<string, unknown>>> = new Map([['--no-skills', { skills: { enabled: false } }]]);

const SWITCHES: ReadonlyMap<string, 'json' | 'quiet' | 'trust' | 'help' | 'version'> = new Map([
  ['--trust', 'trust'],
  ['--json', 'json'],
  ['--quiet', 'quiet'],
  ['--help', 'help'],
  ['-h', 'help'],
  ['--version', 'version'],
  ['-V', 'version'],
]);

/** Takes the common options out of `argv`; what follows `--` is left alone. Throws `usage`. */
export function takeCommonOptions(argv: readonly string[]): CommonOptions {
  const found = { sandbox: null as string | null, trust: false, json: false, quiet: false, help: false, version: false };
  const flags: Record<string, unknown> = {};
  const words: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--') {
      words.push(...argv.slice(index));
      break;
    }
    const name = SWITCHES.get(word);
    const setting = SETTING_SWITCHES.get(word);
    if (name !== undefined) found[name] = true;
    else if (setting !== undefined) Object.assign(flags, setting);
    else if (word === '--sandbox') found.sandbox = valueOf(argv[(index += 1)]);
    else if (word.startsWith('--sandbox=')) found.sandbox = valueOf(word.slice('--sandbox='.length));
    else words.push(word);
  }
  return { ...found, flags, words };
}

function valueOf(value: string | undefined): string {
  if (value === undefined || value === '')
    throw new PithError('usage', 'wrong use of --sandbox: it needs a folder', { cure: 'write: --sandbox <folder>' });
  return value;
}
