import { codeOf, messageOf } from 'pith';
import { notTextAt } from '@pith/plain-text';
import { applyTo, type FilePatch, parsePlan } from '@pith/text-changes';
import { isCaseOfSkill } from '@pith/safe-files';
import { SKILL_LIMITS } from '@pith/skill-files';
import type { SkillFile, SkillTree } from './skill-tree.ts';

/** In bytes. */
const LARGEST_DIFF = 256 * 1024;
const LONGEST_PATH = 240;

export type Planned = { readonly tree: SkillTree } | { readonly problems: readonly string[] };

/** The skill with a unified diff applied, or everything that is wrong with it, in words with which a model can correct it. `folder`: the skill's name, which may stand before the paths. */
export function plannedChange(before: SkillTree, diff: string, folder: string): Planned {
  if (Buffer.byteLength(diff) > LARGEST_DIFF)
    return { problems: [`the diff has more than ${LARGEST_DIFF} bytes; propose less at once, or keep long texts in files of references/`] };
  let plan: readonly FilePatch[];
  try {
    plan = parsePlan(diff);
  } catch (error) {
    return { problems: [messageOf(error)] };
  }
  const files = new Map(before.files);
  const problems: string[] = [];
  for (const patch of plan) {
    try {
      apply(files, withoutFolder(patch, folder));
    } catch (error) {
      if (codeOf(error, '') === '' && !(error instanceof Unfit)) throw error;
      problems.push(messageOf(error));
    }
  }
  if (problems.length === 0) problems.push(...clashes(files, before));
  const bytes = [...files.values()].reduce((sum, file) => sum + file.bytes.length, 0);
  if (files.size > SKILL_LIMITS.files) problems.push(`the skill would have ${files.size} files; at most ${SKILL_LIMITS.files} are allowed`);
  if (bytes > SKILL_LIMITS.bytes) problems.push(`the skill would have ${bytes} bytes; at most ${SKILL_LIMITS.bytes} are allowed`);
  if (problems.length > 0) return { problems };
  return { tree: { files, empty: before.empty.filter((name) => ![...files.keys()].some((file) => file.startsWith(`${name}/`))) } };
}

/** What is wrong with one file of the diff. */
class Unfit extends Error {}

function apply(files: Map<string, SkillFile>, patch: FilePatch): void {
  const { from, to, isCopy, executable } = patch;
  for (const name of [from, to]) if (name !== null) requireInside(name);
  // Whether a hunk fits would tell what a case says that is held out (P13).
  if (from !== null && isCaseOfSkill(from))
    throw new Unfit(`'${from}' has cases of the skill, which only people read and change: say in the justification what cases you want`);
  const old = from === null ? undefined : files.get(from);
  if (from !== null && old === undefined) throw new Unfit(`'${from}' is not a file of this skill`);
  if (from === null && files.has(to!)) throw new Unfit(`'${to}' exists already: change it by hunks against its text`);
  if (old !== undefined && notTextAt(old.bytes) !== null) throw new Unfit(`'${from}' is not text, so a diff cannot change it`);
  const text = applyTo(old?.bytes.toString() ?? '', patch);
  if (from !== null && !isCopy) files.delete(from);
  if (to === null) {
    if (text !== '') throw new Unfit(`'${from}' is removed, but the diff leaves lines of it`);
    return;
  }
  if (to !== from && files.has(to)) throw new Unfit(`'${to}' exists already`);
  files.set(to, { bytes: Buffer.from(text), executable: executable ?? old?.executable ?? false });
}

function requireInside(name: string): void {
  const parts = name.split('/');
  const leadsOut =
    name.startsWith('/') || /[\\\0]|^[a-z]:/iu.test(name) || parts.some((part) => part === '' || part === '.' || part === '..');
  if (leadsOut)
    throw new Unfit(`'${name}' leads out of the skill: paths are relative to its folder, such as 'SKILL.md' or 'references/more.md'`);
  if (parts.length > SKILL_LIMITS.depth || name.length > LONGEST_PATH) throw new Unfit(`'${name}' is too long or too deep`);
  if (parts.some((part) => part === '.git' || part === 'node_modules'))
    throw new Unfit(`'${name}' lies in a folder that skills never have`);
}

/** Models name files as they see them in the project. */
function withoutFolder(patch: FilePatch, folder: string): FilePatch {
  const prefix = [`sandbox/skills/${folder}/`, `skills/${folder}/`, `${folder}/`];
  const short = (name: string | null) => {
    const found = prefix.find((each) => name?.startsWith(each));
    return name === null || found === undefined ? name : name.slice(found.length);
  };
  return { ...patch, from: short(patch.from), to: short(patch.to) };
}

/** Names that some systems take for one, and files in the place of folders. */
function clashes(files: ReadonlyMap<string, SkillFile>, before: SkillTree): readonly string[] {
  const found: string[] = [];
  const byName = new Map<string, string>();
  for (const name of files.keys()) {
    const folded = name.normalize('NFC').toLowerCase();
    const other = byName.get(folded);
    byName.set(folded, name);
    if (other !== undefined && !(before.files.has(other) && before.files.has(name)))
      found.push(`'${name}' and '${other}' differ only in case`);
    for (let cut = name.indexOf('/'); cut > 0; cut = name.indexOf('/', cut + 1))
      if (files.has(name.slice(0, cut))) found.push(`'${name.slice(0, cut)}' would be a file and a folder`);
  }
  return found;
}
