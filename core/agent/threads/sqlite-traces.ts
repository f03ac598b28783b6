import { isPlainMap } from '@pith/plain-data';
import type { SqlRow, Store } from '../../store/index.ts';
import type { Trace, TracedCall, TracedStep, TracedTurn, TurnHead } from './traces.ts';

const TURN = `SELECT turns.*, agent, turnends.ended AS ended FROM turns JOIN turnagents ON turnagents.turn = id
  LEFT JOIN turnends ON turnends.turn = id`;
const CALLS = `SELECT calls.*, calltimes.began AS began, calltimes.ended AS ended FROM calls
  LEFT JOIN calltimes USING (turn, step, place) WHERE calls.turn = ? ORDER BY step, place`;
const NEWEST = 'ORDER BY started DESC, id DESC LIMIT ?';
/** A branch begins with a turn that did nothing. */
const OWN = "id NOT LIKE '%/branch'";

/** The newest turn of a name, and the turns that it called; below an outermost turn also later ones of the same message. */
export function readTrace(store: Store, named: string | null, most: number): Trace | null {
  const [row, ...earlier] = named === null ? store.all(`${TURN} WHERE depth = 0 AND ${OWN} ${NEWEST}`, 1) : rowsOf(store, named, most);
  if (row === undefined) return null;
  const later = store.all(
    `${TURN} WHERE correlation = ? AND started >= ? AND id <> ? ORDER BY started, depth, id`,
    row.correlation!,
    row.started!,
    row.id!,
  );
  const reader = new TraceReader(store, later);
  const turn = reader.turn(row);
  return {
    turn: Number(row.depth) === 0 ? { ...turn, turns: reader.others() } : turn,
    earlier: earlier.map(headOf).toReversed(),
  };
}

function rowsOf(store: Store, named: string, most: number): readonly SqlRow[] {
  const id = named.toUpperCase(); // those of turns have capital letters, whoever types them
  const ways = [
    ['id IN (?, ?)', id, named],
    [`thread = ? AND ${OWN}`, named],
    ['substr(id, 1, ?) = ?', id.length, id],
    [`substr(thread, 1, ?) = ? AND ${OWN}`, named.length, named],
  ] as const;
  for (const [where, ...values] of ways) {
    const rows = store.all(`${TURN} WHERE ${where} ${NEWEST}`, ...values, most);
    if (rows.length > 0) return rows;
  }
  return [];
}

function headOf(row: SqlRow): TurnHead {
  return {
    id: String(row.id),
    threadId: String(row.thread),
    agentId: textIn(mapOf(row.agent), 'id') ?? '',
    correlationId: String(row.correlation),
    state: String(row.state),
    began: Number(row.started),
    ended: numberOf(row.ended),
    inputTokens: Number(row.input),
    outputTokens: Number(row.output),
  };
}

/** Puts each turn below the call whose key it has; `left` are those that have no place yet. */
class TraceReader {
  readonly #left: Set<SqlRow>;

  constructor(
    private readonly store: Store,
    later: readonly SqlRow[],
  ) {
    this.#left = new Set(later);
  }

  turn(row: SqlRow): TracedTurn {
    const head = headOf(row);
    return { ...head, steps: this.#steps(head.id, Number(row.steps)), turns: [] };
  }

  /** Those that no call has below it. */
  others(): readonly TracedTurn[] {
    return this.#take(() => true);
  }

  #steps(turnId: string, count: number): readonly TracedStep[] {
    const times = new Map(this.store.all('SELECT * FROM steps WHERE turn = ?', turnId).map((row) => [Number(row.step), row]));
    const calls = this.store.all(CALLS, turnId);
    const asked = this.store.all('SELECT * FROM approvals WHERE turn = ? ORDER BY created', turnId);
    return Array.from({ length: count }, (_, step): TracedStep => {
      const time = times.get(step);
      const isOf = (row: SqlRow, call: SqlRow) => row.step === call.step && row.place === call.place;
      return {
        step,
        model: time === undefined ? null : String(time.model),
        began: numberOf(time?.began),
        ended: numberOf(time?.ended),
        inputTokens: numberOf(time?.input),
        outputTokens: numberOf(time?.output),
        calls: calls
          .filter((call) => Number(call.step) === step)
          .map((call) =>
            this.#call(
              call,
              asked.filter((row) => isOf(row, call)),
            ),
          ),
      };
    });
  }

  #call(row: SqlRow, asked: readonly SqlRow[]): TracedCall {
    const key = `${String(row.turn)}/${String(row.step)}/${String(row.place)}`;
    const result = mapOf(row.result);
    const error = result?.['error'];
    return {
      id: String(row.call),
      name: String(row.name),
      extensionId: String(row.extension),
      state: String(row.state),
      began: numberOf(row.began),
      ended: numberOf(row.ended),
      ok: typeof result?.['ok'] === 'boolean' ? result['ok'] : null,
      error: isPlainMap(error) ? textIn(error, 'code') : null,
      title: textIn(result, 'title'),
      approvals: asked.map(({ created, answered, answer }) => ({
        asked: Number(created),
        answered: numberOf(answered),
        answer: typeof answer === 'string' ? answer : null,
      })),
      turns: this.#take(({ key: of }) => of === key || String(of).startsWith(`${key}/`)),
    };
  }

  #take(isHere: (row: SqlRow) => boolean): readonly TracedTurn[] {
    const turns: TracedTurn[] = [];
    for (const row of this.#left) {
      if (!isHere(row)) continue;
      this.#left.delete(row);
      turns.push(this.turn(row));
    }
    return turns;
  }
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** null: what the row has is damaged. */
function mapOf(text: unknown): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(String(text));
    return isPlainMap(value) ? value : null;
  } catch {
    return null; // 'pith threads check' says so
  }
}

function textIn(map: Readonly<Record<string, unknown>> | null, name: string): string | null {
  const value = map?.[name];
  return typeof value === 'string' ? value : null;
}
