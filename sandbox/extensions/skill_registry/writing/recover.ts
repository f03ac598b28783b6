import { type Diagnostic, messageOf } from 'pith';
import { ChangeRefused } from '@pith/folder-changes';
import type { Target } from './targets.ts';

/** Undoes what killed commands had begun in any of these folders, and says what is to be looked at. Never rejects. */
export async function recoverAll(targets: readonly Target[]): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const { place, folders } of targets) {
    const add = (code: string, file: string, message: string, cure: string) =>
      found.push({ severity: 'warning', code, message, file, cure });
    try {
      await folders.recover();
    } catch (error) {
      const cure = (error instanceof ChangeRefused && error.cure) || 'remove what is in the way, then run the command again';
      add('install_cut_off', place.skills, `a change of skills was interrupted and cannot be undone: ${messageOf(error)}`, cure);
    }
    const kept = folders.kept();
    if (kept === null) continue;
    const message =
      'contains earlier versions of skills: a command that was replacing them was interrupted, and their folders have been edited since';
    add('skills_kept', kept, message, 'compare each with the skill of that name, take over what is missing there, then delete this folder');
  }
  return found;
}
