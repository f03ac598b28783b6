import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const IMPORT = /^(?:import|export)\s+(?!type\s)(?:[^'";]*?\sfrom\s+)?'([^']+)';/gmu;

/** What is loaded with a file: whatever it imports for more than its types, and whatever that imports. */
function loadedWith(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, imported = ''] of readFileSync(file, 'utf8').matchAll(IMPORT))
    if (imported.startsWith('.')) loadedWith(path.join(path.dirname(file), imported), seen);
  return seen;
}

it('the command line loads neither kernel nor what brings extensions to life before something asks for it', () => {
  const loaded = loadedWith('core/main.ts');
  expect(loaded).toContain('core/host/index-host.ts');
  expect(loaded).toContain('core/host/discovery/discover.ts');
  for (const late of [
    'core/kernel.ts',
    'core/host/host.ts',
    'core/host/lifecycle/lifecycle.ts',
    'core/host/bundles/bundle.ts',
    'core/storage/store.ts',
  ])
    expect(loaded).not.toContain(late);
  expect([...loaded].filter((file) => /^core\/(?:host\/process|agents\/turn|threads|events|models)\//u.test(file))).toEqual([]);
});
