import { z } from 'zod';

/** `open`: both answers are right; a crash, a hang or a leak is still wrong. */
const verdict = z.enum(['loads', 'refuses', 'open']);
export type Verdict = z.infer<typeof verdict>;

/** A repeated text; with `{n}`, a number from 0, as many different texts. */
const repeated = z
  .strictObject({ repeat: z.string(), times: z.int().positive() })
  .transform(({ repeat, times }) =>
    repeat.includes('{n}') ? Array.from({ length: times }, (_, at) => repeat.replaceAll('{n}', String(at))) : [repeat.repeat(times)],
  );
const parts = z.array(z.union([z.string(), repeated], { error: 'must be a text, or repeat and times' })).transform((list) => list.flat());
const text = z
  .union([z.string(), parts], { error: 'must be a text, or a list of its parts' })
  .transform((given) => [given].flat().join(''));

/** The defaults of a file's cases. */
export const defaultsFile = z.strictObject({ folder: z.string(), neighbours: parts, descriptions: z.array(text).min(1), text: z.string() });

/** The odd skills of each area with the right verdicts; README.md explains the words. */
export function caseFile(defaults: z.infer<typeof defaultsFile>) {
  const skillFile = (lines: string) => `---\n${lines}---\n${defaults.text}`;
  const goodSkill = (name: string, more = '') => skillFile(`name: ${name}\ndescription: ${defaults.descriptions[0]}\n${more}`);
  /** `{root}` in a text becomes the path of the root. */
  const entry = z.union(
    [
      text,
      z.strictObject({ frontmatter: text }).transform(({ frontmatter }) => skillFile(frontmatter)),
      z
        .strictObject({ name: z.string().default(defaults.folder), more: text.default('') })
        .transform(({ name, more }) => goodSkill(name, more)),
      z.strictObject({ hex: z.hex() }).transform(({ hex }) => Buffer.from(hex, 'hex')),
      z.strictObject({ link: z.string() }),
      z.strictObject({ unreadable: text }),
      z.strictObject({ fifo: z.literal(true) }),
    ],
    { error: 'must be a text, or have one of frontmatter, name or more, hex, link, unreadable, fifo' },
  );
  const oneCase = z.strictObject({
    id: z.string().regex(/^[a-z0-9-]+$/, 'must be words with hyphens'),
    /** What is odd about the skill. */
    what: z.string(),
    /** The verdict of a validator, and of a loader that accepts what is usable. */
    expect: z.strictObject({ specification: verdict, lenient: verdict }),
    /** The reason for the verdicts, in sentences. */
    why: z.string(),
    /** The folder below `skills/` to which the verdicts apply. */
    folder: z.string().default(defaults.folder),
    /** The names under which it may be listed; absent: its folder. */
    names: z.array(z.string()).min(1).optional(),
    /** The descriptions that it may have; empty: any. */
    descriptions: z.array(text).default(defaults.descriptions),
    /** The version, where a loader lists one. */
    version: z.string().optional(),
    /** A text that the body contains, where a loader lists the body. */
    body: z.string().optional(),
    /** The folders of good skills, which must load whatever happens to the odd one. */
    neighbours: parts.default(defaults.neighbours),
    /** Texts that must not occur in any output. */
    never: z.array(z.string()).default([]),
    /** The most skills that the root has, however they are reached. */
    most: z.int().positive().optional(),
    /** The content of its SKILL.md. */
    skill: entry.optional(),
    /** Files by their paths below the root. */
    files: z.record(z.string(), entry).default({}),
    /** Paths of further files, each with a line of text. */
    fillers: parts.default([]),
  });
  return z.record(
    z.string(),
    z.array(
      oneCase.transform(({ skill, files, fillers, names, ...given }) => ({
        ...given,
        names: names ?? [given.folder],
        files: {
          ...Object.fromEntries(given.neighbours.map((name) => [`skills/${name}/SKILL.md`, goodSkill(name)])),
          ...(skill === undefined ? {} : { [`skills/${given.folder}/SKILL.md`]: skill }),
          ...files,
          ...Object.fromEntries(fillers.map((file) => [file, 'Text.\n'])),
        },
      })),
    ),
  );
}

/** An odd skill with all files of its root. */
export type Case = z.infer<ReturnType<typeof caseFile>>[string][number] & { readonly area: string };
export type Entry = Case['files'][string];
