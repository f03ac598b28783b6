/** A system that cannot read some places. */
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

type Reading = (place: unknown, ...given: readonly unknown[]) => unknown;

/** Does `work` while listing or opening what `fails` names ends with `code`. */
export async function unreadable<T>(code: string, fails: (place: string) => boolean, work: () => Promise<T>): Promise<T> {
  const undo = [
    replaced(fs as never, ['readdirSync', 'openSync', 'readFileSync'], code, fails),
    replaced(promises as never, ['readdir', 'open', 'readFile'], code, fails),
  ];
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    for (const each of undo) each();
    syncBuiltinESMExports();
  }
}

function replaced(host: Record<string, Reading>, names: readonly string[], code: string, fails: (place: string) => boolean): () => void {
  const originals = names.map((name) => [name, host[name] as Reading] as const);
  for (const [name, original] of originals)
    host[name] = (place, ...given) => {
      if (typeof place !== 'string' || !fails(place)) return original(place, ...given);
      const error = Object.assign(new Error(`${code}: cannot be read now, ${name} '${place}'`), { code, path: place });
      if (host === (promises as never)) return Promise.reject(error);
      throw error;
    };
  return () => {
    for (const [name, original] of originals) host[name] = original;
  };
}
