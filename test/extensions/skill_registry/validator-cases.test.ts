import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintSkill } from '@pith/skill-files';
import { skillSandbox } from './skill-sandbox.ts';

interface Case {
  readonly what: string;
  /** The folder's name; `demo` where it is absent. */
  readonly folder?: string;
  /** By file name; null makes the folder a file, an empty map an empty folder. */
  readonly files: Readonly<Record<string, string>> | null;
  /** The code of the one error, or null for a valid skill. */
  readonly error: string | null;
  /** Differs from the reference on purpose: a warning of this code instead of an error. */
  readonly warning?: string;
}

const skill = (head: string): Readonly<Record<string, string>> => ({ 'SKILL.md': `---\n${head}\n---\nText.\n` });
const named = (name: string) => skill(`name: ${name}\ndescription: Does it. Use when asked.`);
/** A skill in a folder of its name. */
const called = (what: string, name: string, error: string | null): Case => ({ what, folder: name, files: named(name), error });
const about = (more: string) => skill(`name: demo\n${more}`);

/** The cases of the reference validator, told in ../corpus/README.md; those of its prompt block are not ours: the catalog has its own form (S30, S61). */
const CASES: readonly Case[] = [
  { what: 'SKILL.md', files: named('demo'), error: null },
  { what: 'SKILL.md beside skill.md: the former is read', files: { ...named('demo'), 'skill.md': 'broken' }, error: null },
  { what: 'skill.md', files: { 'skill.md': named('demo')['SKILL.md']! }, error: null, warning: 'file_name_case' },
  { what: 'no file', files: {}, error: 'skill_file_missing' },
  { what: 'text that does not begin with ---', files: { 'SKILL.md': '# Demo\n' }, error: 'frontmatter_missing' },
  { what: 'frontmatter that is never closed', files: { 'SKILL.md': '---\nname: demo\ndescription: x\n' }, error: 'frontmatter_unclosed' },
  { what: 'invalid YAML that can be mended', files: about('description: Does: it.'), error: 'repaired_quote' },
  { what: 'invalid YAML', files: skill('{ name: demo, description: ['), error: 'yaml_invalid' },
  { what: 'a list instead of a mapping', files: skill('- name\n- description'), error: 'frontmatter_no_map' },
  { what: 'metadata whose values are numbers', files: about('description: Does it.\nmetadata:\n  version: 1.0\n  level: 2'), error: null },
  { what: 'allowed-tools as text', files: about('description: Does it.\nallowed-tools: Read Write'), error: null },
  { what: 'no name', files: skill('description: Does it.'), error: 'name_missing' },
  { what: 'no description', files: skill('name: demo'), error: 'description_missing' },
  { what: 'an empty name', files: skill('name: ""\ndescription: Does it.'), error: 'name_missing' },
  { what: 'an empty description', files: skill('name: demo\ndescription: ""'), error: 'description_missing' },
  { what: 'a path that is a file', files: null, error: 'path_no_directory' },
  called('a valid skill', 'my-skill', null),
  called('a name in upper case', 'Demo', 'name_case'),
  { what: 'a name of 65 characters', files: named('x'.repeat(65)), folder: 'x'.repeat(65), error: 'name_length' },
  { what: 'a name of 64 characters', files: named('x'.repeat(64)), folder: 'x'.repeat(64), error: null },
  called('a leading hyphen', '-demo', 'name_hyphens'),
  called('a trailing hyphen', 'demo-', 'name_hyphens'),
  called('two hyphens', 'my--demo', 'name_hyphens'),
  called('an underscore', 'my_demo', 'name_characters'),
  { what: 'a name that is not the folder\u2019s', files: named('other'), error: 'name_differs' },
  called('a Chinese name', '\u6280\u80fd', null),
  called('a Russian name', '\u043d\u0430\u0432\u044b\u043a', null),
  called('a Russian name with a hyphen', '\u043c\u043e\u0439-\u043d\u0430\u0432\u044b\u043a', null),
  called('a Russian name in upper case', '\u041d\u0410\u0412\u042b\u041a', 'name_case'),
  { what: 'a decomposed name, the folder composed', files: named('cafe\u0301'), folder: 'caf\u00e9', error: null },
  { what: 'an unknown field', files: about('description: Does it.\nmood: good'), error: 'field_unknown' },
  { what: 'a field of another client, on purpose (S3)', files: about('description: Does it.\nauthor: me'), error: null },
  {
    what: 'all six fields',
    files: about('description: Does it.\nlicense: MIT\ncompatibility: any\nmetadata:\n  author: me\nallowed-tools: Read'),
    error: null,
  },
  { what: 'a description of 1,024 characters', files: about(`description: ${'x'.repeat(1024)}`), error: null, warning: 'description_long' },
  { what: 'a description of 1,025 characters', files: about(`description: ${'x'.repeat(1025)}`), error: 'description_length' },
  { what: 'a compatibility of 500 characters', files: about(`description: Does it.\ncompatibility: ${'x'.repeat(500)}`), error: null },
  {
    what: 'a compatibility of 501 characters',
    files: about(`description: Does it.\ncompatibility: ${'x'.repeat(501)}`),
    error: 'compatibility_length',
  },
  { what: 'flow style, on purpose', files: about('description: Does it.\nmetadata: {author: me}'), error: null, warning: 'flow_style' },
  { what: 'a key twice, on purpose', files: about('description: One.\ndescription: Two.'), error: null, warning: 'duplicate_key' },
  { what: 'three dashes in a value, on purpose', files: about('description: One --- two.'), error: null },
];

describe('the cases of the reference validator (S81)', () => {
  it.each(CASES)('S81 $what', async ({ folder = 'demo', files, error, warning }) => {
    const box = await skillSandbox();
    const place = path.join(box.project, folder);
    if (files === null) await writeFile(place, 'x');
    else {
      await mkdir(place);
      for (const [name, text] of Object.entries(files)) await writeFile(path.join(place, name), text);
    }
    const { valid, diagnostics } = await lintSkill(place, '/');
    const of = (severity: string) => diagnostics.filter((one) => one.severity === severity).map(({ code }) => code);
    expect(of('error')).toEqual(error === null ? [] : [error]);
    expect(valid).toBe(error === null);
    expect(of('warning')).toEqual(warning === undefined ? [] : [warning]);
    for (const one of diagnostics)
      expect(one, 'what is wrong and what to do').toMatchObject({ message: expect.any(String), cure: expect.any(String) });
  });
});
