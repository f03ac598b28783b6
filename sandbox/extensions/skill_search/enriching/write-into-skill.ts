import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PithError, type Remote } from 'pith';
import type { SkillRecord, SkillWriter } from 'pith/skill_registry';
import { guardedYaml } from '@pith/guarded-yaml';
import { printableLine } from '@pith/plain-text';
import { FRONTMATTER_LIMIT, splitFrontmatter, treeDigest } from '@pith/skill-files';
import { isScalar, isSeq } from 'yaml';

/** Adds requests to the `examples` of a SKILL.md, in one change with the rest of its folder. Rejects what must not be written, and what somebody edits meanwhile. */
export async function writeIntoSkill(writer: Remote<SkillWriter>, skill: SkillRecord, requests: readonly string[]): Promise<void> {
  const refuse = (why: string, cure?: string) =>
    new PithError('skill_not_writable', `skill '${printableLine(skill.id)}': ${why}`, {
      where: skill.file,
      ...(cure === undefined ? {} : { cure }),
    });
  const place = (await writer.places()).find(({ skills }) => path.dirname(skill.directory) === skills);
  if (place === undefined)
    throw refuse(`it lies in '${skill.source}', where nothing is written`, 'leave --write out: they are kept beside it');
  if ((await writer.installed(place.source)).some(({ id }) => id === skill.id))
    throw refuse('it was installed, and the next update would lose what is written into it', 'leave --write out: they are kept beside it');
  const folder = path.basename(skill.directory);
  const expects = await treeDigest(skill.directory);
  const staged = await writer.stage(place.source);
  try {
    const copy = path.join(staged, folder);
    await cp(skill.directory, copy, { recursive: true, verbatimSymlinks: true });
    const file = path.join(copy, path.basename(skill.file));
    const text = withExamples(await readFile(file, 'utf8'), requests);
    if (typeof text !== 'string') throw refuse(text.why);
    await writeFile(file, text);
    await writer.change(staged, [{ folder, id: '', from: folder, entry: null, expects }]);
  } finally {
    await writer.unstage(staged);
  }
}

/** The text of a SKILL.md with further examples; its other lines as they are. */
export function withExamples(text: string, requests: readonly string[]): string | { readonly why: string } {
  const split = splitFrontmatter(text, true);
  if ('code' in split || split.head === '') return { why: 'it has no frontmatter that could hold examples' };
  const at = text.indexOf(split.head);
  const head = headWith(split.head, requests);
  if (head === null) return { why: "its frontmatter has 'examples' that are no list" };
  if (Buffer.byteLength(head) > FRONTMATTER_LIMIT) return { why: `its frontmatter would be longer than ${FRONTMATTER_LIMIT} bytes` };
  return text.slice(0, at) + head + text.slice(at + split.head.length);
}

function headWith(head: string, requests: readonly string[]): string | null {
  const end = head.includes('\r\n') ? '\r\n' : '\n';
  if (!/^examples[ \t]*:/m.test(head))
    return [head.replace(/\r?\n?$/, ''), 'examples:', ...requests.map((one) => `  - ${JSON.stringify(one)}`), ''].join(end);
  const { document } = guardedYaml(head);
  const examples = document?.get('examples', true);
  if (document === null || document.errors.length > 0 || !(isSeq(examples) || (isScalar(examples) && examples.value === null))) return null;
  const list = isSeq(examples) ? examples : document.createNode([]);
  const known = new Set(list.toJS(document) as unknown[]);
  for (const request of requests) if (!known.has(request)) list.add(document.createNode(request));
  document.set('examples', list);
  return String(document).replaceAll('\n', end);
}
