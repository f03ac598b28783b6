import type { Clock, Diagnostic } from '../contract/index.ts';
import { whyTooLarge, extensionData, type Settings } from '../kernel/index.ts';
import { checkDatabase } from '../store/index.ts';

export interface StorageQuestion {
  readonly databaseFile: string;
  readonly dataDirectory: string;
  /** Ids of all that is declared. */
  readonly extensions: readonly string[];
  readonly quotas: Settings['quotas'];
  readonly clock: Clock;
}

/** What `doctor` says of the database, and of extensions that keep more than they may. */
export async function storageFindings(question: StorageQuestion): Promise<readonly Diagnostic[]> {
  const { databaseFile, dataDirectory, extensions, quotas, clock } = question;
  const found: Diagnostic[] = [...checkDatabase(databaseFile, () => clock.now())];
  for (const id of extensions) {
    const { path } = extensionData(dataDirectory, id);
    const why = await whyTooLarge(path, quotas.data_mb);
    if (why === null) continue;
    const cure = 'remove what is not needed there, or raise quotas.data_mb';
    found.push({ severity: 'error', code: 'quota_exceeded', message: `extension '${id}': ${why}`, file: path, cure });
  }
  return found;
}
