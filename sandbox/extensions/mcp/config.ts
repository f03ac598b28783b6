import { z } from 'pith';
import { describe } from '@pith/checked-yaml';
import { isPlainMap } from '@pith/plain-data';
import { didYouMean, printableLine, slipsOf } from '@pith/plain-text';

/** Of a server that is reached by HTTP. */
export const address = z.url({
  protocol: /^https?$/,
  error: 'must be an address such as https://example.com/mcp or http://localhost:3000/mcp',
});

const common = {
  enabled: z.boolean().default(true),
  /** Names of tools as the server has them; `allow` absent: all. */
  tools: z.strictObject({ allow: z.array(z.string()).optional(), deny: z.array(z.string()).default([]) }).default({ deny: [] }),
  /** Whether a person is asked: `always`, or not for tools that the server calls read-only. */
  approvals: z.enum(['always', 'never-for-read-only']).default('never-for-read-only'),
  /** Seconds until a call is cut that reports no progress; one that does has up to ten times as long. */
  timeout: z.number().positive().max(3600).default(60),
  /** Seconds until a start that does not come to an end is given up; the next has twice as long. */
  start_timeout: z.number().positive().max(3600).default(60),
};

const local = z.strictObject({
  ...common,
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
});

const remote = z.strictObject({
  ...common,
  url: address,
  headers: z.record(z.string(), z.string()).default({}),
  /** For `mcp login`, where the server's authorization server registers no applications by itself. */
  oauth: z
    .strictObject({ client_id: z.string().optional(), scope: z.string().optional(), port: z.int().min(1).max(65_535).optional() })
    .default({}),
});

export type ServerConfig = z.infer<typeof local> | z.infer<typeof remote>;

/** Whether it is sent a key of its own; a login is not used then. */
export function hasKey({ headers }: Pick<z.infer<typeof remote>, 'headers'>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}

/** What a map is read by: with a `command` it is started here, with a `url` reached. */
export interface EntrySchemas<L, R> {
  readonly local: z.ZodObject & z.ZodType<L>;
  readonly remote: z.ZodObject & z.ZodType<R>;
}

/** The entry of one server, or what is wrong with it. */
export function readEntry<L, R>(
  { local, remote }: EntrySchemas<L, R>,
  given: unknown,
): { readonly entry: L | R } | { readonly why: string } {
  if (!isPlainMap(given)) return { why: 'must be a map with a command or a url' };
  if ('command' in given && 'url' in given) return { why: 'has both command and url: keep one' };
  const schema = 'url' in given ? remote : local;
  const keys = Object.keys(given);
  const slips = keys.flatMap((key) => (slipsOf(key, ['command', 'url'], MOST_WRONG).length > 0 ? [key] : []));
  if (!('url' in given || 'command' in given))
    return { why: slips.length === 0 ? 'needs a command or a url' : unknownKeys(slips, ['command', 'url']) };
  const parsed = schema.safeParse(given);
  if (parsed.success) return { entry: parsed.data };
  const words = parsed.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys' ? unknownKeys(issue.keys, Object.keys(schema.shape)) : describe(issue, given),
  );
  return { why: words.join('; ') };
}

const MOST_WRONG = 2;

function unknownKeys(keys: readonly string[], known: readonly string[]): string {
  return keys.map((key) => `unknown key '${printableLine(key, 60)}'${didYouMean(key, known)}`).join('; ');
}

/** An entry that cannot be used, and why. */
interface Unusable {
  readonly not_used: string;
}

/** A server that cannot be read is left out as a whole: the wrong key may be a restriction. */
const server = z
  .unknown()
  .transform((given, context): ServerConfig | Unusable => {
    if (isUnusable(given)) return given;
    const read = readEntry({ local, remote }, given);
    if ('entry' in read) return read.entry;
    context.addIssue({ code: 'custom', message: read.why });
    return z.NEVER;
  })
  .meta({ safeguard: true, narrowest: (why: string): Unusable => ({ not_used: why }) });

function isUnusable(given: unknown): given is Unusable {
  return isPlainMap(given) && typeof given['not_used'] === 'string';
}

const NAME = /^[a-z][a-z0-9_-]{0,23}$/;

export const config = z.strictObject({
  servers: z
    .record(z.string(), server)
    .superRefine((servers, context) => {
      for (const [name, each] of Object.entries(servers))
        if (!NAME.test(name) && !isUnusable(each))
          context.addIssue({ code: 'custom', path: [name], message: 'must have a short name of small letters, digits, _ and -' });
    })
    .default({})
    .meta({ by_hand: 'starts programs as you, and says who is sent keys' }),
});

export type Config = z.infer<typeof config>;

/** The servers of the settings, and those that cannot be used with why. */
export function serversOf({ servers }: Config): {
  readonly usable: Readonly<Record<string, ServerConfig>>;
  readonly unusable: ReadonlyMap<string, string>;
} {
  const entries = Object.entries(servers);
  return {
    usable: Object.fromEntries(entries.flatMap(([name, each]) => (isUnusable(each) ? [] : [[name, each as ServerConfig]]))),
    unusable: new Map(entries.flatMap(([name, each]) => (isUnusable(each) ? [[printableLine(name, 60), each.not_used]] : []))),
  };
}
