import { createTwoFilesPatch } from 'diff';
import { manifestSchema, type JsonValue, type Manifest } from 'pith';
import { parse } from 'yaml';
import { decode, type Source } from './sources.ts';

const MAX_DIFF = 20_000;

/** What a person agrees to. */
export interface ActivationSummary {
  /** Unified, against what is active. */
  readonly diff: string;
  readonly asks: { readonly [key: string]: JsonValue };
}

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
      depends_on: [...(manifest?.depends_on ?? [])],
    },
  };
}

/** As a person reads it before they agree: what it asks for first, because a diff is long. */
export function summaryText({ diff, asks }: ActivationSummary, agents: readonly string[]): string {
  const rows = Object.entries(asks).map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') || 'none' : String(value)}`);
  const given = agents.length === 0 ? [] : [`agents whose uses_tools will name it: ${agents.join(', ')}`];
  return [...rows, ...given, '', diff === '' ? 'no file differs from what is active' : diff].join('\n');
}

export function diffOf(before: readonly Source[], after: readonly Source[]): string {
  const paths = [...new Set([...before, ...after].map(({ path }) => path))].sort();
  const parts = paths.flatMap((path) => {
    const [old, next] = [before, after].map((sources) => sources.find((source) => source.path === path)?.bytes);
    if (old !== undefined && next !== undefined && old.equals(next)) return [];
    const [left, right] = [old, next].map((bytes) => (bytes === undefined ? '' : decode(bytes)));
    if (left === null || right === null || left === undefined || right === undefined) return [`Binary file ${path} differs\n`];
    return [
      createTwoFilesPatch(old === undefined ? '/dev/null' : `a/${path}`, next === undefined ? '/dev/null' : `b/${path}`, left, right),
    ];
  });
  const text = parts.join('');
  return text.length > MAX_DIFF ? `${text.slice(0, MAX_DIFF)}\n… ${text.length - MAX_DIFF} more characters` : text;
}

function manifestOf(sources: readonly Source[]): Manifest | null {
  const text = sources.find(({ path }) => path === 'manifest.yaml')?.bytes.toString() ?? '';
  const parsed = manifestSchema().safeParse(parse(text));
  return parsed.success ? parsed.data : null;
}
