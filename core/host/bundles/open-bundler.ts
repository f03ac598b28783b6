import type * as Esbuild from 'esbuild';
import { needDescriptors, notStarted } from '../process/start-process.ts';

/**
 * esbuild, whose process runs and answers. esbuild starts that itself and does not expect that this fails: without descriptors it would end
 * Pith, and once it has failed it never tries again. Rejects `process_not_started`.
 */
export async function openBundler(): Promise<typeof Esbuild> {
  const esbuild = await import('esbuild');
  needDescriptors(WANTED);
  try {
    await esbuild.transform('');
  } catch (error) {
    await esbuild.stop(); // the next asks for a new process
    throw notStarted(error);
  }
  return esbuild;
}

/** Its pipes, and what the start itself takes. */
const WANTED = 12;
