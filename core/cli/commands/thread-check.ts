import { type CommandInput, type CommandIO, messageOf, PithError } from '../../contract/index.ts';
import { printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { checkKnown, cutOff } from './threads.ts';
import { colours } from './text.ts';

interface Checked {
  readonly thread: string;
  readonly faults: readonly { readonly message: number | null; readonly what: string }[];
  readonly repaired: boolean;
  readonly sealed?: true;
  readonly unfinished?: true;
  /** Why it could not be checked, or repaired. */
  readonly error?: string;
}

/** Exit code 1 where something is wrong and was not repaired. */
export async function checkThreads(kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  const repair = input.options['repair'] === true;
  const checked: Checked[] = [];
  for (const thread of await idsOf(kernel, input, io)) {
    signal.throwIfAborted();
    checked.push(await check(kernel, thread, repair, signal));
  }
  const wrong = checked.filter(({ faults, error }) => faults.length > 0 || error !== undefined);
  const left = wrong.filter(({ repaired }) => !repaired);
  io.json(checked as never);
  const colour = colours(io);
  for (const { thread, faults, repaired, unfinished, error } of checked) {
    if (unfinished === true) io.print(`${thread}\n  unfinished: ${cutOff(thread)}`);
    if (faults.length === 0 && error === undefined) continue;
    io.print(`${thread}${repaired ? colour.dim(' (repaired)') : ''}`);
    for (const { message, what } of faults) io.print(`  ${message === null ? '' : `message ${message}: `}${printableLine(what)}`);
    if (error !== undefined) io.print(`  ${printableLine(error)}`);
  }
  const sealed = checked.filter((each) => each.sealed);
  if (!io.quiet) for (const { thread } of sealed) io.print(`${thread}: sealed, not checked`);
  if (!io.quiet || left.length > 0) io.print(summary(checked.length - sealed.length, wrong.length, left.length, repair));
  return left.length === 0 ? 0 : 1;
}

async function idsOf(kernel: Kernel, { arguments: { id }, options }: CommandInput, io: CommandIO): Promise<readonly string[]> {
  const all = options['all'] === true;
  const one = id ?? (all ? undefined : io.session?.threadId);
  if (all === (typeof one === 'string'))
    throw new PithError('usage', all ? 'either one thread or --all is checked' : 'check needs a thread', {
      cure: 'write: pith threads check <id>, or: pith threads check --all',
    });
  if (all) return (await kernel.threads.list(Number.MAX_SAFE_INTEGER)).map((thread) => thread.id);
  await checkKnown(kernel, String(one), io);
  return [String(one)];
}

async function check(kernel: Kernel, thread: string, repair: boolean, signal: AbortSignal): Promise<Checked> {
  try {
    return { thread, ...(await kernel.agents.checkThread(thread, { repair }, signal)) };
  } catch (error) {
    signal.throwIfAborted();
    return { thread, faults: [], repaired: false, error: messageOf(error) };
  }
}

function summary(all: number, wrong: number, left: number, repair: boolean): string {
  if (all === 0) return 'nothing could be checked';
  const threads = all === 1 ? '1 conversation' : `${all} conversations`;
  if (wrong === 0) return `${threads} checked; all is well`;
  if (left === 0) return `${threads} checked; ${wrong} repaired`;
  const cure = repair ? '' : '; to repair: add --repair; copy the data folder first if it matters';
  return `${threads} checked; ${left} with something wrong${cure}`;
}
