import { randomUUID } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { writeFileAtomically } from '../atomic-file.ts';
import { makeOwnFolder } from '../own-folder.ts';

/** Reloads that a person asked for in another terminal: a file for each extension, named for it, written anew for each request. */
export interface ReloadRequests {
  /** Ids whose files were written since the last call, or since this was made; without those that this process wrote. */
  take(): Promise<readonly string[]>;
  /** Asks the other kernels of this sandbox. */
  ask(extensionId: string): Promise<void>;
  readonly folder: string;
}

export async function openReloadRequests(dataDirectory: string): Promise<ReloadRequests> {
  const folder = path.join(dataDirectory, '.cache', 'reload');
  const own = randomUUID();
  const seen = await stamps(folder);
  return {
    folder,
    async take() {
      const ids: string[] = [];
      for (const [id, stamp] of await stamps(folder)) {
        if (seen.get(id) === stamp) continue;
        seen.set(id, stamp);
        const author = await readFile(path.join(folder, id), 'utf8').catch(() => '');
        if (author.split(' ')[0] !== own) ids.push(id);
      }
      return ids;
    },
    async ask(extensionId) {
      if (!makeOwnFolder(dataDirectory, '.cache', 'reload')) throw new Error(`a link or a file stands in the way to ${folder}`);
      writeFileAtomically(path.join(folder, extensionId), `${own} ${randomUUID()}`); // replaces what stands there, also a link
    },
  };
}

async function stamps(folder: string): Promise<Map<string, string>> {
  const names = await readdir(folder).catch(() => []); // nobody has asked yet
  const found = await Promise.all(
    names.map(
      async (name) =>
        [
          name,
          await stat(path.join(folder, name), { bigint: true }).then(
            ({ mtimeNs, ino }) => `${mtimeNs} ${ino}`,
            () => '',
          ),
        ] as const,
    ),
  );
  return new Map(found);
}
