import { codeOf, type Command, type JsonValue, z } from 'pith';

/** A list that is answered in pages where a request asks for one: its name in the answer, and the fields that name a row, by which the next page begins. */
export interface PagedList {
  readonly name: string;
  readonly row: readonly string[];
}

const PAGE = 50;
const MOST = 200;

/** What a request may say of pages, in place of the command's own options. */
export function pageQuery({ name }: PagedList, { options = [] }: Pick<Command, 'options'>): Readonly<Record<string, z.ZodType>> {
  const first = options.find((option) => option.name === 'limit')?.default;
  const whole = first === undefined ? 'the whole list' : `a list of the first ${String(first)}`;
  const limit = `With this or \`cursor\` the answer is a page of at most this many, {"${name}": […], "cursor"}; without them it is ${whole}`;
  return {
    limit: z.coerce.number().int().min(1).max(MOST).optional().describe(limit),
    cursor: z
      .string()
      .min(1)
      .optional()
      .describe(`Of the page before, for the next one; it is null at the end (pages of ${PAGE} without \`limit\`)`),
  };
}

export function pageResult({ name }: PagedList): z.ZodType {
  const rows = z.array(z.json());
  return z.union([rows, z.strictObject({ [name]: rows, cursor: z.string().nullable() })]);
}

/** The page of `list` that a request asks for; null: it asks for none. */
export function askedPage(list: PagedList | undefined, { limit, cursor }: Readonly<Record<string, unknown>>): Page | null {
  return list === undefined || (limit === undefined && cursor === undefined) ? null : new Page(list, Number(limit ?? PAGE), cursor);
}

class Page {
  constructor(
    private readonly list: PagedList,
    private readonly limit: number,
    private readonly cursor: unknown,
  ) {}

  /** What the command is asked for: one row more says whether there is a next page. */
  get options(): Readonly<Record<string, unknown>> {
    return { limit: this.limit + 1, after: this.cursor };
  }

  /** A command that was asked for what follows a row, and does not know that row. */
  isBehindNothing(error: unknown): boolean {
    return this.cursor !== undefined && /^usage$|(?:^|_)(?:unknown|not_found|invalid)$/u.test(codeOf(error, ''));
  }

  of(rows: JsonValue | undefined): JsonValue {
    const { name, row } = this.list;
    const all = Array.isArray(rows) ? rows : [];
    const page = all.slice(0, this.limit);
    const last = page.at(-1) as Readonly<Record<string, JsonValue>> | undefined;
    return {
      [name]: page,
      cursor: all.length > page.length && last !== undefined ? row.map((field) => String(last[field])).join('/') : null,
    };
  }
}
