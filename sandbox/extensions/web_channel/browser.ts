import type { ChildProcess } from 'node:child_process';
import { startProcess } from '@pith/supervised-process';
import type { Clock } from 'pith';

/** A program that cannot open an address says so sooner; one that has become the browser ends much later. */
const FAILS_MS = 2000;

/** Has the system open an address. False: nothing here can. Never waits for the browser to end. */
export async function openInBrowser(address: string, clock: Pick<Clock, 'after'>): Promise<boolean> {
  try {
    // In a group of its own: Ctrl-C here must not close the browser.
    const child = await startProcess(opener(address), { stdio: 'ignore', detached: true });
    child.unref();
    return await hasNotFailed(child, clock);
  } catch {
    return false; // it could not be started: the person opens the address
  }
}

function hasNotFailed(child: ChildProcess, clock: Pick<Clock, 'after'>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(FAILS_MS, () => resolve(true));
    child.once('exit', (code) => {
      cancel();
      resolve(code === 0);
    });
  });
}

/** The command line that opens an address on this system. */
function opener(address: string): readonly string[] {
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', address];
  return [process.platform === 'darwin' ? 'open' : 'xdg-open', address];
}
