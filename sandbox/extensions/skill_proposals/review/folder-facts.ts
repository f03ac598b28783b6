import { isUtf8 } from 'node:buffer';
import type { Diagnostic } from 'pith';
import { catalogLine, lintSkill, parseSkillFile, type SkillFields, splitFrontmatter, WHOLE_LINE } from '@pith/skill-files';
import { countTokens } from '@pith/token-count';
import { type SkillFinding, SkillLibrary } from 'pith/skill_registry';
import type { Context } from '../config.ts';
import { readSkillTree, skillFileIn, type SkillTree } from '../change/skill-tree.ts';

/** What a review compares of a skill's folder. */
export interface FolderFacts {
  readonly tree: SkillTree;
  readonly fields: SkillFields;
  /** It can be loaded. */
  readonly isValid: boolean;
  /** Of the body, and of all texts that can be read beside it. */
  readonly tokens: { readonly body: number; readonly all: number };
  readonly catalogLine: string;
  readonly lint: readonly Diagnostic[];
  /** null: no extension that scans is on. */
  readonly scan: readonly SkillFinding[] | null;
  /** Hosts of addresses in its texts. */
  readonly hosts: ReadonlySet<string>;
}

export async function folderFacts(context: Context, directory: string, id: string): Promise<FolderFacts> {
  const tree = await readSkillTree(directory);
  const name = skillFileIn(tree);
  const text = name === null ? '' : tree.files.get(name)!.bytes.toString();
  const parsed = await parseSkillFile(text, { id, file: `${directory}/${name ?? 'SKILL.md'}`, mode: 'load' });
  const split = splitFrontmatter(text, true);
  const texts = [...tree.files.values()].flatMap(({ bytes }) => (isUtf8(bytes) && !bytes.includes(0) ? [bytes.toString()] : []));
  return {
    tree,
    fields: parsed.fields,
    isValid: name !== null && parsed.valid,
    tokens: {
      body: countTokens('code' in split ? text : text.slice(split.bodyOffset)),
      all: texts.reduce((sum, each) => sum + countTokens(each), 0),
    },
    catalogLine: catalogLine({ ...parsed.fields, id }, WHOLE_LINE),
    lint: (await lintSkill(directory, directory)).diagnostics,
    scan: await context.use(SkillLibrary).scan(directory),
    hosts: new Set(texts.flatMap(hostsIn)),
  };
}

function hostsIn(text: string): readonly string[] {
  const addresses = [...text.matchAll(/\b(?:https?|ftp|wss?|ssh|git):\/\/([^\s/?#"'`<>)\]}]+)/giu)];
  return addresses.map(([, authority]) =>
    authority!
      .toLowerCase()
      .replace(/^.*@/u, '')
      .replace(/[.,;:]+$/u, ''),
  );
}

/** What is found in `after` and was not before; lines may have moved. */
export function newOnes<T extends Diagnostic | SkillFinding>(before: readonly T[], after: readonly T[]): readonly T[] {
  const key = ({ code, message, severity }: T) => `${severity} ${code} ${message}`;
  const left = before.map(key);
  return after.filter((each) => {
    const at = left.indexOf(key(each));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
