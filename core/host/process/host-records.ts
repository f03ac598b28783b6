import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { HOST_VARIABLE, killHost, killRemains } from './process-end.ts';
import { hasVariable, processEntry } from './process-table.ts';

/**
 * Notes that this process started `pid`, so that a later start can end it should it outlive us. An empty file whose name says
 * all: nothing can be half written. Returns what takes the note back.
 */
export function recordHost(dataDirectory: string, pid: number): () => void {
  const host = processEntry(pid);
  const kernel = processEntry(process.pid);
  if (!host || !kernel) return () => undefined;
  const folder = folderOf(dataDirectory);
  const file = path.join(folder, [kernel.pid, kernel.startTime, host.pid, host.startTime].join('.'));
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, '');
  } catch {
    return () => undefined; // a full or read-only disk: the host still ends with us by the other means
  }
  return () => rmSync(file, { force: true });
}

/** Ends recorded hosts whose kernel is gone, and forgets them. A pid that belongs to another process by now is left alone. Returns those that it ended. */
export function endOrphans(dataDirectory: string): readonly number[] {
  const folder = folderOf(dataDirectory);
  return names(folder).flatMap((name) => {
    const [kernelPid, kernelStart, pid, start] = name.split('.');
    if (start !== undefined && processEntry(Number(kernelPid))?.startTime === kernelStart) return [];
    rmSync(path.join(folder, name), { force: true });
    const host = Number(pid);
    if (start === undefined || processEntry(host)?.startTime !== start || !hasVariable(host, HOST_VARIABLE, '*')) return [];
    killHost(host);
    killRemains(host, '');
    return [host];
  });
}

function folderOf(dataDirectory: string): string {
  return path.join(dataDirectory, '.cache', 'hosts');
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no host was ever started here
  }
}
