import { type Diagnostic, messageOf, PithError } from '../../contract/index.ts';
import type { ExtensionStatus } from './status.ts';
import type { Confinement, ProcessTier } from '../lifecycle/tier.ts';

/** What `pith doctor` says of processes that run without the sandbox that the settings want. */
export async function notesOnSandbox(
  processes: Pick<ProcessTier, 'confinement'> | undefined,
  extensions: readonly ExtensionStatus[],
): Promise<readonly Diagnostic[]> {
  try {
    return sandboxNotes((await processes?.confinement()) ?? null, extensions);
  } catch (error) {
    const message = `Pith cannot tell whether bubblewrap works here, so it starts no extension in a process: ${messageOf(error)}`;
    return [
      {
        severity: 'error',
        code: 'process_not_started',
        message,
        ...(error instanceof PithError && error.cure ? { cure: error.cure } : {}),
      },
    ];
  }
}

/** One note for all extensions that run in processes without a sandbox, though the settings want one. */
export function sandboxNotes(
  sandboxing: Confinement | null,
  extensions: readonly Pick<ExtensionStatus, 'id' | 'tier' | 'state'>[],
): readonly Diagnostic[] {
  const open = extensions.filter(({ tier, state }) => tier === 'process' && state !== 'disabled').map(({ id }) => `'${id}'`);
  if (sandboxing === null || sandboxing.available || open.length === 0) return [];
  const message = `extensions in separate processes (${open.join(', ')}) can read files and use the network as you can, whatever their manifests ask for: ${sandboxing.why}`;
  return [{ severity: 'info', code: 'sandbox_unavailable', message, cure: sandboxing.cure }];
}
