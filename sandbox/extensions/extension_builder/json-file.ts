import { join } from 'node:path';
import { PithError, type z } from 'pith';
import type { StateFolder } from '@pith/safe-files';

/** null when there is none. Throws `internal` when it is not what was written. */
export function readJson<T>(folder: StateFolder, name: string, schema: z.ZodType<T>): T | null {
  const bytes = folder.read(name);
  if (bytes === null) return null;
  try {
    return schema.parse(JSON.parse(String(bytes)));
  } catch (error) {
    throw new PithError('internal', `${join(folder.path, name)} is broken`, {
      cause: error,
      cure: 'remove it; the versions beside it are whole',
    });
  }
}

/** On disk when this resolves; whoever reads sees the old or the new. */
export function writeJson(folder: StateFolder, name: string, value: unknown): Promise<void> {
  return folder.write(name, JSON.stringify(value, null, 2));
}
