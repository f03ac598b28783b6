import { fieldsOf } from '@pith/plain-data';
import { printableLine } from '@pith/plain-text';
import { messageOf, PithError, ToolGuard, type ToolResult } from '../../contract/index.ts';
import { GUARD_ASK } from '../../trust/index.ts';
import { invoke, recordCall } from '../calls/invoke.ts';
import type { Slot } from '../lifecycle/actor.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { Problem } from '../records/failures.ts';

export type GuardedCall = Parameters<ToolGuard['beforeToolCall']>[0];

/** What all guards say of a call, as a sentence: each is named. null: none objects. */
export type GuardVerdict = { readonly kind: 'deny' | 'ask'; readonly why: string } | null;

/** The extensions that look at each tool call. */
export interface Guards {
  /** Whether any is declared and switched on. */
  areThere(): boolean;
  /** Asks all side by side. Of one that cannot answer, whatever the reason, the answer is no, unless the tool only reads. Never rejects. */
  beforeToolCall(call: GuardedCall, signal: AbortSignal): Promise<GuardVerdict>;
  /** Tells those that run. Never rejects. */
  afterToolCall(call: GuardedCall, result: ToolResult): Promise<void>;
  turnEnded(...ended: Parameters<NonNullable<ToolGuard['turnEnded']>>): Promise<void>;
}

interface Said {
  readonly kind: 'deny' | 'ask' | 'failed' | 'nothing';
  readonly why: string;
}

/** Characters of a reason. */
const MOST_OF_REASON = 500;

export function createGuards(lifecycle: Lifecycle): Guards {
  const { runtime, slots } = lifecycle;
  const reasonOf = (id: string, verb: string, said: unknown): string =>
    `the guard '${id}' ${verb}: ${printableLine(typeof said === 'string' && said.trim() !== '' ? runtime.secrets.redact(said) : 'it gave no reason', MOST_OF_REASON)}`;
  const call = async ({ id }: Slot, name: keyof ToolGuard & string, values: readonly unknown[], signal?: AbortSignal): Promise<unknown> => {
    const generation = await lifecycle.ready({ id });
    const { timeoutMs = null } = ToolGuard.members[name] ?? {};
    return invoke(lifecycle, generation, { operation: `guard.${name}`, values, timeoutMs, signal, phase: 'call' });
  };

  async function ask(slot: Slot, given: GuardedCall, signal: AbortSignal): Promise<Said> {
    const { id } = slot;
    try {
      if (isUnagreed(slot)) throw new PithError('not_agreed', unagreed(id));
      const said = await call(slot, 'beforeToolCall', [{ ...given, input: structuredClone(given.input) }], signal);
      if (said === null || said === undefined) return { kind: 'nothing', why: '' };
      const { deny, ask } = fieldsOf(said);
      if (deny !== undefined) return { kind: 'deny', why: reasonOf(id, 'refuses it', deny) };
      if (ask !== undefined) return { kind: 'ask', why: reasonOf(id, 'wants a person asked', ask) };
      throw new PithError('provider_failed', 'beforeToolCall returned neither null nor { deny } nor { ask }');
    } catch (error) {
      const isKnown = error instanceof PithError && KNOWN.has(error.code);
      const message = `the guard '${id}' cannot answer, so only tools that read run: ${messageOf(error)}`;
      const cure = guardCure(id);
      if (!isKnown && !signal.aborted) runtime.failures.record(id, new Problem('call', 'provider_failed', message, { cause: error, cure }));
      return { kind: 'failed', why: `${printableLine(runtime.secrets.redact(message), MOST_OF_REASON)}; a person can ${cure}` };
    }
  }

  async function tell(name: 'afterToolCall' | 'turnEnded', values: readonly unknown[]): Promise<void> {
    const told = guardsOf(slots.values()).filter((slot) => !isUnagreed(slot) && slot.current?.surface.operations.has(`guard.${name}`));
    const one = (slot: Slot) =>
      call(slot, name, values).catch((error: unknown) => recordCall(runtime, { extensionId: slot.id, phase: 'background' }, error));
    if (told.length > 0) await Promise.all(told.map(one));
  }

  return {
    areThere: () => guardsOf(slots.values()).length > 0,
    async beforeToolCall(given, signal) {
      const said = await Promise.all(guardsOf(slots.values()).map((slot) => ask(slot, given, signal)));
      const of = (...kinds: readonly Said['kind'][]) => said.filter(({ kind }) => kinds.includes(kind)).map(({ why }) => why);
      const no = given.effect === 'read' ? of('deny') : of('deny', 'failed');
      if (no.length > 0) return { kind: 'deny', why: no.join('; ') };
      const questions = of('ask');
      return questions.length > 0 ? { kind: 'ask', why: questions.join('\n') } : null;
    },
    afterToolCall: (given, result) => tell('afterToolCall', [given, result]),
    turnEnded: (...ended) => tell('turnEnded', ended),
  };
}

/** Recorded or noted where they come from. */
const KNOWN: ReadonlySet<string> = new Set(['provider_unavailable', 'not_agreed']);

function guardsOf(slots: Iterable<Slot>): readonly Slot[] {
  const found: Slot[] = [];
  for (const slot of slots) if (isGuard(slot)) found.push(slot);
  return found;
}

/** By what is written, also where that cannot run; by the last good version where the manifest cannot be read. */
function isGuard({ declaration, written }: Slot): boolean {
  return written.config.enabled && ((written.declaration.manifest ?? declaration.manifest)?.provides.includes('guard') ?? false);
}

function isUnagreed({ written: { declaration } }: Slot): boolean {
  return declaration.withheld?.some(({ ask }) => ask === GUARD_ASK) ?? false;
}

function unagreed(id: string): string {
  return `nobody has agreed that it sees what tools are given; agree with: pith extensions allow ${id}`;
}

/** Why a guard that is switched on cannot be asked, as far as that is known without asking it; null: it can be, or is none. */
export function guardProblem(lifecycle: Lifecycle, slot: Slot): string | null {
  if (!isGuard(slot)) return null;
  return isUnagreed(slot) ? unagreed(slot.id) : (lifecycle.reason(slot) ?? null);
}

export function guardCure(id: string): string {
  return `correct it, or switch it off: extensions.${id}.enabled: false in pith.yaml`;
}
