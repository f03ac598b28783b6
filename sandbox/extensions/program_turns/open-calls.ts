import type { JsonValue } from 'pith';
import type { ProgramCall } from './contract.ts';

/** The calls of a program's tools in one run: those that got their results, and those that wait for them. */
export class OpenCalls {
  /** By the model's ids. */
  readonly #made = new Map<string, { readonly id: string; readonly input: JsonValue; readonly waits: boolean }>();

  constructor(private readonly results: Readonly<Record<string, JsonValue>>) {}

  /** The program's result of a call that runs now; undefined: it has none yet. */
  take(callId: string, call: Pick<ProgramCall, 'id' | 'input'>): JsonValue | undefined {
    const result = Object.hasOwn(this.results, call.id) ? this.results[call.id] : undefined;
    this.#made.set(callId, { ...call, waits: result === undefined });
    return result;
  }

  /** Whether the call of this id is the program's. */
  has(callId: string): boolean {
    return this.#made.has(callId);
  }

  /** Those that wait, as `nameOf` names them. */
  waiting(nameOf: (callId: string) => string): readonly ProgramCall[] {
    return [...this.#made].filter(([, { waits }]) => waits).map(([callId, { id, input }]) => ({ id, name: nameOf(callId), input }));
  }

  /** Before the turn goes on. */
  forget(): void {
    this.#made.clear();
  }
}
