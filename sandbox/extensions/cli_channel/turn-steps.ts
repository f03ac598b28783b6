import type { JsonValue, TurnEvent } from 'pith';

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
        const text = error === undefined ? textOf(output ?? null) : `${error.code}: ${error.message}`;
        return this.#change(event.id, () => ({ ok: event.ok, line: event.line ?? event.title ?? event.name, output: text }));
      }
    }
  }

  #change(id: string, changes: (step: Step) => Partial<Step>): void {
    const step = this.#steps.get(id);
    if (step !== undefined) this.#steps.set(id, { ...step, ...changes(step) });
  }
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
