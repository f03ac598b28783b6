import type * as OpenTelemetry from '@opentelemetry/api';
import type { SkillUse } from './skill-use.ts';

/** Where the API of OpenTelemetry keeps what a program registered: looked at first, so that nothing is loaded for nobody. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

let api: Promise<typeof OpenTelemetry> | undefined;
let loaded: typeof OpenTelemetry | undefined;

/** Says on the active span, that of the tool call or of the turn, which skills were used: texts for one, lists for several. */
export function tellSpan(uses: readonly SkillUse[], nameOf: (skillId: string) => string): void {
  if (uses.length === 0 || !isCollected()) return;
  const attributes = {
    'skill.id': oneOrAll(uses.map(({ skillId }) => skillId)),
    'skill.name': oneOrAll(uses.map(({ skillId }) => nameOf(skillId))),
    'skill.how': oneOrAll(uses.map((use) => (use.state === 'loaded' ? use.how : use.state))),
  };
  if (loaded !== undefined) loaded.trace.getActiveSpan()?.setAttributes(attributes);
  else void loadApi().then(({ trace }) => trace.getActiveSpan()?.setAttributes(attributes), ignored);
}

/** Called ahead of the first use, which is then not late for its span. */
export function prepareSpans(): void {
  if (isCollected()) void loadApi().catch(ignored);
}

function isCollected(): boolean {
  return (globalThis as { [REGISTERED]?: { trace?: unknown } })[REGISTERED]?.trace !== undefined;
}

async function loadApi(): Promise<typeof OpenTelemetry> {
  api ??= import('@opentelemetry/api').then(({ default: found }) => found as unknown as typeof OpenTelemetry);
  return (loaded = await api);
}

function oneOrAll(values: readonly string[]): string | string[] {
  return values.length === 1 ? values[0]! : [...values];
}

function ignored(): void {}
