import { messageOf, type Clock, type JsonValue } from 'pith';
import { fieldsOf, isPlainMap, jsonOf } from '@pith/plain-data';
import { printable, printableLine } from '@pith/plain-text';
import { runProgram } from '@pith/supervised-process';
import type { Hook } from './config.ts';

/** How a hook ended. `failed`: nobody knows what it would have said. */
export type Outcome =
  | { readonly kind: 'passed'; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'warned' | 'failed'; readonly why: string };

interface Answer {
  readonly decision?: unknown;
  readonly reason?: unknown;
  readonly note?: unknown;
}

interface HookRun {
  readonly folder: string;
  /** What it is told on its standard input. */
  readonly about: JsonValue;
  readonly variables: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

const MOST_BYTES = 1024 * 1024;
const REFUSED = 2;
/** The shell's codes for a program that it cannot start. */
const NOT_STARTED: ReadonlySet<number | null> = new Set([126, 127]);

/** Runs the command in the person's own environment, and ends all that it started. Rejects only with the reason of `signal`. */
export async function runHook(hook: Hook, { folder, about, variables, clock }: HookRun, signal?: AbortSignal): Promise<Outcome> {
  const { name, command, timeout_ms: mostMs } = hook;
  const failed = (why: string) => ({ kind: 'failed', why: `the hook '${name}' ${why}` }) as const;
  const set = Object.entries(variables).map(([key, value]) => `${key}=${value.replaceAll('\0', '')}`);
  const argv = ['env', ...set, 'sh', '-c', command];
  const input = `${JSON.stringify(about)}\n`; // so that `read -r` takes it
  try {
    const ended = await runProgram({ argv, cwd: folder, input, mostBytes: MOST_BYTES, mostMs, clock }, signal);
    const { code, passed } = ended;
    const [errors, output] = [ended.errors.trim(), String(ended.output).trim()];
    const said = printable(errors === '' ? output : errors);
    if (passed !== null) return failed(passed === 'time' ? `did not end within ${mostMs} ms` : `wrote more than ${MOST_BYTES} bytes`);
    if (code === 0) {
      const answer = answerOf(output);
      if (hook.on !== 'before_tool' || isClear(output, answer)) return { kind: 'passed', answer };
      return failed(`printed an answer that cannot be read: ${printableLine(output, MOST_QUOTED)}`);
    }
    if (code === REFUSED) return { kind: 'refused', reason: said === '' ? `the hook '${name}' gave no reason` : said };
    const why = `ended ${code === null ? `by ${ended.signal}` : `with code ${code}`}${said === '' ? '' : `: ${said}`}`;
    return code === null || NOT_STARTED.has(code) ? failed(why) : { ...failed(why), kind: 'warned' };
  } catch (error) {
    signal?.throwIfAborted();
    return failed(`could not run: ${messageOf(error)}`);
  }
}

/** The JSON object that it printed, also as Claude Code has it; other output says nothing: a hook may print what it likes. */
function answerOf(output: string): Answer {
  const answer = fieldsOf(jsonOf(output));
  if (answer['continue'] === false) return { ...answer, decision: 'deny', reason: answer['stopReason'] ?? answer['reason'] };
  const { permissionDecision: decision, permissionDecisionReason: reason } = fieldsOf(answer['hookSpecificOutput']);
  return decision === undefined ? answer : { decision, reason };
}

/** A quotation mark in a reason may break the JSON of a refusal: then nobody knows what it would have said. */
function isClear(output: string, { decision = 'allow' }: Answer): boolean {
  return DECISIONS.has(decision) && (!output.startsWith('{') || isPlainMap(jsonOf(output)));
}

const DECISIONS: ReadonlySet<unknown> = new Set(['allow', 'approve', 'ask', 'block', 'deny']);
const MOST_QUOTED = 200;
