import path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { PithError, type Clock, type Command, type CommandIO, type JsonValue, type TopicMap, type TurnEvent, type TurnRequest } from 'pith';
import { parseCommandInput } from '@pith/command-line';
import type { TestKernel, TestKernelOptions } from 'pith/testing';
import { chatCommand } from '../../../sandbox/extensions/cli_channel/chat-command.ts';
import type { ChatContext } from '../../../sandbox/extensions/cli_channel/conversation.ts';
import { folderWith, kernelOf } from '../../places.ts';
import { kernelCommands as coreCommands } from '../../../core/cli/index.ts';
import { Terminals } from '../../../sandbox/extensions/cli_channel/terminals.ts';

export type Answer = (request: TurnRequest, signal?: AbortSignal) => AsyncIterable<TurnEvent>;

export const USAGE = { inputTokens: 3, outputTokens: 2 };

/** A turn that says `text`. */
export function says(text: string, ...before: TurnEvent[]): Answer {
  return async function* (request) {
    yield { type: 'turn-start', agent: String(request.agent), thread: request.threadId, turn: 'turn-1', model: 'test/model' };
    yield* before;
    for (const word of text.split(/(?<= )/u)) yield { type: 'text-delta', text: word };
    yield { type: 'step-end', step: 1, usage: USAGE };
    yield { type: 'turn-end', reason: 'done', text, usage: USAGE };
  };
}

/** A turn that goes on until it is aborted. */
export const hangs: Answer = async function* (request, signal) {
  yield { type: 'turn-start', agent: String(request.agent), thread: request.threadId, turn: 'turn-1', model: 'test/model' };
  await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
  yield { type: 'turn-end', reason: 'aborted', text: '', usage: USAGE };
};

export const fails: Answer = async function* () {
  yield { type: 'turn-end', reason: 'error', text: '', usage: USAGE, error: { code: 'model_auth', message: 'the key was refused' } };
};

const PAST: Readonly<Record<string, JsonValue>> = {
  'old-1': {
    id: 'old-1',
    agentId: 'other',
    messages: [
      { role: 'user', text: 'What was it?' },
      { role: 'assistant', text: 'It was **this**.' },
    ],
  },
};

/** A command whose JSON is `value`. */
export function answering(path: string, value: JsonValue): Command {
  return { path, description: `About ${path}`, run: async (_input, io) => io.json(value) };
}

export function kernelCommands(model = 'test/model'): readonly Command[] {
  const answer = (path: string, value: JsonValue, args: Command['arguments'] = [], options: Command['options'] = []): Command => ({
    path,
    description: `About ${path}`,
    arguments: args,
    options,
    run: async (_input, io) => (io.json(value), io.print(`printed ${path}`)),
  });
  const id = [{ name: 'id', description: 'Which', required: true }];
  return [
    answer('agents list', [{ id: 'main', default: true }, { id: 'other' }]),
    {
      ...answer('agents show', {}, id),
      run: async (input, io) => {
        if (input.arguments['id'] === 'main' || input.arguments['id'] === 'other')
          return io.json({ id: String(input.arguments['id']), model: 'default' });
        throw new PithError('agent_unknown', "no agent 'mian' (did you mean 'main'?)", { cure: 'see: pith agents list' });
      },
    },
    {
      ...answer('model', null, [{ name: 'ref', description: 'Which' }]),
      run: async (input, io) => io.json({ ref: String(input.arguments['ref'] ?? model), why: 'because' }),
    },
    answer(
      'threads list',
      [{ id: 'tasks/abcdefghij' }, { id: 'old-1/call' }, { id: 'old-1' }],
      [],
      [{ name: 'limit', type: 'number', description: 'How many' }],
    ),
    {
      ...answer('threads show', null, id, [{ name: 'last', type: 'number', description: 'How many' }]),
      run: async (input, io) => {
        const thread = PAST[String(input.arguments['id'])];
        if (thread === undefined) throw new PithError('thread_unknown', 'no such thread');
        io.json(thread);
      },
    },
    { ...answer('context', null), run: async (_input, io) => io.print(`context of ${io.session?.agentId} in ${io.session?.threadId}`) },
    ...['tools list', 'compact', 'approvals list', 'doctor', 'skills list'].map((path) => answer(path, null)),
  ];
}

export interface Chat {
  readonly requests: TurnRequest[];
  /** Happens while the chat is open. */
  tell<T extends keyof TopicMap>(topic: T, event: TopicMap[T]): void;
  readonly context: ChatContext;
  readonly terminals: Terminals;
  readonly folder: string;
}

/** Each turn takes the next answer; the last one is kept. */
export async function fakeChat(answers: readonly Answer[], commands: readonly Command[] = kernelCommands()): Promise<Chat> {
  const folder = folderWith();
  const requests: TurnRequest[] = [];
  const clock: Clock = { now: () => Date.UTC(2026, 0, 1), sleep: () => Promise.resolve(), after: () => () => undefined };
  const quiet = () => undefined;
  const listeners = new Map<(event: unknown) => void, string>();
  const context = {
    dataDirectory: path.join(folder, 'data'),
    clock,
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    agents: {
      list: async () => [],
      run: (request: TurnRequest, signal?: AbortSignal) => {
        requests.push(request);
        const answer = answers[Math.min(requests.length, answers.length) - 1];
        return (answer ?? fails)(request, signal);
      },
    },
    events: {
      publish: () => undefined,
      handle: (topic: string, listener: (event: unknown) => void) => {
        listeners.set(listener, topic);
        return () => listeners.delete(listener);
      },
    },
    find: () => [{ extensionId: 'kernel', getCommands: async () => commands }],
  } as unknown as ChatContext;
  const tell: Chat['tell'] = (topic, event) => listeners.forEach((of, listener) => of === topic && listener(event));
  return { requests, tell, context, terminals: new Terminals(), folder };
}

/** The chat in the context of an extension of a test kernel: only the terminal is not real. */
export async function kernelChat(options: TestKernelOptions): Promise<{ readonly chat: Chat; readonly pith: TestKernel }> {
  const files = { 'extensions/talker/manifest.yaml': TALKER, 'extensions/talker/main.ts': KEEPS_CONTEXT, ...options.files };
  const pith = await kernelOf({ commands: coreCommands, ...options, files });
  await pith.kernel.host.extensions.activate('talker');
  const context = kept.talker as ChatContext;
  const requests: TurnRequest[] = [];
  const run: ChatContext['agents']['run'] = (request, signal) => (requests.push(request), context.agents.run(request, signal));
  const heard: ChatContext = { ...context, agents: { ...context.agents, run } };
  return { pith, chat: { requests, tell: () => undefined, context: heard, terminals: new Terminals(), folder: pith.sandbox } };
}

const TALKER = 'id: talker\nentrypoint: main.ts\nprovides: [command]\n';
const KEEPS_CONTEXT = 'export default class { constructor(context) { globalThis.talker = context; } getCommands() { return []; } }\n';
const kept = globalThis as { talker?: ChatContext };

export interface PipeRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `pith chat` with streams that are no terminal. */
export async function pipe(
  chat: Chat,
  words: readonly string[],
  {
    lines = [],
    json = false,
    signal = new AbortController().signal,
  }: { readonly lines?: Iterable<string> | AsyncIterable<string>; readonly json?: boolean; readonly signal?: AbortSignal } = {},
): Promise<PipeRun> {
  let out = '';
  let err = '';
  const end = (text: string) => (text.endsWith('\n') ? text : `${text}\n`);
  const io: CommandIO = {
    print: (text) => void (json || (out += end(text))),
    error: (text) => void (err += end(text)),
    json: (value) => void (json && (out += `${JSON.stringify(value)}\n`)),
    ask: async () => null,
    input: {
      async *[Symbol.asyncIterator]() {
        yield* lines;
      },
    },
    interactive: false,
    wantsJson: json,
    quiet: false,
    colour: false,
    columns: 80,
    workingDirectory: '/',
  };
  const command = chatCommand(chat.context, chat.terminals, () => ({ input: new PassThrough(), output: new PassThrough() }));
  const code = (await command.run(parseCommandInput(command, words), io, signal)) ?? 0;
  return { code, out, err };
}

export interface Person {
  /** What the terminal shows, without colours. */
  screen(): string;
  type(text: string): void;
  /** Resolves when the screen shows `text` after what was seen before. */
  sees(text: string): Promise<void>;
  readonly done: Promise<number>;
  end(): void;
  /** What is still listened to on the terminal. */
  listeners(): readonly string[];
}

/** A person at a terminal that talks with `pith chat`. */
export function person(chat: Chat, words: readonly string[] = [], signal = new AbortController().signal, columns = 80): Person {
  let screen = '';
  let seen = 0;
  const watchers = new Set<() => void>();
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        screen += stripVTControlCharacters(String(chunk));
        for (const look of watchers) look();
        done();
      },
    }),
    { isTTY: true, columns },
  );
  const io: CommandIO = {
    print: () => undefined,
    error: () => undefined,
    json: () => undefined,
    ask: async () => null,
    input: { async *[Symbol.asyncIterator]() {} },
    interactive: true,
    wantsJson: false,
    quiet: false,
    colour: false,
    columns: 80,
    workingDirectory: '/',
  };
  const command = chatCommand(chat.context, chat.terminals, () => ({ input, output }));
  const done = command.run(parseCommandInput(command, words), io, signal).then((code) => code ?? 0);
  return {
    screen: () => screen,
    type: (text) => void input.write(text),
    sees: (text) =>
      new Promise((resolve) => {
        const look = () => {
          const at = screen.indexOf(text, seen);
          if (at < 0) return;
          seen = at + text.length;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    done,
    end: () => void input.end(),
    listeners: () => [
      ...(output.listenerCount('resize') > 0 ? ['resize'] : []),
      ...(input.listenerCount('keypress') > 0 ? ['keypress'] : []),
    ],
  };
}
