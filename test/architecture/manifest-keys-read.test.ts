import { describe, expect, it } from 'vitest';
import { manifestKeys } from './manifest-keys.ts';
import { filesBelow, read, withoutComments } from './repository.ts';

/** Keys that are checked and shown, and that nothing acts on yet. A key leaves this list with its first reader. */
const WAITING: ReadonlyMap<string, string> = new Map([
  ['isolation', 'asked for here and granted in the settings; acted on with separate processes'],
  ['setup_instructions', 'printed by the set-up command when that comes'],
]);

/** Names that many things have: what must stand before the dot for a read of the manifest's. */
const OWNER: ReadonlyMap<string, string> = new Map([
  ['id', 'manifest'],
  ['name', 'manifest'],
  ['version', 'manifest'],
  ['description', 'manifest|agent'],
  ['config', 'manifest'],
  ['agent', 'manifest'],
  ['models', 'manifest'],
  ['commands', 'manifest'],
  ['enabled', 'manifest'],
]);

/** The command line may show what nothing acts on. */
const SOURCES = ['core', 'sandbox/extensions']
  .flatMap((folder) => filesBelow(folder, '.ts'))
  .filter((file) => !file.startsWith('core/contract/') && !file.startsWith('core/cli/'))
  .map((file) => withoutComments(read(file)))
  .join('\n');

function isRead(key: string): boolean {
  const name = key.split('.').at(-1)?.replace('[]', '') ?? key;
  const owner = OWNER.get(name);
  if (owner === undefined || key.includes('.')) return new RegExp(`[.?]\\.?${name}\\b|[{,]\\s*${name}\\s*[,:}]|'${name}'`).test(SOURCES);
  return new RegExp(`(?:${owner})[!?]?\\.${name}\\b|\\{[^{}]*\\b${name}\\b[^{}]*\\}\\s*=\\s*(?:[a-z.]+\\.)?(?:${owner})\\b`).test(SOURCES);
}

describe('manifest keys', () => {
  it('every key has a reader; mend by reading it, or by taking it out of the schema', () => {
    expect(manifestKeys().length).toBeGreaterThan(40);
    expect(manifestKeys().filter((key) => !WAITING.has(key) && !isRead(key))).toEqual([]);
  });

  it('a key that waits for its reader exists, and says why it waits', () => {
    expect([...WAITING.keys()].filter((key) => !manifestKeys().includes(key))).toEqual([]);
  });

  it('a key that waits is waiting: take it off the list with its first reader', () => {
    const acted = ['setup_instructions'].filter((name) => new RegExp(`manifest[!?]?\\.${name}\\b`).test(SOURCES));
    expect(acted).toEqual([]);
  });
});
