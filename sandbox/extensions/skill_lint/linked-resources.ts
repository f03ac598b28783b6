import { readRegularFile } from '@pith/safe-files';
import { globMatcher } from '@pith/patterns';
import path from 'node:path';
import type { Diagnostic } from 'pith';
import { slipsOf } from '@pith/plain-text';
import { FILE_LIMIT, folderTree, parseSkillFile, type SkillFields, splitFrontmatter } from '@pith/skill-files';

/** A skill with everything that lint examines. */
export interface LintedSkill extends SkillFields {
  readonly id: string;
  readonly directory: string;
  /** Its SKILL.md. */
  readonly file: string;
  readonly text: string;
  readonly body: string;
  /** The line where the body begins, from 1. */
  readonly bodyLine: number;
  /** Every file below the folder, relative to it. */
  readonly resources: readonly string[];
}

/** null for a skill that cannot be read or loaded: the specification's rules say why. */
export async function readSkillFolder(file: string, id: string): Promise<LintedSkill | null> {
  const directory = path.dirname(file);
  const bytes = await readRegularFile(file, FILE_LIMIT).catch(() => null);
  if (bytes === null) return null;
  const { valid, fields } = await parseSkillFile(bytes, { id: path.basename(directory), file, mode: 'load' });
  const text = bytes.toString('utf8');
  const split = splitFrontmatter(text, true);
  if (!valid || 'code' in split) return null;
  const tree = await folderTree(directory).catch(() => null); // it was read a moment ago, and is gone now
  const resources = (tree?.files ?? []).map(({ path: name }) => name).filter((name) => name !== path.basename(file));
  const bodyLine = text.slice(0, split.bodyOffset).split('\n').length;
  return { ...fields, id, directory, file, text, body: text.slice(split.bodyOffset), bodyLine, resources };
}

/** The line of a frontmatter key, from 1. */
export function lineOf({ text }: LintedSkill, key: string): number {
  const line = text.split('\n', 400).findIndex((one) => one.startsWith(`${key}:`));
  return line < 0 ? 1 : line + 1;
}

/** A lint finding about one skill, in the skill's file. */
export function advice(
  skill: LintedSkill,
  code: string,
  { message, cure }: { readonly message: string; readonly cure: string },
  line: number | string = 1,
): Diagnostic {
  return {
    severity: 'warning',
    code,
    message,
    file: skill.file,
    line: typeof line === 'string' ? lineOf(skill, line) : line,
    column: 1,
    cure,
  };
}

const LINK = /!?\[[^\]\n]{0,200}\]\(\s*<?([^)\s>]{1,300})>?(?:\s+"[^"\n]{0,200}")?\s*\)/g;
/** Code within a line, between as many backticks on both sides. */
const CODE = /(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/g;
/** A path that begins with a usual folder of skills; in code it names that file. */
const PATH = /^(?:\.\/)?((?:references?|resources|templates|scripts|assets|toolsets)\/[\w./-]{1,200}\.\w{1,8})$/;
/** Words before a path that is an example, in the same sentence. */
const EXAMPLE = /\b(?:e\.g\.|for (?:example|instance)|example:|such as|like)(?:[^.!?]|[.!?](?=\S))*$/i;
/** A placeholder for a name that is not known yet. */
const PLACEHOLDER =
  /[<>{}[\]*$|\u2026]|\.\.\.|YYYY|(?<![A-Za-z])(?:NN+|XX+|xxx+)(?![A-Za-z])|\bpath\/to\b|(?:^|\/)your[-_]|\bexample-|\bfoo\b|\bbar\b/;
/** A placeholder for a number between separators. */
const LETTER = /(?<=[-_/])[NX]+(?=[-_.])/;
/** Files that need no mention. */
const UNNAMED =
  /(?:^|\/)(?:licen[cs]e|notice|readme|changelog|security|contributing|evals?\b|tests?\b|\.|__|package(?:-lock)?\.json|pyproject\.toml|requirements\.txt|uv\.lock)/i;
const TEXT_LIMIT = 256 * 1024;

/** Files that the text names and that are missing, and files under references/ that nothing mentions. */
export async function linkedResources(skill: LintedSkill): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = [];
  const resources = new Set([...skill.resources, 'SKILL.md', path.basename(skill.file)]);
  const folders = new Set(skill.resources.flatMap(parentsOf));
  const reported = new Set<string>();
  for (const { target, line } of namesIn(skill.body)) {
    const place = placeOf(target);
    if (place === null || reported.has(place) || resources.has(place) || folders.has(place)) continue;
    reported.add(place);
    found.push(
      advice(
        skill,
        'link_missing',
        { message: `names the file '${place}', which is not there`, cure: cureOf(place, skill.resources) },
        skill.bodyLine + line,
      ),
    );
  }
  const mentioned = await mentionsIn(skill);
  const patterns = patternsIn(mentioned);
  for (const resource of skill.resources) {
    if (!/^(?:references?|resources|docs)\//.test(resource) || UNNAMED.test(resource)) continue;
    const parts = [resource, path.basename(resource), path.basename(resource).replace(/\.\w+$/, ''), ...parentsOf(resource).slice(1)];
    if (parts.some((part) => mentioned.includes(part)) || patterns.some((isNamed) => isNamed(resource))) continue;
    found.push(
      advice(skill, 'resource_unlinked', {
        message: `has '${resource}', which its text does not name, so that nobody will read it`,
        cure: `write \`[${path.basename(resource).replace(/\.\w+$/, '')}](${resource})\` in SKILL.md where it is needed, or remove the file`,
      }),
    );
  }
  return found;
}

/** The file that was probably meant: the same name elsewhere, in other case or with another ending, or a typing error. */
function cureOf(place: string, resources: readonly string[]): string {
  const [name, stem] = [path.basename(place).toLowerCase(), stemOf(place)];
  const meant =
    resources.find((one) => path.basename(one).toLowerCase() === name) ??
    resources.find((one) => stemOf(one) === stem) ??
    slipsOf(place, resources, 2)[0];
  return meant === undefined ? `add \`${place}\` beside SKILL.md, or remove what names it` : `write \`${meant}\` in its place`;
}

/** Links outside code, and paths that are code by themselves; nothing from code blocks. */
function* namesIn(body: string): Iterable<{ readonly target: string; readonly line: number }> {
  let fence: string | null = null;
  for (const [line, text] of body.split('\n').entries()) {
    const [, mark, info] = /^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}(?=[^`]*$)|~{3,})(.*)/.exec(text) ?? [];
    if (mark !== undefined && (fence === null || (mark.startsWith(fence) && info?.trim() === ''))) {
      fence = fence === null ? mark : null;
      continue;
    }
    if (fence !== null) continue;
    const prose = text.replace(CODE, (code) => '_'.repeat(code.length));
    for (const match of prose.matchAll(LINK)) yield { target: match[1]!, line };
    for (const { 2: code, index } of text.matchAll(CODE)) {
      const target = PATH.exec(code!.trim())?.[1];
      if (target !== undefined && !EXAMPLE.test(text.slice(0, index))) yield { target, line };
    }
  }
}

/** Relative to the skill's folder; null for a target that is not a file of this skill. */
function placeOf(target: string): string | null {
  const bare = target.replace(/[?#].*$/, '');
  if (bare === '' || /^[a-z][a-z0-9+.-]*:|^\/|^~/i.test(bare) || PLACEHOLDER.test(bare)) return null;
  if (!/[./]/.test(bare)) return null; // a word, as in an example of a link
  let plain: string;
  try {
    plain = decodeURIComponent(bare);
  } catch {
    plain = bare; // a percent sign that encodes nothing
  }
  const place = path.posix.normalize(plain).replace(/\/$/, '');
  return place.startsWith('..') || place === '.' ? null : place;
}

/** Names of many files, such as `references/step-N-*.md` or `references/<language>.md`, as patterns. */
function patternsIn(text: string): readonly ((resource: string) => boolean)[] {
  const found = text.match(/\b(?:references?|resources|docs)\/[\w./*<>{}[\]-]{1,200}/g) ?? [];
  return [...new Set(found)]
    .filter((name) => PLACEHOLDER.test(name) || LETTER.test(name))
    .map((name) => name.split(/\*+|<[^<>]*>|\{[^{}]*\}|\[[^[\]]*\]|(?<=[-_/])[NX]+(?=[-_.])/))
    .filter((parts) => parts.join('').replace(/^\w+\//, '') !== '')
    .map((parts) => globMatcher(parts.map((part) => part.replace(/[*?[\]\\{},]/g, '\\$&')).join('?*')));
}

/** The text of SKILL.md and of every Markdown file beside it. */
async function mentionsIn({ body, directory, resources }: LintedSkill): Promise<string> {
  const texts = [body];
  for (const resource of resources.filter((name) => /\.(?:md|mdx|txt)$/i.test(name)).slice(0, 200)) {
    const bytes = await readRegularFile(path.join(directory, resource), TEXT_LIMIT).catch(() => null); // too large, or gone
    if (bytes !== null && !/^(?:references?|resources|docs)\//.test(resource)) texts.push(bytes.toString('utf8'));
    else if (bytes !== null && body.includes(path.basename(resource))) texts.push(bytes.toString('utf8'));
  }
  return texts.join('\n');
}

function stemOf(resource: string): string {
  return resource.replace(/\.\w+$/, '').toLowerCase();
}

/** The parents of a path with a slash at the end, as people write folders: `a/b/` and `a/` of `a/b/c.md`. */
function parentsOf(resource: string): string[] {
  const parts = resource.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}
