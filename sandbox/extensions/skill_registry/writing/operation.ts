import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, type Diagnostic, messageOf, PithError } from 'pith';
import { stateFolder } from '@pith/safe-files';
import { exclusively, isStale, keepFresh } from '../exclusive.ts';
import { hasBegun, journalOf, rollBack } from './commit.ts';
import { KEPT, openTarget, type Operation, STAGING, type Target } from './target.ts';

/** A folder in which a change is prepared. What killed processes left is swept first. */
export async function openOperation(
  target: Target,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Operation & { readonly release: () => void }> {
  const skills = await openTarget(target);
  await recover(target, clock, { sweeps: true, signal });
  const directory = stateFolder(skills, STAGING, randomUUID()).make();
  return { target, skills, directory, release: keepFresh(directory, clock) };
}

/** With a journal it holds what could not be put back: the next start tries again. */
export async function removeOperation({ target, directory }: Operation): Promise<void> {
  if (!target.journals.has(journalOf({ directory }))) await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  await rmdir(path.dirname(directory)).catch(() => undefined); // others are at work, or it is gone
}

/** Runs `work` while no other process changes this target. */
export function alone<T>({ skills }: Pick<Operation, 'skills'>, clock: Clock, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const busy = { code: 'install_busy', message: 'another process is installing skills' };
  return exclusively({ folder: stateFolder(skills), name: '.busy', busy }, clock, work, signal);
}

/** Undoes what killed commands had begun in any of these folders, and says what is to be looked at. Never rejects. */
export async function recoverAll(targets: readonly Target[], clock: Clock): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const target of targets) {
    try {
      await recover(target, clock);
    } catch (error) {
      const cure = (error instanceof PithError && error.cure) || 'remove what stands in the way, then run the command again';
      const message = `a change of skills was interrupted and cannot be undone: ${messageOf(error)}`;
      found.push({ severity: 'warning', code: 'install_cut_off', message, file: target.skills, cure });
    }
    const message =
      'holds earlier versions of skills: a command that was replacing them was interrupted, and their folders have been edited since';
    const cure = 'compare each with the skill of that name, take over what is missing there, then delete this folder';
    const file = path.join(target.skills, KEPT);
    if (existsSync(file)) found.push({ severity: 'warning', code: 'skills_kept', message, file, cure });
  }
  return found;
}

/**
 * Undoes what killed processes had begun and wrote down here. A journal is written and removed within `alone`, so one that is seen there
 * belongs to nobody who is at work. With `sweeps`, what they had only staged is removed. What has begun and is written down nowhere we know
 * stays as it is: another data folder may know of it, and a folder that somebody planted leads to nothing.
 */
async function recover(
  target: Target,
  clock: Clock,
  { sweeps = false, signal }: { readonly sweeps?: boolean; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const skills = realpathSync(target.skills);
  const staging = stateFolder(skills, STAGING);
  const operations = staging.list().map((name) => ({ target, skills, directory: path.join(staging.path, name) }));
  const isJournaled = (operation: Operation) => target.journals.has(journalOf(operation));
  const isDone = async (operation: Operation) =>
    isJournaled(operation) ? rollBack(operation) : sweeps && (await isStale(operation.directory, clock)) && !(await hasBegun(operation));
  if (!operations.some((operation) => sweeps || isJournaled(operation))) return;
  const work = async () => {
    for (const operation of operations) if (await isDone(operation)) staging.remove(path.basename(operation.directory));
  };
  await alone({ skills }, clock, work, signal);
  await rmdir(staging.path).catch(() => undefined); // others are at work
}
