import { stateFolder, type StateFolder } from '@pith/safe-files';
import { killHost, killRemains } from './process-end.ts';
import { processEntry } from './process-table.ts';

/**
 * Records that this process started `pid`, so that a later start can end it if it outlives us. The record is an empty file with all data in
 * its name, so it is never half written. Returns a function that removes it.
 */
export function recordHost(dataDirectory: string, pid: number, marker: string): () => void {
  const host = processEntry(pid);
  const kernel = processEntry(process.pid);
  if (!host || !kernel) return () => undefined;
  const folder = stateFolder(dataDirectory, ...HOSTS);
  const name = [kernel.pid, kernel.startTime, host.pid, host.startTime, marker].join('.');
  try {
    folder.append(name, '');
  } catch {
    return () => undefined; // a full or read-only disk, or a link in the way: the host still ends with us by the other means
  }
  return () => {
    try {
      folder.remove(name);
    } catch {
      // the next start finds its process dead
    }
  };
}

/**
 * Ends recorded hosts whose kernel is gone, with all that they started, and removes the records. A pid that was reused is left alone.
 * Resolves the number of hosts.
 */
export async function endOrphans(dataDirectory: string): Promise<number> {
  const folder = stateFolder(dataDirectory, ...HOSTS);
  let ended = 0;
  for (const name of names(folder).filter((each) => RECORD.test(each))) {
    const [kernelPid, kernelStart, pid, start, marker] = name.split('.');
    if (marker === undefined || processEntry(Number(kernelPid))?.startTime === kernelStart) continue;
    folder.remove(name);
    const host = Number(pid);
    const isSame = processEntry(host)?.startTime === start;
    if (isSame) killHost(host);
    ended += (isSame ? 1 : 0) + (await killRemains(marker, isSame ? host : null));
  }
  return ended;
}

const HOSTS = ['.cache', 'hosts'] as const;
/** The names of `recordHost`; all other files are left alone. */
const RECORD = /^\d+\.\d+\.\d+\.\d+\.[^.]+$/;

function names(folder: StateFolder): readonly string[] {
  try {
    return folder.list();
  } catch {
    return []; // the target of a link is somebody else's
  }
}
