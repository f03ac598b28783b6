import type { Diagnostic } from 'pith';
import { emptyFields, type SkillFields } from '../format/fields.ts';
import type { FoundDirectory, FoundSkill, GoodVersion, SourceScan } from './found.ts';
import { idOf } from './names.ts';
import type { Stamp } from './stamp.ts';

/** One source as the file keeps it, followed by its skills: rows, because they are the fastest to load. Paths are relative to `directory`. */
export type StoredSource = readonly [
  directory: string,
  skills: number,
  directories: readonly StoredDirectory[],
  diagnostics: readonly Diagnostic[],
];
type StoredStamp = readonly [mtimeNs: string, ctimeNs: string, size: string, inode: string];
type StoredDirectory = readonly [
  path: string,
  ...stamp: StoredStamp,
  children: readonly string[],
  links: readonly string[],
  oddFile: string | null,
  hasFiles: boolean,
];
export type StoredSkill = readonly [
  path: string,
  fileName: string,
  ...stamp: StoredStamp,
  valid: boolean,
  tokens: number,
  fields: StoredFields,
  diagnostics: readonly Diagnostic[] | 0,
  good: StoredGood | 0,
  digest: string | 0,
  realDirectory: string | 0,
  /** -1: not counted yet. */
  bodyTokens: number,
];
type StoredGood = readonly [fields: StoredFields, tokens: number, body: GoodVersion['body']];
/** The fields in the order of `FIELD_ORDER`; 0 stands for what most skills do not have. */
type StoredFields = readonly unknown[];

const FIELD_ORDER = [
  'name',
  'description',
  'brief',
  'version',
  'tags',
  'requires',
  'examples',
  'allowedTools',
  'toolsets',
  'scripts',
  'defaultEnabled',
  'extra',
  'triggers',
] as const satisfies readonly (keyof SkillFields)[];
const BLANK = emptyFields('');
const NONE: readonly never[] = Object.freeze([]);

export function fromDirectory(path: string, { stamp, settled, children, links, oddFile, hasFiles }: FoundDirectory): StoredDirectory {
  return [path, ...fromStamp(stamp, settled), children, links, oddFile, hasFiles];
}

export function fromSkill(root: string, found: FoundSkill): StoredSkill {
  const { directory, realDirectory, file, stamp, settled, parsed, good, digest, bodyTokens } = found;
  const diagnostics = parsed.diagnostics.map((diagnostic) => (diagnostic.file === file ? { ...diagnostic, file: undefined } : diagnostic));
  return [
    directory.slice(root.length),
    file.slice(directory.length + 1),
    ...fromStamp(stamp, settled),
    parsed.valid,
    parsed.tokens,
    fromFields(parsed.fields),
    diagnostics.length === 0 ? 0 : diagnostics,
    good === null ? 0 : [fromFields(good.fields), good.tokens, good.body],
    digest ?? 0,
    realDirectory === directory ? 0 : realDirectory,
    bodyTokens ?? -1,
  ];
}

/** What has not settled is written as changed, so that the next process reads it again. */
function fromStamp({ mtimeNs, ctimeNs, size, inode }: Stamp, settled: boolean): StoredStamp {
  return [settled ? String(mtimeNs) : '-1', String(ctimeNs), String(size), String(inode)];
}

function fromFields(fields: SkillFields): StoredFields {
  const values: unknown[] = FIELD_ORDER.map((key) => {
    const value = fields[key];
    const blank = BLANK[key];
    return value === blank || (blank !== null && Array.isArray(value) && value.length === 0) ? 0 : value;
  });
  while (values.at(-1) === 0) values.pop();
  return values;
}

export function toScan([root, , directories, diagnostics]: StoredSource, skills: readonly FoundSkill[]): SourceScan {
  const found = new Map(skills.map((skill) => [skill.directory, skill]));
  return {
    skills: found,
    directories: new Map(directories.map((row) => toDirectory(root, row))),
    diagnostics,
    read: NONE,
    recent: new Set(),
    revisited: false,
  };
}

function toDirectory(
  root: string,
  [path, mtimeNs, ctimeNs, size, inode, children, links, oddFile, hasFiles]: StoredDirectory,
): [string, FoundDirectory] {
  return [root + path, { stamp: toStamp(mtimeNs, ctimeNs, size, inode), settled: true, children, links, oddFile, hasFiles }];
}

export function toSkill(root: string, row: StoredSkill): FoundSkill {
  const [path, fileName, mtimeNs, ctimeNs, size, inode, valid, tokens, fields, diagnostics, good, digest, realDirectory, bodyTokens] = row;
  const directory = root + path;
  const file = `${directory}/${fileName}`;
  const id = idOf(directory);
  return {
    id,
    directory,
    realDirectory: realDirectory || directory,
    file,
    stamp: toStamp(mtimeNs, ctimeNs, size, inode),
    settled: true,
    digest: digest || null,
    bodyTokens: bodyTokens === -1 ? null : bodyTokens,
    parsed: {
      valid,
      tokens,
      fields: toFields(fields, id),
      diagnostics: diagnostics === 0 ? NONE : diagnostics.map((diagnostic) => ({ ...diagnostic, file: diagnostic.file ?? file })),
    },
    good: good === 0 ? null : { fields: toFields(good[0], id), tokens: good[1], body: good[2] },
  };
}

function toStamp(mtimeNs: string, ctimeNs: string, size: string, inode: string): Stamp {
  return { mtimeNs: BigInt(mtimeNs), ctimeNs: BigInt(ctimeNs), size: BigInt(size), inode: BigInt(inode) };
}

function toFields(values: StoredFields, id: string): SkillFields {
  const take = <Key extends keyof SkillFields>(index: number, blank: SkillFields[Key]) => (values[index] || blank) as SkillFields[Key];
  return {
    name: take<'name'>(0, id),
    description: take<'description'>(1, ''),
    brief: take<'brief'>(2, null),
    version: take<'version'>(3, null),
    tags: take<'tags'>(4, NONE),
    requires: take<'requires'>(5, NONE),
    examples: take<'examples'>(6, NONE),
    allowedTools: take<'allowedTools'>(7, null),
    toolsets: take<'toolsets'>(8, NONE),
    scripts: take<'scripts'>(9, NONE),
    defaultEnabled: values[10] !== false,
    extra: take<'extra'>(11, BLANK.extra),
    triggers: take<'triggers'>(12, null),
  };
}
