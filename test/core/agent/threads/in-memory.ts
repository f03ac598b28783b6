import { type Clock, type Message, PithError, type ToolResult } from '../../../../core/contract/index.ts';
import type { ApprovalStore, CallRecord, StoredMessage, Threads, ThreadWriter, TurnRecord } from '../../../../core/agent/index.ts';
import type { createLeases, Fence } from '../../../../core/store/index.ts';

type LeaseRows = Parameters<typeof createLeases>[0];

/** A second store of threads, for what holds of every store and for a turn without one. Leases of this process alone. */
export function memoryLeaseRows(clock: Pick<Clock, 'now'>): LeaseRows & { holds(fence: Fence): boolean } {
  const rows = new Map<string, { readonly holder: string; readonly until: number }>();
  const holds = ({ name, holder }: Fence) => rows.get(name)?.holder === holder;
  const isHeld = (name: string, ttlMs: number): boolean => {
    const row = rows.get(name);
    if (row === undefined || row.until <= clock.now()) return false;
    rows.set(name, { ...row, until: Math.min(row.until, clock.now() + ttlMs) });
    return true;
  };
  return {
    holds,
    isHeld: async (name, ttlMs) => isHeld(name, ttlMs),
    async take({ name, holder }, ttlMs) {
      const before = rows.has(name);
      if (isHeld(name, ttlMs)) return 'held';
      rows.set(name, { holder, until: clock.now() + ttlMs });
      return before ? 'inherited' : 'taken';
    },
    async renew(fence, ttlMs) {
      const isOurs = holds(fence);
      if (isOurs) rows.set(fence.name, { holder: fence.holder, until: clock.now() + ttlMs });
      return isOurs;
    },
    release: async (fence) => void (holds(fence) && rows.delete(fence.name)),
  };
}

type Thread = NonNullable<Awaited<ReturnType<Threads['load']>>>['thread'];

/** Conversations that end with the process. `holds`: whether the lease of a fence stands. */
export function memoryThreads(clock: Pick<Clock, 'now'>, holds: (fence: Fence) => boolean): Threads {
  const threads = new Map<string, Thread>();
  const messages = new Map<string, StoredMessage[]>();
  const turns = new Map<string, TurnRecord>();
  const calls = new Map<string, Map<string, CallRecord>>();
  const delegated = new Map<string, Awaited<ReturnType<Threads['delegated']>>>();

  const found = <T>(value: T | undefined, what: string): T => {
    if (value === undefined) throw new PithError('thread_unknown', `${what} is not stored`);
    return value;
  };
  const add = (
    turnId: string,
    message: Message,
    retain: Readonly<Record<string, NonNullable<Extract<ToolResult, { ok: true }>['retain']>>> = {},
  ) => {
    const { threadId } = found(turns.get(turnId), turnId);
    const written = messages.get(threadId) ?? [];
    messages.set(threadId, written);
    written.push({ seq: (written.at(-1)?.seq ?? 0) + 1, turnId, message, retain });
  };
  const update = (turnId: string, changes: Partial<TurnRecord>) => turns.set(turnId, { ...found(turns.get(turnId), turnId), ...changes });
  const touch = (id: string, changes: Partial<Thread>) => threads.set(id, { ...found(threads.get(id), id), ...changes });
  const setState = (turnId: string, state: TurnRecord['state'], usage: TurnRecord['usage']) => {
    update(turnId, { state, usage });
    touch(found(turns.get(turnId), turnId).threadId, { updatedAt: clock.now() });
  };
  const setCall = ({ turnId, step, index }: Pick<CallRecord, 'turnId' | 'step' | 'index'>, changes: Partial<CallRecord>) => {
    const place = `${step}/${index}`;
    const known = found(calls.get(turnId), turnId);
    known.set(place, { ...found(known.get(place), place), ...changes });
  };
  const used = new Map<string, { readonly model: string; readonly own: TurnRecord['usage'] }>();
  const sumOf = (one: TurnRecord['usage'] | undefined, { inputTokens, outputTokens }: TurnRecord['usage']) => ({
    inputTokens: (one?.inputTokens ?? 0) + inputTokens,
    outputTokens: (one?.outputTokens ?? 0) + outputTokens,
  });
  const ofThread = (threadId: string) => [...turns.values()].filter((turn) => turn.threadId === threadId);
  const withCalls = (turn: TurnRecord | undefined) => (turn ? { turn, calls: [...(calls.get(turn.id)?.values() ?? [])] } : null);

  const writes: { [Name in keyof ThreadWriter]: (...values: Parameters<ThreadWriter[Name]>) => void } = {
    beginTurn({ thread, turn, messages: first }) {
      if (turns.has(turn.id)) throw new PithError('database_failed', `the turn '${turn.id}' is there already`);
      const { id, agentId, date, title } = thread;
      const now = clock.now();
      const made = { id, agentId, date, title: title.replaceAll('\0', ' '), createdAt: now, updatedAt: now, compactions: 0 };
      threads.set(id, threads.has(id) ? { ...threads.get(id)!, agentId, updatedAt: now } : made);
      turns.set(turn.id, turn);
      for (const message of first) add(turn.id, message);
    },
    recordStep(turnId, { step, message, calls: asked, usage, own, model, end }) {
      used.set(turnId, { model, own: sumOf(used.get(turnId)?.own, own) });
      update(turnId, { steps: step + 1, usage });
      add(turnId, message);
      const known = calls.get(turnId) ?? new Map<string, CallRecord>();
      calls.set(turnId, known);
      for (const call of asked) known.set(`${call.step}/${call.index}`, call);
      if (end !== undefined) setState(turnId, end, usage);
    },
    setCall: (call, state) => setCall(call, { state }),
    finishCall: (call, result) => setCall(call, { state: 'finished', result }),
    recordResults: add,
    setState,
    compact(threadId, throughSeq, replacement) {
      touch(threadId, { compactions: found(threads.get(threadId), threadId).compactions + 1 });
      const left = (messages.get(threadId) ?? []).filter(({ seq }) => seq > throughSeq);
      const written = replacement.map((each, place) => ({ ...each, turnId: '', seq: throughSeq - replacement.length + 1 + place }));
      messages.set(threadId, [...written, ...left]);
    },
    rewrite: (threadId, all) =>
      void messages.set(
        threadId,
        all.map((each, at) => ({ ...each, seq: at + 1 })),
      ),
    rename: (threadId, title) => void touch(threadId, { title }),
    remove(threadId) {
      found(threads.get(threadId), threadId);
      const isBelow = (id: string) => id === threadId || id.startsWith(`${threadId}/`);
      const ended = [...turns.values()].filter((turn) => isBelow(turn.threadId)).map(({ id }) => id);
      for (const id of ended) for (const each of [turns, calls, delegated]) each.delete(id);
      for (const each of [threads, messages]) for (const id of [...each.keys()].filter(isBelow)) each.delete(id);
    },
  };

  function writer(fence: Fence): ThreadWriter {
    const guarded = Object.entries(writes).map(([name, write]) => [
      name,
      async (...values: unknown[]) => {
        const { callers = [] } = (values.at(-1) ?? {}) as Parameters<ThreadWriter['beginTurn']>[0];
        if (![fence, ...callers.map((each) => each.fence)].every(holds))
          throw new PithError('thread_busy', 'somebody else holds the thread');
        (write as (...given: unknown[]) => void)(...values);
        for (const { turnId, delegated: sum, usage } of callers) {
          delegated.set(turnId, { ...sum });
          update(turnId, { usage });
        }
      },
    ]);
    return Object.fromEntries(guarded) as ThreadWriter;
  }

  return {
    async usage(threadId) {
      const sums = new Map<string | null, TurnRecord['usage']>();
      for (const { id, threadId: at } of turns.values()) {
        if (at !== threadId && !at.startsWith(`${threadId}/`)) continue;
        const { model, own } = used.get(id) ?? { model: null, own: { inputTokens: 0, outputTokens: 0 } };
        sums.set(model, sumOf(sums.get(model), own));
      }
      return [...sums].sort(([one], [other]) => ((one ?? '') < (other ?? '') ? -1 : 1)).map(([model, usage]) => ({ model, ...usage }));
    },
    async load(threadId) {
      const thread = threads.get(threadId);
      return thread ? { thread, messages: [...(messages.get(threadId) ?? [])] } : null;
    },
    async inspect(threadId) {
      if (!threads.has(threadId)) return null;
      const open = ofThread(threadId).findLast(({ state }) => state === 'running' || state === 'awaiting_approval');
      return {
        messages: [...(messages.get(threadId) ?? [])],
        unreadable: [],
        openTurn: open?.id ?? null,
        isRunning: open?.state === 'running',
      };
    },
    list: async (limit) => [...threads.values()].sort((a, b) => b.updatedAt - a.updatedAt).slice(0, limit),
    unfinished: async (threadId) =>
      withCalls(ofThread(threadId).findLast(({ state }) => state === 'running' || state === 'awaiting_approval')),
    last: async (threadId) => turns.get(messages.get(threadId)?.findLast(({ turnId }) => turnId !== '')?.turnId ?? '') ?? null,
    keyed: async (threadId, key) => withCalls(ofThread(threadId).find((turn) => turn.key === key)),
    delegated: async (turnId) => delegated.get(turnId) ?? { turns: 0, steps: 0, calls: 0 },
    writer,
  };
}

/** Nobody is asked. */
export const noApprovals: ApprovalStore = {
  list: async () => [],
  get: async () => null,
  answersFor: async () => ({ inProject: false, always: [], asked: [] }),
  offered: () => ['once', 'no'],
  permissions: async () => [],
  takeBack: async () => false,
  askedFor: async () => [],
  ask: () => Promise.reject(new Error('nobody can be asked')),
  reject: async () => undefined,
  forget: async () => undefined,
  answer: () => Promise.reject(new Error('nothing is asked')),
};
