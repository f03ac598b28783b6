import { messageOf, type Logger } from '../contract/index.ts';
import type { Failure } from '../declarations/index.ts';
import type { Lease, Leases, Store } from '../store/index.ts';

/** An extension that a running kernel has stopped because it kept crashing. */
export type StoppedExtension = Pick<Failure, 'extensionId' | 'message' | 'cure' | 'file' | 'line'>;

/** Extensions that a running kernel has stopped, for the sandbox's other processes: those start no services and would find no fault. */
export interface StoppedExtensions {
  /** Records an extension that was stopped here. Never throws. */
  keep(stopped: StoppedExtension): void;
  /** Removes the record: the extension gets another chance here. Never throws. */
  forget(extensionId: string): void;
  /** The extensions that any running process has stopped. */
  known(): Promise<readonly StoppedExtension[]>;
  close(): Promise<void>;
}

/** How long the record of a killed kernel is valid. */
const LEASE_MS = 30_000;

const SCHEMA = [
  'CREATE TABLE stopped (extension TEXT PRIMARY KEY, message TEXT NOT NULL, cure TEXT, file TEXT, line INTEGER) WITHOUT ROWID',
];

/** A row is valid only while its process renews the lease of the same name. */
export function createStoppedExtensions({
  store,
  leases,
  logger,
}: {
  readonly store: Store;
  readonly leases: Leases;
  readonly logger: Logger;
}): StoppedExtensions {
  store.migrate('stopped', SCHEMA);
  const held = new Map<string, Lease>();
  let last = Promise.resolve();
  const inTurn = (work: () => Promise<void>): void => {
    last = last.then(work).catch((error: unknown) => logger.warn('others do not know what was stopped', { reason: messageOf(error) }));
  };

  async function keep({ extensionId, message, cure, file, line }: StoppedExtension): Promise<void> {
    const lease = held.get(extensionId) ?? (await leases.acquire(leaseOf(extensionId), LEASE_MS));
    if (lease === null) return; // another kernel has stopped and recorded it
    held.set(extensionId, lease);
    const row = [extensionId, message, cure ?? null, file ?? null, line ?? null];
    await store.write((statement) => void statement('REPLACE INTO stopped VALUES (?, ?, ?, ?, ?)', ...row));
  }

  async function forget(extensionId: string): Promise<void> {
    const lease = held.get(extensionId);
    held.delete(extensionId);
    if (lease === undefined) return;
    // Deleted while the lease is held, so that the row cannot be the next holder's.
    if (!lease.lost.aborted) await store.write((statement) => void statement('DELETE FROM stopped WHERE extension = ?', extensionId));
    await lease.release();
  }

  return {
    keep: (stopped) => inTurn(() => keep(stopped)),
    forget: (extensionId) => inTurn(() => forget(extensionId)),
    async known() {
      const found: StoppedExtension[] = [];
      for (const { extension, message, cure, file, line } of store.all('SELECT * FROM stopped ORDER BY extension')) {
        if (!(await leases.isHeld(leaseOf(String(extension)), LEASE_MS))) continue;
        found.push({
          extensionId: String(extension),
          message: String(message),
          ...(cure === null ? {} : { cure: String(cure) }),
          ...(file === null ? {} : { file: String(file) }),
          ...(line === null ? {} : { line: Number(line) }),
        });
      }
      return found;
    },
    async close() {
      for (const extensionId of held.keys()) inTurn(() => forget(extensionId));
      await last;
    },
  };
}

function leaseOf(extensionId: string): string {
  return `stopped/${extensionId}`;
}
