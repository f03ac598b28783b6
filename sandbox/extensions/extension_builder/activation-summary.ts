import { createTwoFilesPatch } from 'diff';
import { createHash } from 'node:crypto';
import { manifestSchema, NETWORK_REACH, PithError, type JsonValue, type Manifest } from 'pith';
import { parse } from 'yaml';
import { decode, type Source } from './sources.ts';

/** In characters; what is longer nobody reads, and it is not activated. */
const MAX_DIFF = 1_000_000;
/** Of a diff in what a tool answers. */
const MAX_ANSWERED = 20_000;

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
      schedules: (manifest?.schedules ?? []).map(({ name, cron }) => `${name} (${cron})`),
      depends_on: [...(manifest?.depends_on ?? [])],
    },
  };
}

/** As a person reads it before they agree: what it asks for first, because a diff is long. */
export function summaryText({ diff, asks }: ActivationSummary, agents: readonly string[]): string {
  const rows = Object.entries(asks).map(([name, value]) => {
    if (name === 'network' && value === true) return `network: ${NETWORK_REACH}`;
    return `${name}: ${Array.isArray(value) ? value.join(', ') || 'none' : String(value)}`;
  });
  const given = agents.length === 0 ? [] : [`agents whose uses_tools will name it: ${agents.join(', ')}`];
  return [...rows, ...given, '', diff === '' ? 'no file differs from what is active' : diff].join('\n');
}

/** As an answer of a tool has it: a long diff is cut, and says so. */
export function answered({ diff, asks }: ActivationSummary): ActivationSummary {
  const rest = diff.length - MAX_ANSWERED;
  return { asks, diff: rest > 0 ? `${diff.slice(0, MAX_ANSWERED)}\n… ${rest} more characters` : diff };
}

/** The manifest and the entrypoint first, so that no padding hides them. Throws `not_allowed` when it is more than a person can be shown. */
export function diffOf(before: readonly Source[], after: readonly Source[]): string {
  const first = ['manifest.yaml', 'SKILL.md', manifestOf(after)?.entrypoint ?? 'main.ts'];
  const rank = (path: string) => (first.includes(path) ? first.indexOf(path) : first.length);
  const paths = [...new Set([...before, ...after].map(({ path }) => path))].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const parts = paths.flatMap((path) => {
    const [old, next] = [before, after].map((sources) => sources.find((source) => source.path === path)?.bytes);
    if (old !== undefined && next !== undefined && old.equals(next)) return [];
    const [left, right] = [old, next].map((bytes) => (bytes === undefined ? '' : decode(bytes)));
    if (left === null || right === null || left === undefined || right === undefined) return [binary(path, next)];
    return [
      createTwoFilesPatch(old === undefined ? '/dev/null' : `a/${path}`, next === undefined ? '/dev/null' : `b/${path}`, left, right),
    ];
  });
  const text = parts.join('');
  if (text.length <= MAX_DIFF) return text;
  throw new PithError('not_allowed', `the difference has ${text.length} characters, and a person is shown ${MAX_DIFF} at most`, {
    cure: 'make it smaller: packages belong in package.json, data in its data folder',
  });
}

function binary(path: string, bytes: Buffer | undefined): string {
  if (bytes === undefined) return `Binary file ${path} is removed\n`;
  return `Binary file ${path} differs: ${bytes.length} bytes, SHA-256 ${createHash('sha256').update(bytes).digest('hex')}\n`;
}

function manifestOf(sources: readonly Source[]): Manifest | null {
  const text = sources.find(({ path }) => path === 'manifest.yaml')?.bytes.toString() ?? '';
  const parsed = manifestSchema().safeParse(parse(text));
  return parsed.success ? parsed.data : null;
}
