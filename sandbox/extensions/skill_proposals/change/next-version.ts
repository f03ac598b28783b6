import semver from 'semver';
import { parseSkillFile, splitFrontmatter } from '@pith/skill-files';

export interface NextVersion {
  /** The SKILL.md with it. */
  readonly text: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly step: 'patch' | 'minor' | 'stated' | 'none';
}

/** The SKILL.md with its version raised: minor where the description changed, else patch. As it is where it states none, none of three numbers, or a higher one than before. */
export async function nextVersion(before: string, after: string, id: string): Promise<NextVersion> {
  const fieldsOf = async (text: string) => (await parseSkillFile(text, { id, file: '/SKILL.md', mode: 'load' })).fields;
  const [old, next] = [await fieldsOf(before), await fieldsOf(after)];
  const unchanged = { text: after, from: old.version, to: next.version };
  if (old.version === null || semver.valid(old.version) === null) return { ...unchanged, step: 'none' };
  if (next.version !== null && semver.valid(next.version) !== null && semver.gt(next.version, old.version))
    return { ...unchanged, step: 'stated' };
  const step = old.description === next.description ? 'patch' : 'minor';
  const to = semver.inc(old.version, step);
  const split = splitFrontmatter(after, true);
  if (to === null || next.version === null || 'code' in split) return { ...unchanged, step: 'none' };
  const at = after.indexOf(split.head);
  const head = split.head.replace(
    /^(\s*["']?version["']?\s*:\s*)(["']?)[^"'\s#,}]+\2/mu,
    (_whole, key: string, quote: string) => `${key}${quote}${to}${quote}`,
  );
  const text = after.slice(0, at) + head + after.slice(at + split.head.length);
  if ((await fieldsOf(text)).version !== to) return { ...unchanged, step: 'none' };
  return { text, from: old.version, to, step };
}
