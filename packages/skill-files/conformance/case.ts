/** The groups of the report, in its order. */
export const AREAS = [
  'file name',
  'frontmatter',
  'YAML',
  'values',
  'names',
  'names, i18n',
  'fields',
  'description',
  'body',
  'encoding',
  'links and special files',
  'size',
  'duplicates and nesting',
  'security',
] as const;
export type Area = (typeof AREAS)[number];

/** `open`: both answers are right; a crash, a hang or a leak is still wrong. */
export type Verdict = 'loads' | 'refuses' | 'open';

/** What is at one path: a text, bytes, a link to a path of the same root, or a pipe that nobody writes into. */
export type Entry = string | Uint8Array | { readonly link: string } | 'fifo' | { readonly unreadable: string };

/** One odd skill, and what is right to make of it. */
export interface Case {
  readonly id: string;
  readonly area: Area;
  /** What is odd. */
  readonly title: string;
  /** Of the specification: what a validator says. */
  readonly strict: Verdict;
  /** Of a loader that takes what can be used. */
  readonly lenient: Verdict;
  /** Why so, as sentences. */
  readonly why: string;
  /** By paths below the root: skills are in `skills/`. `{root}` in a text becomes the root's own path. */
  readonly files: Readonly<Record<string, Entry>>;
  /** The folder below `skills/` of which the verdicts speak. */
  readonly folder: string;
  /** Under which of these it may be known. */
  readonly names: readonly string[];
  /** Which of these descriptions it may have; empty: any. */
  readonly descriptions: readonly string[];
  /** Where a loader tells a version, it is this one. */
  readonly version?: string;
  /** Where a loader tells the body, this text is in it. */
  readonly body?: string;
  /** Folders of good skills that have to be loaded, whatever becomes of the odd one. */
  readonly neighbours: readonly string[];
  /** Texts that nothing printed may contain. */
  readonly never: readonly string[];
  /** How many skills the root has at most, however they are reached. */
  readonly most?: number;
}

/** A description that is in order. */
export const DESCRIPTION = 'Counts the lines of a text. Use when somebody asks how long a text is.';
export const BODY = '# Counting\n\nCount the lines and say how many there are.\n';

/** A SKILL.md of these lines of frontmatter. */
export function skillFile(lines: string, body = BODY): string {
  return `---\n${lines}\n---\n${body}`;
}

/** A SKILL.md that is in order. */
export function goodSkill(name: string, description = DESCRIPTION): string {
  return skillFile(`name: ${name}\ndescription: ${description}`);
}

/** What a row says beyond the verdicts: all that is missing is as in most cases. `skill` is the SKILL.md of the folder. */
type Details = Partial<Omit<Case, 'id' | 'area' | 'strict' | 'lenient' | 'why'>> & { readonly skill?: Entry };

/** A row of the table: verdicts as `strict/lenient`. */
export type Row = readonly [
  id: string,
  verdicts: `${Verdict}/${Verdict}`,
  title: string,
  why: string,
  details: Details | string | Uint8Array,
];

/** Rows of one area. A text in the place of the details is the SKILL.md of the folder `demo`. A good skill is beside each. */
export function casesOf(area: Area, rows: readonly Row[]): readonly Case[] {
  return rows.map(([id, verdicts, title, why, given]) => {
    const [strict, lenient] = verdicts.split('/') as [Verdict, Verdict];
    const { skill, files, ...details }: Details = typeof given === 'string' || given instanceof Uint8Array ? { skill: given } : given;
    const { folder = 'demo', neighbours = ['good'] } = details;
    return {
      descriptions: [DESCRIPTION],
      never: [],
      names: [folder],
      ...details,
      id,
      area,
      title,
      strict,
      lenient,
      why,
      folder,
      neighbours,
      files: {
        ...Object.fromEntries(neighbours.map((one) => [`skills/${one}/SKILL.md`, goodSkill(one)])),
        ...(skill === undefined ? {} : { [`skills/${folder}/SKILL.md`]: skill }),
        ...files,
      },
    };
  });
}
