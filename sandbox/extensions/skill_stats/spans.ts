import type * as OpenTelemetry from '@opentelemetry/api';
import { oncePromised } from '@pith/promises';
import type { SkillUsed } from 'pith/skill_registry';

/** Where OpenTelemetry's API stores what a program registered. Checked first, so that nothing is loaded without need. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

const loadApi = oncePromised(async () => (await import('@opentelemetry/api')).default as unknown as typeof OpenTelemetry);

/** Names the used skills on spans: a text for one, lists for several. */
export class SpanNames {
  /** The skills named on each span: a turn's span names all that came with its message. */
  readonly #given = new WeakMap<object, readonly SkillUsed[]>();

  /** Loaded before the first use, which would otherwise be late for its span. */
  constructor() {
    if (isCollected()) void loadApi().catch(ignored);
  }

  /** On the active span: that of the tool call or of the turn. */
  async add(use: SkillUsed): Promise<void> {
    if (use.state === 'dropped' || !isCollected()) return;
    const span = (await loadApi()).trace.getActiveSpan();
    if (span === undefined) return;
    const uses = [...(this.#given.get(span) ?? []), use];
    this.#given.set(span, uses);
    span.setAttributes({
      'skill.id': oneOrAll(uses.map(({ skillId }) => skillId)),
      'skill.name': oneOrAll(uses.map(({ skillId, skillName }) => skillName ?? skillId)),
      'skill.how': oneOrAll(uses.map(({ state, how }) => how ?? state)),
    });
  }
}

function isCollected(): boolean {
  return (globalThis as { [REGISTERED]?: { trace?: unknown } })[REGISTERED]?.trace !== undefined;
}

function oneOrAll(values: readonly string[]): string | string[] {
  return values.length === 1 ? values[0]! : [...values];
}

function ignored(): void {}
