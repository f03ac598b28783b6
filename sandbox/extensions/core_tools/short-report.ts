import { z, type JsonValue } from 'pith';
import type { ToldSkills } from './told-skills.ts';

const finding = z.looseObject({
  severity: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  file: z.string().optional(),
  line: z.number().optional(),
  cure: z.string().optional(),
});
const part = finding.extend({ id: z.string(), state: z.string(), phase: z.string().optional(), notes: z.array(finding).optional() });
const reportSchema = z.looseObject({
  ok: z.boolean(),
  model: z.looseObject({ ref: z.string(), why: z.string() }),
  extensions: z.array(part),
  agents: z.array(part),
  skills: z.record(z.string(), z.number()),
  notes: z.array(finding).optional(),
});

const MOST_FINDINGS = 30;

/** What `pith doctor --json` says, without what is well: ids by state, and the findings. */
export function shortReport(report: JsonValue | undefined, only: string | undefined, told: ToldSkills): JsonValue {
  const { ok, model, extensions, agents, skills, notes = [] } = reportSchema.parse(report);
  const parts = [...extensions, ...agents].filter(({ id }) => only === undefined || id === only);
  const findings = [
    ...parts
      .filter(({ code }) => code !== undefined)
      .map((each) => ({ id: each.id, state: each.state, phase: each.phase, ...short(each) })),
    ...parts.flatMap(({ id, notes: own = [] }) => own.map((note) => ({ id, ...short(note) }))),
    ...(only === undefined
      ? notes.filter((note) => note.severity !== 'info' && told.tells({ message: note.message ?? '', file: note.file })).map(short)
      : []),
  ];
  return JSON.parse(
    JSON.stringify({
      ok,
      model,
      extensions: byState(extensions, only),
      agents: byState(agents, only),
      ...(only === undefined ? { skills: { ...(told.counts ?? skills) } } : {}),
      findings: findings.slice(0, MOST_FINDINGS),
      ...(findings.length > MOST_FINDINGS ? { more: findings.length - MOST_FINDINGS } : {}),
    }),
  ) as JsonValue;
}

function short({ code, message, file, line, cure }: z.infer<typeof finding>) {
  return { code, message, at: file === undefined ? undefined : `${file}${line === undefined ? '' : `:${line}`}`, cure };
}

function byState(parts: readonly z.infer<typeof part>[], only: string | undefined): Readonly<Record<string, readonly string[]>> {
  const states = new Map<string, string[]>();
  for (const { id, state } of parts) if (only === undefined || id === only) states.set(state, [...(states.get(state) ?? []), id]);
  return Object.fromEntries(states);
}
