import { z } from 'zod';

/** `open`: both answers are right; a crash, a hang or a leak is still wrong. */
const verdict = z.enum(['loads', 'refuses', 'open']);
export type Verdict = z.infer<typeof verdict>;

/** A text many times; with `{n}`, which counts from 0, as many texts. */
const repeated = z
  .strictObject({ repeat: z.string(), times: z.int().positive() })
  .transform(({ repeat, times }) =>
    repeat.includes('{n}') ? Array.from({ length: times }, (_, at) => repeat.replaceAll('{n}', String(at))) : [repeat.repeat(times)],
  );
const parts = z.array(z.union([z.string(), repeated], { error: 'must be a text, or repeat and times' })).transform((list) => list.flat());
const text = z
  .union([z.string(), parts], { error: 'must be a text, or a list of its parts' })
  .transform((given) => [given].flat().join(''));

/** What a case has that does not say otherwise. */
export const defaultsFile = z.strictObject({ folder: z.string(), neighbours: parts, descriptions: z.array(text).min(1), text: z.string() });

/** The odd skills of each area, and what is right to make of them; README.md has the words. */
export function caseFile(defaults: z.infer<typeof defaultsFile>) {
  const skillFile = (lines: string) => `---\n${lines}---\n${defaults.text}`;
  const goodSkill = (name: string) => skillFile(`name: ${name}\ndescription: ${defaults.descriptions[0]}\n`);
  /** `{root}` in a text becomes the root's own path. */
  const entry = z.union(
    [
      text,
      z.strictObject({ frontmatter: text }).transform(({ frontmatter }) => skillFile(frontmatter)),
      z.strictObject({ hex: z.hex() }).transform(({ hex }) => Buffer.from(hex, 'hex')),
      z.strictObject({ link: z.string() }),
      z.strictObject({ unreadable: text }),
      z.strictObject({ fifo: z.literal(true) }),
    ],
    { error: 'must be a text, or have one of frontmatter, hex, link, unreadable, fifo' },
  );
  const oneCase = z.strictObject({
    id: z.string().regex(/^[a-z0-9-]+$/, 'must be words with hyphens'),
    /** What is odd. */
    what: z.string(),
    /** What a validator says, and what a loader does that takes what can be used. */
    expect: z.strictObject({ specification: verdict, lenient: verdict }),
    /** Why so, as sentences. */
    why: z.string(),
    /** The folder below `skills/` of which the verdicts speak. */
    folder: z.string().default(defaults.folder),
    /** Under which of these it may be known; without: its folder. */
    names: z.array(z.string()).min(1).optional(),
    /** Which of these descriptions it may have; empty: any. */
    descriptions: z.array(text).default(defaults.descriptions),
    /** Where a loader tells a version, it is this one. */
    version: z.string().optional(),
    /** Where a loader tells the body, this text is in it. */
    body: z.string().optional(),
    /** Folders of good skills that have to be loaded, whatever becomes of the odd one. */
    neighbours: parts.default(defaults.neighbours),
    /** Texts that nothing printed may contain. */
    never: z.array(z.string()).default([]),
    /** How many skills the root has at most, however they are reached. */
    most: z.int().positive().optional(),
    /** Its SKILL.md. */
    skill: entry.optional(),
    /** By paths below the root. */
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
