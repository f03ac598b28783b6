import { randomUUID } from 'node:crypto';
import { keepAliveClock, systemClock, untilAborted, within } from '@pith/promises';
import { type AgentSpec, PithError, SkillProvider } from '../contract/index.ts';
import { agentsOf, assistantOf, firstAgent, refuseOtherModel } from './agents.ts';
import { checkLimit, checkText, checkThread } from './checked-arguments.ts';
import { checkedClock } from './checked-clock.ts';
import { checkAnswers, checkOptions, checkRun } from './checked-options.ts';
import { openKernel } from './guest-kernel.ts';
import { HeldThreads } from './held-threads.ts';
import type { Pith, PithOptions } from './options.ts';
import { errorForProgram } from './program-texts.ts';
import { ENDING_MS, nobody, questionOf, type RunPorts, startRun } from './run.ts';
import { TemporaryFolder } from './temporary-folder.ts';

/** Opens a kernel in this process, over what the options name alone. Rejects `settings_invalid` and what a start may fail with. */
export async function openPith(options: PithOptions): Promise<Pith> {
  try {
    return await pithOf(options);
  } catch (error) {
    throw errorForProgram(error);
  }
}

async function pithOf(options: PithOptions): Promise<Pith> {
  await checkOptions(options);
  const { approve = nobody, limits = {} } = options;
  const clock = options.clock === undefined ? systemClock : checkedClock(options.clock);
  const temporary = new TemporaryFolder();
  const agents = agentsOf(options);
  const ended = new AbortController();
  const kernel = await openKernel({ ...options, clock }, agents, { temporary, ended: ended.signal }).catch(async (error: unknown) => {
    await temporary.remove();
    throw error;
  });
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const held = new HeldThreads();
  const ports: RunPorts = {
    kernel,
    approve,
    limits,
    clock,
    held,
    closing: closing.signal,
    ownModel: typeof options.model === 'object' || typeof options.model === 'function',
    track(work) {
      const settled = work.then(noop, noop).then(() => void running.delete(settled));
      running.add(settled);
    },
  };
  const assistant = assistantOf(options);
  const agentNamed = (id: string | undefined): string | AgentSpec => id ?? firstAgent(kernel, agents) ?? assistant;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closed ??= (async () => {
      const late = new AbortController();
      const cancel = keepAliveClock.after(STOPPING_MS, () => late.abort());
      closing.abort(new PithError('aborted', 'it was closed'));
      await within(keepAliveClock, ENDING_MS, Promise.all(running));
      ended.abort(new PithError('aborted', 'it was closed'));
      await kernel.stop(late.signal);
      cancel();
      await temporary.remove();
    })());
  const requireOpen = (): void => {
    if (closed !== undefined) throw new PithError('usage', 'this Pith is closed', { cure: 'make another one' });
  };
  const untilClosed = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await untilAborted(work, AbortSignal.any([closing.signal])); // no listeners pile up at one
    } catch (error) {
      throw errorForProgram(error);
    }
  };
  return {
    run(text, given = {}) {
      requireOpen();
      checkText(text);
      checkRun('run', given);
      const { thread = randomUUID(), agent, output, ...rest } = given;
      checkThread('run', thread);
      refuseOtherModel(options.model, rest.model, 'run.model');
      return startRun({ ...rest, text, thread, agent: agentNamed(agent), output }, ports);
    },
    resume(thread, answers = {}, rest = {}) {
      requireOpen();
      checkThread('resume', thread);
      checkRun('resume', rest);
      checkAnswers(answers);
      const request = { ...rest, text: null, thread, answers, agent: agentNamed(undefined) };
      return startRun(request, { ...ports, approve: options.approve ?? (() => 'later') });
    },
    async questions(thread) {
      requireOpen();
      checkThread('questions', thread);
      return (await untilClosed(kernel.approvals.list(thread))).map(questionOf);
    },
    async skills() {
      requireOpen();
      const listed = kernel.host.providers.active(SkillProvider).then(async ([provider]) => provider?.listSkills());
      const found = (await untilClosed(listed)) ?? [];
      return found.map(({ id, description, state }) => ({ id, description, state }));
    },
    threads: {
      async list(limit = 100) {
        requireOpen();
        checkLimit(limit);
        return (await untilClosed(kernel.threads.list(limit))).map(({ id, title }) => ({ id, title: title || null }));
      },
      async messages(thread) {
        requireOpen();
        checkThread('threads.messages', thread);
        return (await untilClosed(kernel.threads.load(thread)))?.messages.map(({ message }) => message) ?? null;
      },
      async remove(thread) {
        requireOpen();
        checkThread('threads.remove', thread);
        await untilClosed(held.hold(thread, closing.signal, () => kernel.agents.deleteThread(thread)));
      },
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Whatever extensions do, `close` waits for them no longer than this, runs included. */
const STOPPING_MS = 800;

const noop = (): void => undefined;
