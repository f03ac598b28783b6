import { type Logger, messageOf } from '../../contract/index.ts';

/** Says once that jobs cannot be written, until it worked again. */
export interface StorageReport {
  failed(error: unknown): void;
  worked(): void;
}

export function createStorageReport(logger: Logger): StorageReport {
  let isFailing = false;
  return {
    failed(error) {
      if (!isFailing) logger.warn('jobs wait until the database can be used again', { error: messageOf(error) });
      isFailing = true;
    },
    worked() {
      isFailing = false;
    },
  };
}
