import type { StateFolder } from '@pith/safe-files';
import { processEntry } from '@pith/supervised-process';

const NAME = /^\d+\.\d+\.json$/u;

/** What processes keep on disk while commands run, a file each: if one is killed, others know what it had begun. */
export class ProcessRecords {
  constructor(private readonly folder: StateFolder) {}

  /** Of this process; null: nothing. Where the system cannot tell processes apart, it confines nothing either, and nothing is kept. */
  keep(record: object | null): void {
    const name = nameOfOwn();
    if (name === null) return;
    if (record === null) return this.folder.remove(name);
    this.folder.make();
    this.folder.writeNow(name, JSON.stringify(record));
  }

  ofKilled(): readonly string[] {
    return this.#names().filter((name) => !isRunning(name));
  }

  /** Those of other processes that run. */
  ofOthers(): readonly string[] {
    const own = nameOfOwn();
    return this.#names().filter((name) => name !== own && isRunning(name));
  }

  read(name: string): string {
    return String(this.folder.read(name));
  }

  remove(name: string): void {
    this.folder.remove(name);
  }

  #names(): readonly string[] {
    return this.folder.list().filter((name) => NAME.test(name));
  }
}

function isRunning(name: string): boolean {
  const [pid, start] = name.split('.');
  return processEntry(Number(pid))?.startTime === start;
}

/** Identifies this process for good. */
function nameOfOwn(): string | null {
  const own = processEntry(process.pid);
  return own === null ? null : `${own.pid}.${own.startTime}.json`;
}
