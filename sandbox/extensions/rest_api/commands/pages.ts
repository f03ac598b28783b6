import { type Command, type JsonValue, messageOf, z } from 'pith';
import { type Cursors, cursorInvalid } from '../cursors.ts';
import type { ApiRequest } from '../route.ts';

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

/** `rows`: of the whole list. */
export function pageResult({ name }: PagedList, rows: z.ZodType = z.array(z.json())): z.ZodType {
  return z.union([rows, z.strictObject({ [name]: rows, cursor: z.string().nullable() })]);
}

/** What a request asks for of `list`; null: no page. */
export async function askedPage(list: PagedList, request: ApiRequest, cursors: Cursors): Promise<Page | null> {
  const { limit, cursor } = request.query as Readonly<Record<string, unknown>>;
  if (limit === undefined && cursor === undefined) return null;
  const before = cursor === undefined ? null : { cursor: String(cursor), place: await cursors.placeIn(request, String(cursor)) };
  return new Page(list, Number(limit ?? PAGE), before);
}

class Page {
  constructor(
    private readonly list: PagedList,
    private readonly limit: number,
    /** What the page before ended with; null: this is the first. */
    private readonly before: { readonly cursor: string; readonly place: string } | null,
  ) {}

  /** What the command is asked for: one row more says whether there is a next page. */
  get options(): Readonly<Record<string, unknown>> {
    return { limit: this.limit + 1, after: this.before?.place };
  }

  /** As `listing` settles. Rejects `cursor_invalid` where the command names the last row of the page before: it has left the list since. */
  async begun<T>(listing: Promise<T>): Promise<T> {
    const { before } = this;
    return listing.catch((error: unknown) => {
      throw before !== null && messageOf(error).includes(`'${before.place}'`) ? cursorInvalid(before.cursor) : error;
    });
  }

  /** `next` makes a cursor of a place. */
  async of(rows: JsonValue | undefined, next: (place: string) => Promise<string>): Promise<JsonValue> {
    const { name, row } = this.list;
    const all = Array.isArray(rows) ? rows : [];
    const page = all.slice(0, this.limit);
    const last = page.at(-1) as Readonly<Record<string, JsonValue>> | undefined;
    const isLast = all.length === page.length || last === undefined;
    return { [name]: page, cursor: isLast ? null : await next(row.map((field) => String(last[field])).join('/')) };
  }
}
