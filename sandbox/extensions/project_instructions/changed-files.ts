import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ExtensionContext, Places } from 'pith';
import { Jail } from '@pith/safe-files';

type Project = Pick<Places, 'project' | 'projectFiles'>;

const MOST_BYTES = 1024 * 1024;

/** What Pith uses of a project besides instructions, with the notice about a change. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['.mcp.json', 'see what its servers run now, and agree to it: pith mcp'],
  ['.env', 'the secrets that extensions declare are read from it as it is now'],
]);

/** The project's files that appeared after the person was shown them. */
export function laterFiles({ project, projectFiles }: Project): readonly string[] {
  if (project === null) return [];
  const files = [...FILES.keys()].map((name) => path.join(project, name));
  return files.filter((file) => !projectFiles.includes(file) && existsSync(file)).map((file) => path.basename(file));
}

/** A line for each file shown to the person that has changed since the last conversation. A file seen first is only recorded. */
export async function changedLines({ project, projectFiles }: Project, kv: ExtensionContext['kv']): Promise<readonly string[]> {
  if (project === null) return [];
  const lines: string[] = [];
  for (const [name, what] of FILES) {
    if (!projectFiles.includes(path.join(project, name))) continue;
    const key = `seen/${name}/${sha256(project).slice(0, 32)}`;
    const [now, before] = [await digestOf(project, name), await kv.get(key)];
    if (now === before) continue;
    await kv.set(key, now);
    if (before !== null && now !== GONE) lines.push(`${name} has changed since the last conversation here; ${what}`);
  }
  return lines;
}

const GONE = 'gone';

/** Includes the project, so that the digest of a short secret is not in anybody's table. */
async function digestOf(project: string, name: string): Promise<string> {
  try {
    const jail = new Jail(project);
    return await jail.read(jail.namesOf(name), async (handle, size) => {
      const bytes = Buffer.alloc(Math.min(size, MOST_BYTES));
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
      return sha256(project, String(size), bytes.subarray(0, bytesRead));
    });
  } catch {
    return GONE; // not an ordinary file of the project: nothing is used of it either
  }
}

function sha256(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}
