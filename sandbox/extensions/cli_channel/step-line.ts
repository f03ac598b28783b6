import type { JsonValue, TurnEvent } from 'pith';
import { printableLine } from '@pith/plain-text';

type ToolResultEvent = Extract<TurnEvent, { type: 'tool-result' }>;
type TurnEndEvent = Extract<TurnEvent, { type: 'turn-end' }>;

/** When each call was asked for, and with what. */
export type StepTimes = Map<string, { readonly at: number; readonly input: JsonValue }>;

/** A tool call in one line: its own words, else its title, else its name, input and error. */
export function stepLine(event: ToolResultEvent, times: StepTimes, now: number): { readonly text: string; readonly time: string } {
  const call = times.get(event.id);
  times.delete(event.id);
  const said = event.line ?? event.title;
  const own = ENDED.has(event.error?.code ?? '')
    ? `${event.name}: ${ENDED.get(event.error?.code ?? '')}`
    : event.ok || said?.startsWith(NAMELESS) !== true
      ? said
      : undefined;
  const named = `${event.name}${brief(call?.input)}`;
  const text = own ?? (event.ok ? named : `${named}: ${event.error?.message ?? said?.slice(NAMELESS.length) ?? 'failed'}`);
  return { text: oneLine(text, event.ok ? 160 : 240), time: call ? duration(now - call.at) : '' };
}

/** How tools begin what they say of a failure: it does not tell which call it was. */
const NAMELESS = 'Error: ';

/** The mark before a step: it went well, it ran and did not go well (as its tool says by `warn`), it did not run. */
export function markOf({ ok, metadata }: Pick<ToolResultEvent, 'ok' | 'metadata'>): '✓' | '!' | '✗' {
  if (!ok) return '✗';
  const isWarning = typeof metadata === 'object' && metadata !== null && 'warn' in metadata && metadata['warn'] === true;
  return isWarning ? '!' : '✓';
}

/** By codes of errors whose message is for the model: the person knows, because it was them. */
const ENDED: ReadonlyMap<string, string> = new Map([
  ['approval_denied', 'refused'],
  ['aborted', 'stopped'],
  ['interrupted', 'cut off; its outcome is not known'],
]);

/** What to say at the end of a turn besides its text; null when all went well. */
export function endingLine(event: TurnEndEvent): string | null {
  switch (event.reason) {
    case 'done':
      return null;
    case 'error':
    case 'limit':
      return `pith: ${event.error?.message ?? 'the turn failed'}`;
    case 'aborted':
      return 'Stopped';
    case 'awaiting_approval':
      return 'Paused: waiting for your approval';
  }
}

/** Whether somebody who wants only answers and errors is told this, too: why no answer comes. */
export function isNotified({ code }: Extract<TurnEvent, { type: 'notice' }>, quiet: boolean): boolean {
  return !quiet || code === 'thread_busy';
}

/** What a tool asks, and how to answer it from any terminal. */
export function questionLine({ tool, summary, agents, id, startedBy = [] }: Extract<TurnEvent, { type: 'approval-request' }>): string {
  const started = startedBy.length === 0 ? '' : `, started by extension ${startedBy.map((each) => `'${each}'`).join(' and ')}`;
  const by = agents.length > 1 || started !== '' ? ` (asked by ${agents.join(' → ')}${started})` : '';
  return `Needs your approval: ${summary ?? tool}${by}; see: pith approvals ${id}; answer: pith approvals approve ${id} or pith approvals reject ${id}`;
}

/** A call that runs: `shell (command: npm test)`. */
export function callLine({ name, input }: { readonly name: string; readonly input: JsonValue }): string {
  return oneLine(`${name}${brief(input)}`, 160);
}

function brief(input: JsonValue | undefined): string {
  if (input === undefined || input === null || typeof input !== 'object') return '';
  const shown = Object.entries(input).map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return shown.length === 0 ? '' : ` (${oneLine(shown.join(', '), 60)})`;
}

/** `12 ms`, `3 s`, `2 min 5 s`. */
function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
}

function oneLine(text: string, room: number): string {
  return printableLine(text.replace(/\s+/gu, ' ').trim(), room);
}

/** One tool call of a turn, with what went in and what came out. */
export interface Step {
  readonly name: string;
  readonly input: JsonValue;
  /** null while it runs. */
  readonly ok: boolean | null;
  readonly line: string;
  /** The result, or the error. */
  readonly output: string;
  /** What it showed while it ran. */
  readonly shown: string;
}

const MOST_STEPS = 200;
const MOST_SHOWN = 64 * 1024;

/** The steps of the last turn. */
export class TurnSteps {
  #turn = '';
  #steps = new Map<string, Step>();

  /** In their order. */
  get all(): readonly Step[] {
    return [...this.#steps.values()];
  }

  observe(event: TurnEvent): void {
    switch (event.type) {
      case 'turn-start':
        if (event.turn !== this.#turn) this.#steps = new Map();
        this.#turn = event.turn;
        return;
      case 'tool-call':
        if (this.#steps.size < MOST_STEPS && !this.#steps.has(event.id))
          this.#steps.set(event.id, { name: event.name, input: event.input, ok: null, line: event.name, output: '', shown: '' });
        return;
      case 'tool-output':
        return this.#change(event.id, ({ shown }) => ({ shown: (shown + event.text).slice(-MOST_SHOWN) }));
      case 'tool-result': {
        const { output, error } = event;
        const text =
          error === undefined
            ? typeof output === 'string'
              ? output
              : JSON.stringify(output ?? null, null, 2)
            : `${error.code}: ${error.message}`;
        return this.#change(event.id, () => ({ ok: event.ok, line: event.line ?? event.title ?? event.name, output: text }));
      }
    }
  }

  #change(id: string, changes: (step: Step) => Partial<Step>): void {
    const step = this.#steps.get(id);
    if (step !== undefined) this.#steps.set(id, { ...step, ...changes(step) });
  }
}
