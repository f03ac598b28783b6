import { countOption } from '@pith/command-line';
import { counted, printableLine } from '@pith/plain-text';
import { type CommandInput, type CommandIO, type JsonValue, PithError } from '../../contract/index.ts';
import type { TracedTurn, TurnHead } from '../../agent/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { colours, timeOf } from './text.ts';

type Step = TracedTurn['steps'][number];
type Call = Step['calls'][number];

/** A line, and what is below it. */
interface Branch {
  readonly line: string;
  readonly below: readonly Branch[];
}

/** Draws the newest turn of a name as a tree, below a line for each before it. */
export async function showTrace(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const typed = input.arguments['id'];
  const named = typed ?? io.session?.threadId ?? null;
  const found = named === '' ? null : await kernel.threads.trace(named === null ? null : String(named), countOption(input, 'last'));
  const isOther = typed === undefined && named !== null && found?.turn.threadId !== named; // only what is typed may be a beginning
  if (found === null || isOther) throw noTurn(typed, io);
  const { turn, earlier } = found;
  io.json({ ...turn, ...(earlier.length === 0 ? {} : { earlier }) } as unknown as JsonValue);
  const { line, below } = branchOfTurn(turn, io);
  for (const text of [...earlier.map((each) => lineOfTurn(each, io)), line, ...drawn(below)]) io.print(text);
}

function noTurn(typed: unknown, { session }: CommandIO): PithError {
  const none = session === undefined ? 'no turn is kept yet' : 'nothing was said here yet';
  if (typed === undefined) return new PithError('thread_unknown', none, { cure: 'send a message first' });
  const what = `no turn or conversation has an id that begins with '${printableLine(String(typed))}'`;
  return new PithError('thread_unknown', typed === '' ? 'the id is empty' : what, { cure: 'see: pith threads list --all' });
}

function drawn(branches: readonly Branch[], before = ''): readonly string[] {
  return branches.flatMap(({ line, below }, at) => {
    const isLast = at === branches.length - 1;
    return [`${before}${isLast ? '└─ ' : '├─ '}${line}`, ...drawn(below, `${before}${isLast ? '   ' : '│  '}`)];
  });
}

function branchOfTurn(turn: TracedTurn, io: CommandIO): Branch {
  const below = [...turn.steps.map((step) => branchOfStep(step, io)), ...turn.turns.map((each) => branchOfTurn(each, io))];
  return { line: lineOfTurn(turn, io), below };
}

function lineOfTurn({ agentId, id, threadId, began, ended, state, inputTokens, outputTokens }: TurnHead, io: CommandIO): string {
  const colour = colours(io);
  const painted = state === 'error' ? colour.red(state) : state;
  const about = [painted, lengthOf(began, ended), tokensOf(inputTokens, outputTokens)];
  const where = colour.dim(`turn ${id} in ${printableLine(threadId)}, ${timeOf(began)}`);
  return `${colour.bold(printableLine(agentId))}  ${joined(about)}  ${where}`;
}

function branchOfStep({ step, model, began, ended, inputTokens, outputTokens, calls }: Step, io: CommandIO): Branch {
  const about = [model === null ? null : printableLine(model), lengthOf(began, ended), tokensOf(inputTokens, outputTokens)];
  return { line: `step ${step + 1}  ${joined(about)}`, below: calls.map((call) => branchOfCall(call, io)) };
}

function branchOfCall({ name, extensionId, state, began, ended, ok, error, title, approvals, turns }: Call, io: CommandIO): Branch {
  const colour = colours(io);
  const result = ok === null ? state : ok ? colour.green('ok') : colour.red(printableLine(error ?? 'failed'));
  const from = extensionId === '' ? '' : colour.dim(` (${printableLine(extensionId)})`);
  const about = [result, lengthOf(began, ended), title === null ? null : printableLine(title)];
  const waits = approvals.map(({ asked, answered, answer }) => ({
    line: `approval  ${joined([answer ?? 'no answer yet', answered === null ? null : `after ${lengthOf(asked, answered)}`])}`,
    below: [],
  }));
  return { line: `${printableLine(name)}${from}  ${joined(about)}`, below: [...waits, ...turns.map((each) => branchOfTurn(each, io))] };
}

function joined(parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join(', ');
}

function lengthOf(began: number | null, ended: number | null): string | null {
  if (began === null || ended === null) return null;
  const ms = ended - began;
  return ms < 1000 ? `${ms} ms` : ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

function tokensOf(input: number | null, output: number | null): string | null {
  return input === null || output === null ? null : `${input} → ${counted(output, 'token')}`;
}
