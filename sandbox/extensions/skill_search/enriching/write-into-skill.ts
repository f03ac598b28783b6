import { cp, readFile, writeFile } from 'node:fs/promises';
import { isUtf8 } from 'node:buffer';
import path from 'node:path';
import { PithError, type Remote } from 'pith';
import type { SkillRecord, SkillWriter } from 'pith/skill_registry';
import { guardedYaml } from '@pith/guarded-yaml';
import { parseSkillFile, splitFrontmatter, treeDigest } from '@pith/skill-files';
import { isMap, isScalar, isSeq } from 'yaml';

/** Adds requests to the `examples` of a SKILL.md, as one change of its folder. Rejects where that is forbidden or edited meanwhile. */
export async function writeIntoSkill(writer: Remote<SkillWriter>, skill: SkillRecord, requests: readonly string[]): Promise<void> {
  const refuse = (why: string, cure?: string) =>
    new PithError('skill_not_writable', why, {
      where: skill.file,
      ...(cure === undefined ? {} : { cure }),
    });
  const place = (await writer.places()).find(({ skills }) => path.dirname(skill.directory) === skills);
  if (place === undefined) throw refuse(`it lies in '${skill.source}', where Pith writes nothing`, 'the requests are kept all the same');
  if ((await writer.installed(place.source)).some(({ id }) => id === skill.id))
    throw refuse('it was installed, and the next update would lose what is written into it', 'the requests are kept all the same');
  const folder = path.basename(skill.directory);
  const expects = await treeDigest(skill.directory);
  const staged = await writer.stage(place.source);
  try {
    const copy = path.join(staged, folder);
    await cp(skill.directory, copy, { recursive: true, verbatimSymlinks: true });
    const file = path.join(copy, path.basename(skill.file));
    const bytes = await readFile(file);
    if (!isUtf8(bytes)) throw refuse('it is not UTF-8 text', 'save it as UTF-8; the requests are kept all the same');
    const text = await withExamples(bytes.toString('utf8'), requests);
    if (typeof text !== 'string') throw refuse(text.why);
    await writeFile(file, text);
    await writer.change(staged, [{ folder, id: '', from: folder, entry: null, expects }], { how: 'enrich', by: 'person' });
  } finally {
    await writer.unstage(staged);
  }
}

/**
 * The text of a SKILL.md with further examples. Changes only the examples in its frontmatter and, where there were some, their wrapping.
 */
export async function withExamples(text: string, requests: readonly string[]): Promise<string | { readonly why: string }> {
  const split = splitFrontmatter(text, true);
  if ('code' in split || split.head === '') return { why: 'it has no frontmatter for examples' };
  const at = text.indexOf(split.head);
  const head = headWith(split.head, requests);
  if (head === null) return CANNOT_ADD;
  const written = text.slice(0, at) + head + text.slice(at + split.head.length);
  const about = { id: 'skill', file: '/SKILL.md', mode: 'load', size: Buffer.byteLength(written) } as const;
  const [before, after] = [await parseSkillFile(text, about), await parseSkillFile(written, about)];
  const rest = ({ fields }: typeof before) => JSON.stringify({ ...fields, examples: [] });
  const hasAll = requests.every((request) => after.fields.examples.includes(request));
  if (!after.valid || !hasAll || rest(before) !== rest(after)) return CANNOT_ADD;
  return written;
}

const CANNOT_ADD = { why: 'examples cannot be added to its frontmatter without changing something else: write them by hand' };

function headWith(head: string, requests: readonly string[]): string | null {
  const end = head.includes('\r\n') ? '\r\n' : '\n';
  const { document } = guardedYaml(head);
  if (document === null || document.errors.length > 0 || !isMap(document.contents)) return null;
  const examples = document.get('examples', true);
  if (examples === undefined && !document.contents.flow)
    return [head.replace(/\r?\n?$/, ''), 'examples:', ...requests.map((one) => `  - ${JSON.stringify(one)}`), ''].join(end);
  if (examples !== undefined && !isSeq(examples) && !(isScalar(examples) && examples.value === null)) return null;
  const list = isSeq(examples) ? examples : document.createNode([]);
  const known = new Set(list.toJS(document) as unknown[]);
  for (const request of requests) if (!known.has(request)) list.add(document.createNode(request));
  document.set('examples', list);
  return document.toString({ lineWidth: 0 }).replaceAll('\n', end);
}
