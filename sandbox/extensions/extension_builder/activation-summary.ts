import { difference } from '@pith/text-changes';
import { PithError, z, type JsonValue } from 'pith';
import { notTextAt } from '@pith/plain-text';
import { yamlValue } from '@pith/guarded-yaml';
import { sha256 } from '@pith/plain-data';
import { digestOf, notText, type Source } from './sources.ts';

/** In characters; what is longer nobody reads, and it is not activated. */
const MAX_DIFF = 1_000_000;
/** Of a diff in what a tool answers. */
const MAX_ANSWERED = 20_000;
/** For all files together. */
const COMPARE_MS = 500;

const names = z.array(z.string()).default([]);

/** What of a manifest a person is shown and agrees to. The kernel reads it by itself and withholds what was not agreed to. */
const manifestSchema = z.object({
  entrypoint: z.string().optional(),
  isolation: z.string().default('process'),
  secrets: names,
  permissions: z.object({ network: z.boolean().default(false), read: names, write: names, agents: names }).prefault({}),
  provides: names,
  commands: z.array(z.object({ path: z.string() })).default([]),
  models: z.array(z.object({ prefix: z.string() })).default([]),
  events: z.object({ publishes: names, handles: z.array(z.object({ topic: z.string() })).default([]) }).prefault({}),
  jobs: z.array(z.object({ name: z.string() })).default([]),
  schedules: z.array(z.object({ name: z.string(), cron: z.string() })).default([]),
  depends_on: names,
});
type Manifest = z.infer<typeof manifestSchema>;

/** What a person agrees to, whole. */
export interface ActivationSummary {
  /** Unified, against what is active. */
  readonly diff: string;
  readonly asks: { readonly [key: string]: JsonValue };
}

/** Throws `not_allowed` when it is more than a person can be shown. */
export function activationSummary(before: readonly Source[] | null, after: readonly Source[]): ActivationSummary {
  const manifest = manifestOf(after);
  return {
    diff: diffOf(before ?? [], after),
    asks: {
      new: before === null,
      isolation: manifest?.isolation ?? 'process',
      secrets: [...(manifest?.secrets ?? [])],
      network: manifest?.permissions.network ?? false,
      read: [...(manifest?.permissions.read ?? [])],
      write: [...(manifest?.permissions.write ?? [])],
      provides: [...(manifest?.provides ?? [])],
      commands: (manifest?.commands ?? []).map(({ path }) => path),
      models: (manifest?.models ?? []).map(({ prefix }) => prefix),
      events_published: [...(manifest?.events.publishes ?? [])],
      events_handled: (manifest?.events.handles ?? []).map(({ topic }) => topic),
      jobs: (manifest?.jobs ?? []).map(({ name }) => name),
      schedules: (manifest?.schedules ?? []).map(({ name, cron }) => `${name} (${cron})`),
      depends_on: [...(manifest?.depends_on ?? [])],
      agents_started_with_their_own_tools: [...(manifest?.permissions.agents ?? [])],
    },
  };
}

/** What the manifest among these files asks for beyond its own folder and data, in the words of `extensions allow --ask`. */
export function asksOf(sources: readonly Source[]): readonly string[] {
  const manifest = manifestOf(sources);
  if (manifest === null) return [];
  const { permissions, secrets, events, provides } = manifest;
  return [
    ...(permissions.network ? ['network'] : []),
    ...secrets.map((name) => `secret ${name}`),
    ...permissions.read.map((file) => `read ${file}`),
    ...permissions.write.map((file) => `write ${file}`),
    ...events.handles.map(({ topic }) => `hears ${topic}`),
    ...permissions.agents.map((id) => `agent ${id}`),
    ...(provides.includes('guard') ? ['guard'] : []),
  ];
}

/** What only a process in a sandbox is held to. */
const ENFORCED_ROWS: ReadonlySet<string> = new Set(['isolation', 'network', 'read', 'write']);
const ROW_NAMES: Readonly<Record<string, string>> = { read: 'reads', write: 'writes' };

/**
 * As a person reads it before they agree: what it asks for in a few lines, and then the code. What it does not ask for is left out.
 * `isConfined` false: what nothing here enforces is one line that says so, because a permission that is listed looks as if it held.
 */
export function summaryText({ diff, asks }: ActivationSummary, agents: readonly string[], isConfined = true): string {
  const asked = Object.entries(asks).filter(([name, value]) => isShown(name, value) && (isConfined || !ENFORCED_ROWS.has(name)));
  const rows = asked.map(([name, value]) => {
    if (name === 'network') return 'network: everything this machine can reach, local services and metadata addresses too';
    return `${ROW_NAMES[name] ?? name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`;
  });
  const open = isConfined ? [] : ['network and files: not limited here, whatever its manifest says'];
  const given = agents.length === 0 ? [] : [`agents whose uses_tools will name it: ${agents.join(', ')}`];
  const before = [...open, ...rows, ...given];
  const code = diff === '' ? 'no file differs from what is active' : diff;
  return [...before, ...(before.length === 0 ? [] : ['']), code].join('\n');
}

/** What an activated extension is held to on this machine, in one line. */
export function enforcedText({ asks }: ActivationSummary, isConfined: boolean): string {
  if (!isConfined || asks['isolation'] === 'in_process') return 'not sandboxed: sees what you see';
  const writes = listOf(asks['write']);
  return `sandboxed: ${asks['network'] === true ? 'the whole network' : 'no network'}, reads the project, writes only its own data${writes.length === 0 ? '' : ` and ${writes.join(', ')}`}`;
}

function listOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function isShown(name: string, value: JsonValue): boolean {
  if (name === 'new') return false; // the line above says it
  if (name === 'isolation') return value !== 'process';
  return Array.isArray(value) ? value.length > 0 : value === true;
}

/** As an answer of a tool has it: a long diff is cut, and says so. */
export function answered({ diff, asks }: ActivationSummary): ActivationSummary {
  const rest = diff.length - MAX_ANSWERED;
  return { asks, diff: rest > 0 ? `${diff.slice(0, MAX_ANSWERED)}\n… ${rest} more characters` : diff };
}

/** Names the change that a person was shown: these files in place of those, and what the call says besides. */
export function subjectOf(before: readonly Source[] | null, after: readonly Source[], bound: JsonValue): string {
  const parts = [before && digestOf(before), digestOf(after), bound];
  return sha256(JSON.stringify(parts));
}

/**
 * The manifest and the entrypoint first, so that no padding hides them. Throws `not_allowed` when a person cannot be shown all of it: it is
 * too much, or no text.
 */
export function diffOf(before: readonly Source[], after: readonly Source[]): string {
  const [hidden] = notText(after);
  if (hidden !== undefined)
    throw new PithError('not_allowed', `'${hidden.path}' is not text at byte ${hidden.at}, so nobody could read it before agreeing`, {
      cure: 'take it out; only a person can bring files that are not text',
    });
  const first = ['manifest.yaml', 'SKILL.md', manifestOf(after)?.entrypoint ?? 'main.ts'];
  const rank = (path: string) => (first.includes(path) ? first.indexOf(path) : first.length);
  const paths = [...new Set([...before, ...after].map(({ path }) => path))].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const timeout = Math.max(2, COMPARE_MS / paths.length);
  const parts = paths.flatMap((path) => {
    const [old, next] = [before, after].map((sources) => sources.find((source) => source.path === path)?.bytes);
    if (old !== undefined && next !== undefined && old.equals(next)) return [];
    const isShown = old === undefined || notTextAt(old) === null;
    const left = isShown && old !== undefined ? old.toString() : null;
    const gone = isShown ? [] : [`${path}: ${old.length} bytes that are not text are taken out\n`];
    return [...gone, difference(path, left, next?.toString() ?? null, timeout)];
  });
  const text = parts.join('');
  if (text.length <= MAX_DIFF) return text;
  throw new PithError('not_allowed', `the difference has ${text.length} characters, and a person is shown ${MAX_DIFF} at most`, {
    cure: 'make it smaller: packages belong in package.json, data in its data folder',
  });
}

function manifestOf(sources: readonly Source[]): Manifest | null {
  const text = sources.find(({ path }) => path === 'manifest.yaml')?.bytes.toString() ?? '';
  const parsed = manifestSchema.safeParse(yamlValue(text));
  return parsed.success ? parsed.data : null;
}
