import { notTextAt } from '@pith/plain-text';
import { mergedText } from '@pith/text-changes';
import { isSameFile, type SkillFile, type SkillTree } from './skill-tree.ts';

export type Merged = { readonly tree: SkillTree } | { readonly conflicts: readonly string[] };

interface Three {
  readonly base: SkillFile | undefined;
  readonly present: SkillFile | undefined;
  readonly proposed: SkillFile | undefined;
}

/** The present skill with what `proposed` changes of `base`; or where both change the same, for a person. */
export function mergedTrees(base: SkillTree, present: SkillTree, proposed: SkillTree): Merged {
  const files = new Map<string, SkillFile>();
  const conflicts: string[] = [];
  const names = new Set([...base.files.keys(), ...present.files.keys(), ...proposed.files.keys()]);
  for (const name of [...names].sort()) {
    const three = { base: base.files.get(name), present: present.files.get(name), proposed: proposed.files.get(name) };
    const file = mergedFile(name, three, conflicts);
    if (file !== undefined) files.set(name, file);
  }
  if (conflicts.length > 0) return { conflicts };
  return { tree: { files, empty: present.empty.filter((folder) => ![...files.keys()].some((name) => name.startsWith(`${folder}/`))) } };
}

function mergedFile(name: string, { base, present, proposed }: Three, conflicts: string[]): SkillFile | undefined {
  if (isSameFile(base, proposed) || isSameFile(present, proposed)) return present;
  if (isSameFile(base, present)) return proposed;
  if (present === undefined || proposed === undefined) {
    conflicts.push(`${name}: one removed it, and the other changed it`);
    return present;
  }
  const texts = [base, present, proposed].map((file) =>
    file === undefined ? '' : notTextAt(file.bytes) === null ? file.bytes.toString() : null,
  );
  const [old, now, next] = texts;
  if (typeof old !== 'string' || typeof now !== 'string' || typeof next !== 'string') {
    conflicts.push(`${name}: both changed it, and it is not text`);
    return present;
  }
  const merged = mergedText(old, now, next);
  if (typeof merged !== 'string') {
    for (const { line, present: mine, proposed: theirs } of merged)
      conflicts.push(
        [
          `${name}:${line}: both changed these lines`,
          ...mine.map((each) => `  now       ${each}`),
          ...theirs.map((each) => `  proposed  ${each}`),
        ].join('\n'),
      );
    return present;
  }
  const isExecutable = proposed.executable === (base?.executable ?? false) ? present.executable : proposed.executable;
  return { bytes: Buffer.from(merged), executable: isExecutable };
}
