import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, PithError, type z } from 'pith';
import { syncFolder } from './sources.ts';

/** null when there is none. Rejects `internal` when it is not what was written. */
export async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return null;
    throw error;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new PithError('internal', `${file} is broken`, { cause: error, cure: 'remove it; the versions beside it are whole' });
  }
}

export function writeJson(file: string, value: unknown): Promise<void> {
  return writeText(file, JSON.stringify(value, null, 2));
}

/** On disk when this resolves; whoever reads sees the old or the new. */
export async function writeText(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = join(dirname(file), `.${randomUUID()}.tmp`);
  const handle = await open(draft, 'wx');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncFolder(dirname(file));
}

export async function removeFile(file: string): Promise<void> {
  await rm(file, { force: true });
}
