/** What a turn did and when, as `GET /api/threads/{id}/trace` has it. Times are milliseconds; null: not known, or not yet. */
export interface Turn extends TurnHead {
  readonly steps: readonly Step[];
  readonly turns: readonly Turn[];
  /** The oldest first. */
  readonly earlier?: readonly TurnHead[];
}

export interface TurnHead {
  readonly id: string;
  readonly agentId: string;
  readonly state: string;
  readonly began: number;
  readonly ended: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

interface Step {
  readonly step: number;
  readonly model: string | null;
  readonly began: number | null;
  readonly ended: number | null;
  readonly outputTokens: number | null;
  readonly calls: readonly Call[];
}

interface Call {
  readonly name: string;
  readonly began: number | null;
  readonly ended: number | null;
  readonly ok: boolean | null;
  readonly error: string | null;
  readonly title: string | null;
  readonly approvals: readonly { readonly asked: number; readonly answered: number | null; readonly answer: string | null }[];
  readonly turns: readonly Turn[];
}

export type BarKind = 'turn' | 'model' | 'tool' | 'waiting';

/** One line of a timeline. */
export interface Bar {
  readonly kind: BarKind;
  readonly name: string;
  /** How far below the outermost turn. */
  readonly depth: number;
  readonly began: number;
  /** null: it goes on. */
  readonly ended: number | null;
  readonly note: string;
  readonly failed: boolean;
}

/** The turn and all below it, in the order in which it began. What has no times is left out. */
export function barsOf(turn: Turn, depth = 0): readonly Bar[] {
  const { agentId: name, began, ended, state, inputTokens, outputTokens } = turn;
  const note = `${state}, ${inputTokens.toLocaleString()} tokens in, ${outputTokens.toLocaleString()} out`;
  const own: Bar = {
    kind: 'turn',
    name,
    depth,
    began,
    ended: state === 'running' ? null : (ended ?? began),
    note,
    failed: state === 'error',
  };
  return [own, ...turn.steps.flatMap((step) => barsOfStep(step, depth + 1)), ...turn.turns.flatMap((each) => barsOf(each, depth + 1))];
}

function barsOfStep({ step, model, began, ended, outputTokens, calls }: Step, depth: number): readonly Bar[] {
  const note = outputTokens === null ? '' : `${outputTokens.toLocaleString()} tokens`;
  const name = model === null ? `Step ${step + 1}` : `Step ${step + 1}: ${model}`;
  const answer: readonly Bar[] = began === null ? [] : [{ kind: 'model', name, depth, began, ended, note, failed: false }];
  return [...answer, ...calls.flatMap((call) => barsOfCall(call, depth + 1))];
}

function barsOfCall({ name, began, ended, ok, error, title, approvals, turns }: Call, depth: number): readonly Bar[] {
  const waits = approvals.map(({ asked, answered, answer }): Bar => {
    const note = answered === null ? 'waits for a person' : answer === null ? 'not answered' : `answered: ${answer}`;
    return { kind: 'waiting', name: `Approval of ${name}`, depth, began: asked, ended: answered, note, failed: false };
  });
  const note = error ?? title ?? '';
  const work: readonly Bar[] = began === null ? [] : [{ kind: 'tool', name, depth, began, ended, note, failed: ok === false }];
  return [...waits, ...work, ...turns.flatMap((each) => barsOf(each, depth + 1))];
}

/** Where times stand on a line from 0 to 1. */
export interface Scale {
  at(time: number): number;
}

/** `withoutWaits`: the time in which nothing happened but waiting for people takes no room. */
export function scaleOf(bars: readonly Bar[], now: number, withoutWaits: boolean): Scale {
  const began = Math.min(...bars.map((bar) => bar.began));
  const end = Math.max(...bars.map((bar) => bar.ended ?? now));
  const waits = withoutWaits ? merged(bars.filter(({ kind }) => kind === 'waiting').map((bar) => [bar.began, bar.ended ?? now])) : [];
  const spent = (time: number): number =>
    time - began - waits.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, time) - Math.max(from, began)), 0);
  const whole = Math.max(1, spent(end));
  return { at: (time) => Math.min(1, Math.max(0, spent(time) / whole)) };
}

type Span = readonly [from: number, to: number];

function merged(spans: readonly Span[]): readonly Span[] {
  const found: [number, number][] = [];
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    const last = found.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}
