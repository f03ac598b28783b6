import { PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import { canonical } from '@pith/skill-files';
import type { SkillVersion } from '../contract.ts';
import type { SkillRegistry } from '../registry.ts';
import { findSkill } from '../scan/names.ts';
import type { Snapshot } from '../skill.ts';
import type { HistorySubject } from './history-file.ts';

/** The skill whose history a reference means, also one that is gone; null: it lies where Pith writes nothing, or there is none. */
export function historySubject({ history }: SkillRegistry, snapshot: Snapshot, reference: string): HistorySubject | null {
  const skill = findSkill(snapshot, reference);
  const own = skill && history.subjectOf(skill);
  if (own) return own;
  // A skill that wins elsewhere may hide one here.
  const hidden = snapshot.all.filter(({ id }) => id === skill?.id).map((each) => history.subjectOf(each));
  return hidden.find((each) => each !== null) ?? history.subjectNamed(canonical(reference));
}

/** Oldest first, with what the folder holds now; empty where there is no history. */
export async function versionsOf(registry: SkillRegistry, reference: string): Promise<readonly SkillVersion[]> {
  const subject = historySubject(registry, await registry.fresh(), reference);
  return subject === null ? [] : (await registry.history.record(subject)).versions;
}

/**
 * The version that a person means by its number, by what its frontmatter said, or by at least 7 digits of its sha256. Of versions with the
 * same content the newest counts. Throws `version_not_found`, and `version_ambiguous` with the candidates.
 */
export function versionNamed(versions: readonly SkillVersion[], wanted: string): SkillVersion {
  const text = wanted.toLowerCase().replace(/^sha256:/, '');
  const isDigest = /^[0-9a-f]{7,64}$/.test(text);
  const found = versions.filter(
    ({ number, version, digest }) =>
      String(number) === wanted || version === wanted || (isDigest && digest?.startsWith(`sha256:${text}`) === true),
  );
  const contents = new Set(found.map(({ digest }) => digest));
  if (contents.size === 1) return found.at(-1)!;
  const shown = (some: readonly SkillVersion[]) => some.map((each) => `${each.number} (${labelOf(each)})`).join(', ');
  if (contents.size > 1)
    throw new PithError('version_ambiguous', printableLine(`'${wanted}' names several versions: ${shown(found)}`), {
      cure: 'name one by more digits of its sha256',
    });
  throw new PithError('version_not_found', printableLine(`there is no version '${wanted}'; there are ${shown(versions.slice(-10))}`), {
    cure: 'name one by its number, its version or the beginning of its sha256',
  });
}

/** Without what comes before the digits. */
export function hexOf(digest: string): string {
  return digest.slice('sha256:'.length);
}

function labelOf({ version, digest }: SkillVersion): string {
  const content = digest === null ? 'removed' : hexOf(digest).slice(0, 12);
  return version === null ? content : `${version}, ${content}`;
}
