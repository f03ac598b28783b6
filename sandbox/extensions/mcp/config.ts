import { z } from 'pith';
import { didYouMean } from '@pith/plain-text';

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
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  /** For `mcp login`, where the server's authorization server registers no applications by itself. */
  oauth: z
    .strictObject({ client_id: z.string().optional(), scope: z.string().optional(), port: z.int().min(1).max(65_535).optional() })
    .default({}),
});

/** A server that cannot be read is left out as a whole: the wrong key may be a restriction. */
const server = z
  .unknown()
  .transform((given, context): z.infer<typeof local> | z.infer<typeof remote> => {
    const schema = typeof given === 'object' && given !== null && 'url' in given ? remote : local;
    const parsed = schema.safeParse(given);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues)
      context.addIssue({ code: 'custom', path: issue.path, message: messageOf(issue, Object.keys(schema.shape)) });
    return z.NEVER;
  })
  .meta({ safeguard: true });

function messageOf(issue: z.core.$ZodIssue, known: readonly string[]): string {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `unknown key '${key}'${didYouMean(key, known)}`).join('; ');
  return issue.code === 'invalid_type' && issue.message.endsWith('received undefined') ? 'is missing' : issue.message;
}

export const config = z.strictObject({
  servers: z
    .record(z.string().regex(/^[a-z][a-z0-9_-]{0,23}$/, 'must be a short name of small letters, digits, _ and -'), server)
    .default({}),
});

export type Config = z.infer<typeof config>;
export type ServerConfig = Config['servers'][string];
