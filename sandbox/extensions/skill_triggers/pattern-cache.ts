import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock } from 'pith';
import { within } from '@pith/promises';
import { loadPatternCompiler, type Pattern } from '@pith/skill-files';

/** Compiled patterns. Their skill file was checked when it was read; a pattern that cannot be compiled is null. */
export class PatternCache {
  #compiled = new Map<string, Pattern | null>();
  #preparing: Promise<void> = Promise.resolve();

  /** With a clock, the wait is limited: patterns that are not compiled in time count from a later message on. */
  constructor(private readonly clock: Clock | null = null) {}

  get(pattern: string): Pattern | null {
    return this.#compiled.get(pattern) ?? null;
  }

  /** Compiles new patterns, a few at once; one caller after the other. */
  async prepare(patterns: readonly string[]): Promise<void> {
    if (patterns.every((pattern) => this.#compiled.has(pattern))) return;
    this.#preparing = this.#preparing.then(() => this.#compile(patterns));
    await (this.clock === null ? this.#preparing : within(this.clock, TIMEOUT_MS, this.#preparing));
  }

  async #compile(patterns: readonly string[]): Promise<void> {
    const compile = await loadPatternCompiler();
    if (this.#compiled.size > MOST) this.#compiled = new Map();
    let done = 0;
    for (const pattern of patterns) {
      if (this.#compiled.has(pattern)) continue;
      const compiled = compile(pattern);
      const usable = 'problem' in compiled ? null : compiled;
      usable?.test(''); // builds its automaton now
      this.#compiled.set(pattern, usable);
      if (++done % AT_ONCE === 0) await yieldToOthers();
    }
  }
}

const AT_ONCE = 4;
/** Half of the time that the kernel waits for a provider. */
const TIMEOUT_MS = 500;
/** Far more than any set of skills has: beyond it the cache is cleared. */
const MOST = 20_000;
