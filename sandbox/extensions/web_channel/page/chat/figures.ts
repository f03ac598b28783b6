import { computed, type ReadonlySignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { read } from '../server/api.ts';
import { never, useLoaded } from '../server/loaded.ts';
import { useAtRest } from './at-rest.ts';
import type { Conversation } from './conversation.ts';

interface Usage {
  /** Chosen for the last turn. */
  readonly model: string | null;
  readonly used: readonly { readonly inputTokens: number; readonly outputTokens: number; readonly cost?: number }[];
}

interface Head {
  readonly id: string;
  readonly state: string;
  readonly began: number;
  readonly ended: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

interface Trace extends Head {
  readonly steps: readonly {
    readonly model: string | null;
    readonly calls: readonly { readonly id: string; readonly began: number | null; readonly ended: number | null }[];
  }[];
  readonly earlier?: readonly Head[];
}

/** What a conversation has used, and how long what was done in it took. */
export interface Figures {
  readonly usage: ReadonlySignal<Usage | null>;
  /** What the last step ran on. */
  readonly model: ReadonlySignal<string | null>;
  /** The last ones, by their ids. */
  readonly turns: ReadonlySignal<ReadonlyMap<string, Head>>;
  /** How long each call of a turn took, in milliseconds, by their ids. */
  times(turnId: string): Promise<ReadonlyMap<string, number>>;
}

/** Read again at the end of each turn. */
export function useFigures(conversation: Conversation): Figures {
  const last = conversation.chunks.value.at(-1)?.at(-1);
  const path = last === undefined ? null : `/api/threads/${encodeURIComponent(conversation.id)}`;
  const hasTurn = last?.turnId !== `${conversation.id}/branch`; // nothing was done in a new branch
  const [usage, usageAgain] = useLoaded<Usage>(path && `${path}/usage`, never);
  const [trace, traceAgain] = useLoaded<Trace>(hasTurn ? path && `${path}/trace?last=200` : null, never);
  useAtRest(conversation, () => void Promise.all([usageAgain(), traceAgain()]));
  return useMemo(() => {
    const known = new Map<string, Promise<ReadonlyMap<string, number>>>();
    const readTimes = (id: string): Promise<ReadonlyMap<string, number>> =>
      read<Trace>(`${path}/trace?last=1&turn=${encodeURIComponent(id)}`).then(timesIn, () => new Map()); // shown without
    return {
      usage: computed(() => usage.value.value),
      model: computed(() => trace.value.value?.steps.findLast(({ model }) => model !== null)?.model ?? null),
      turns: computed(() => {
        const { value } = trace.value;
        return new Map((value === null ? [] : [...(value.earlier ?? []), value]).map((turn) => [turn.id, turn]));
      }),
      times(id) {
        const found = known.get(id) ?? readTimes(id);
        known.set(id, found);
        return found;
      },
    };
  }, [usage, trace]);
}

function timesIn({ steps }: Trace): ReadonlyMap<string, number> {
  const calls = steps.flatMap((step) => step.calls);
  return new Map(calls.flatMap(({ id, began, ended }) => (began === null || ended === null ? [] : [[id, ended - began]])));
}

/** `950`, `12.3k`, `4.5M`. */
export function short(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 1_000_000 ? [count / 1000, 'k'] : [count / 1_000_000, 'M'];
  return `${value < 100 ? value.toFixed(1).replace(/\.0$/u, '') : Math.round(value)}${unit}`;
}

/** Tokens and dollars of all models; without dollars where one of them has no price. */
export function usedText({ used }: Usage): string {
  const counted = used.filter(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0);
  const tokens = counted.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
  if (tokens === 0) return '';
  const cost = counted.every((each) => each.cost !== undefined) ? counted.reduce((sum, each) => sum + (each.cost ?? 0), 0) : null;
  return `used ${short(tokens)} tokens${cost === null ? '' : ` $${cost.toFixed(cost < 0.1 ? 3 : 2)}`}`;
}
