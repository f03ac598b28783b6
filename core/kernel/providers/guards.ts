import { fieldsOf } from '@pith/plain-data';
import { headAndTail, printable, printableLine } from '@pith/plain-text';
import { untilAborted } from '@pith/promises';
import { messageOf, PithError, ToolGuard, type ToolResult } from '../../contract/index.ts';
import { isGuard, isWithheld } from '../../declarations/index.ts';
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
  /** Tells those that run. Returns what the model is told after the result. Never rejects; an abort cuts those that have not answered. */
  afterToolCall(call: GuardedCall, result: ToolResult, signal: AbortSignal): Promise<readonly string[]>;
  turnEnded(...ended: Required<Parameters<NonNullable<ToolGuard['turnEnded']>>>): Promise<void>;
}

interface Said {
  readonly kind: 'deny' | 'ask' | 'failed' | 'nothing';
  readonly why: string;
}

/** Characters of a reason. */
const MOST_OF_REASON = 500;
/** Characters of a note. */
const MOST_OF_NOTE = 10_000;
const DEFAULT_MS = 1000;
const MOST_MS = 600_000;

export function createGuards(lifecycle: Lifecycle): Guards {
  const { runtime, slots } = lifecycle;
  const said = (kind: 'deny' | 'ask', id: string, reason: unknown): Said => {
    const text = typeof reason === 'string' && reason.trim() !== '' ? runtime.secrets.redact(reason) : 'it gave no reason';
    return { kind, why: `the guard '${id}' ${VERBS[kind]}: ${printableLine(text, MOST_OF_REASON)}` };
  };
  /** Its values are copies: what one guard changes is seen by nobody. */
  const call = async ({ id }: Slot, name: keyof ToolGuard & string, values: readonly unknown[], signal?: AbortSignal): Promise<unknown> => {
    const ready = lifecycle.ready({ id });
    const generation = await (signal ? untilAborted(ready, signal) : ready);
    const wanted = Number(generation.surface.descriptor.constants[`${ToolGuard.id}.timeoutMs`]);
    const timeoutMs = wanted > 0 ? Math.min(wanted, MOST_MS) : DEFAULT_MS;
    return invoke(lifecycle, generation, { operation: `guard.${name}`, values: structuredClone(values), timeoutMs, signal, phase: 'call' });
  };

  async function ask(slot: Slot, given: GuardedCall, signal: AbortSignal): Promise<Said> {
    const { id } = slot;
    const failed = ({ message, cure }: GuardProblem): Said => ({
      kind: 'failed',
      why: `${printableLine(runtime.secrets.redact(message), MOST_OF_REASON)}; a person can ${cure}`,
    });
    const problem = guardProblem(lifecycle, slot);
    if (problem !== null) return failed(problem);
    try {
      const answer = await call(slot, 'beforeToolCall', [given], signal);
      const { deny, ask } = fieldsOf(answer);
      if (answer !== null && deny === undefined && ask === undefined) throw new PithError('provider_failed', MALFORMED);
      if (deny !== undefined) return said('deny', id, deny);
      const known = guardProblem(lifecycle, slot); // only its own code knows whether its settings are right
      if (known !== null) return failed(known);
      return ask === undefined ? { kind: 'nothing', why: '' } : said('ask', id, ask);
    } catch (error) {
      const unloaded = guardProblem(lifecycle, slot);
      if (unloaded !== null) return failed(unloaded);
      const now = cannotAnswer(id, messageOf(error), correct(id));
      const isItsFault = !signal.aborted && !lifecycle.stopped;
      if (isItsFault) runtime.failures.record(id, new Problem('call', FAILED, now.message, { cause: error, cure: now.cure }));
      return failed(now);
    }
  }

  async function notify(name: 'afterToolCall' | 'turnEnded', values: readonly unknown[], given: AbortSignal) {
    const signal = given.aborted ? undefined : given; // what was stopped is told to them as well
    const notified = guardsOf(slots.values()).filter((slot) => !isUnagreed(slot) && slot.current?.surface.operations.has(`guard.${name}`));
    const one = async (slot: Slot): Promise<readonly string[]> => {
      try {
        const { note } = fieldsOf(await call(slot, name, values, signal));
        if (typeof note !== 'string' || note.trim() === '') return [];
        return [`[Note of the guard '${slot.id}': ${headAndTail(printable(runtime.secrets.redact(note.trim())), MOST_OF_NOTE, 1000)}]`];
      } catch (error) {
        if (!given.aborted) recordCall(runtime, { extensionId: slot.id, phase: 'background' }, error);
        return [];
      }
    };
    return (await Promise.all(notified.map(one))).flat();
  }

  return {
    areThere: () => guardsOf(slots.values()).length > 0,
    async beforeToolCall(given, signal) {
      const all = await Promise.all(guardsOf(slots.values()).map((slot) => ask(slot, given, signal)));
      const of = (...kinds: readonly Said['kind'][]) => all.filter(({ kind }) => kinds.includes(kind)).map(({ why }) => why);
      const no = given.effect === 'read' ? of('deny') : of('deny', 'failed');
      if (no.length > 0) return { kind: 'deny', why: no.join('; ') };
      const questions = of('ask');
      return questions.length > 0 ? { kind: 'ask', why: questions.join('\n') } : null;
    },
    afterToolCall: (given, result, signal) => notify('afterToolCall', [given, result], signal),
    async turnEnded(turn, reason, signal) {
      await notify('turnEnded', [turn, reason], signal);
    },
  };
}

const VERBS = { deny: 'refuses it', ask: 'wants a person to be asked' } as const;
const FAILED = 'guard_failed';
const MALFORMED = 'beforeToolCall returned neither null nor { deny } nor { ask }';

function guardsOf(slots: Iterable<Slot>): readonly Slot[] {
  const found: Slot[] = [];
  for (const slot of slots) if (isOn(slot)) found.push(slot);
  return found;
}

/** By what is written, also where that cannot run. */
function isOn({ written: { declaration, config } }: Slot): boolean {
  return config.enabled && isGuard(declaration);
}

function isUnagreed({ written: { declaration } }: Slot): boolean {
  return isWithheld(declaration, GUARD_ASK);
}

/** Why a guard cannot answer, and what a person can do. */
export interface GuardProblem {
  readonly message: string;
  readonly cure: string;
}

function cannotAnswer(id: string, why: string, cure: string): GuardProblem {
  return {
    message: `the guard '${id}' cannot answer, so only tools that read run: ${why}`,
    cure: `${cure}, or switch it off (extensions.${id}.enabled: false in pith.yaml)`,
  };
}

/** Why a guard that is switched on cannot answer, as far as that is known without asking it; null: it can, or it is none. */
export function guardProblem(lifecycle: Lifecycle, slot: Slot): GuardProblem | null {
  const { id } = slot;
  if (!isOn(slot)) return null;
  if (isUnagreed(slot))
    return cannotAnswer(id, 'nobody has agreed that it sees what tools are given', `agree (pith extensions allow ${id})`);
  const { manifest } = slot.written.declaration;
  if (manifest !== null && !manifest.provides.includes('guard'))
    return cannotAnswer(
      id,
      "its manifest no longer has 'guard' in 'provides'",
      `put it back, take back all that you agreed to for it (pith extensions allow ${id} --revoke)`,
    );
  const slip = [...slot.notes].find(([, code]) => code === 'config_invalid')?.[0];
  if (slip !== undefined) return cannotAnswer(id, slip, 'correct the setting');
  const why = lifecycle.reason(slot);
  if (why === undefined) return null;
  const { cure = correct(id) } = slot.failure ?? slot.declared ?? {};
  return cannotAnswer(id, why, `${cure.charAt(0).toLowerCase()}${cure.slice(1)}`);
}

function correct(id: string): string {
  return `correct it (see: pith extensions show ${id})`;
}
