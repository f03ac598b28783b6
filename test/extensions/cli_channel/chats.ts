import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Command, CommandIO, JsonValue, TopicMap, TurnEvent, TurnRequest } from 'pith';
import { parseCommandInput } from '@pith/command-line';
import { fakeClock, scriptedModel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { chatCommand } from '../../../sandbox/extensions/cli_channel/chat-command.ts';
import type { ChatContext } from '../../../sandbox/extensions/cli_channel/conversation.ts';
import { kernelOf } from '../../places.ts';
import { kernelCommands } from '../../../core/cli/index.ts';
import { TerminalScreen } from '../../terminal-screen.ts';
import { Terminals } from '../../../sandbox/extensions/cli_channel/terminal.ts';

/** How a turn goes, for a chat whose turns no model could make happen so. */
export type Answer = (request: TurnRequest, signal?: AbortSignal) => AsyncIterable<TurnEvent>;

export const USAGE = { inputTokens: 3, outputTokens: 2 };

/** A turn of these events between its beginning and its end. A text is what the model says; a function is waited for. */
export function turn(...parts: readonly (TurnEvent | string | ((signal?: AbortSignal) => Promise<unknown>))[]): Answer {
  return async function* ({ agent, threadId }, signal) {
    yield { type: 'turn-start', agent: String(agent), thread: threadId, turn: 'turn-1', model: 'test/model' };
    for (const part of parts) {
      if (typeof part === 'function') await part(signal);
      else yield typeof part === 'string' ? { type: 'text-delta', text: part } : part;
    }
    const text = parts.filter((part) => typeof part === 'string').join('');
    yield { type: 'turn-end', reason: signal?.aborted ? 'aborted' : 'done', text, usage: USAGE };
  };
}

/** A turn that says `text` word by word. */
export function says(text: string, ...before: readonly TurnEvent[]): Answer {
  return turn(...before, ...text.split(/(?<= )/u), { type: 'step-end', step: 1, usage: USAGE, request: USAGE });
}

export const untilAborted = (signal?: AbortSignal) => new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));

/** A turn that goes on until it is aborted. */
export const hangs = turn(untilAborted);

export const fails: Answer = async function* () {
  yield { type: 'turn-end', reason: 'error', text: '', usage: USAGE, error: { code: 'model_auth', message: 'the key was refused' } };
};

/** A command whose JSON is `value`. */
export function answering(path: string, value: JsonValue): Command {
  return { path, description: `About ${path}`, run: async (_input, io) => io.json(value) };
}

export interface Chat {
  readonly pith: TestKernel;
  readonly requests: TurnRequest[];
  /** Happens while the chat is open. */
  tell<T extends keyof TopicMap>(topic: T, event: TopicMap[T]): void;
  readonly context: ChatContext;
  readonly terminals: Terminals;
}

/** A chat with the agents `main` and `other` whose turns are these answers: each takes the next one, the last is kept. `other` has said something in the thread `old-1`. */
export async function scriptedChat(
  answers: readonly Answer[],
  extra: readonly Command[] = [],
  options: TestKernelOptions = {},
): Promise<Chat> {
  const model = scriptedModel([{ text: 'It was **this**.' }]);
  const chat = await kernelChat({ model, clock: fakeClock(), ...options, files: { ...AGENTS, ...options.files } });
  if (options.env === undefined) await chat.pith.run('What was it?', { agent: 'other', threadId: 'old-1', channelId: 'cli' });
  const { context, requests } = chat;
  const run = (request: TurnRequest, signal?: AbortSignal) => {
    requests.push(request);
    return (answers[Math.min(requests.length, answers.length) - 1] ?? fails)(request, signal);
  };
  const find = (protocol: Parameters<ChatContext['find']>[0]) => [
    ...context.find(protocol),
    ...(protocol.id === 'command' ? [{ extensionId: 'extra', getCommands: async () => extra }] : []),
  ];
  return { ...chat, context: { ...context, agents: { ...context.agents, run }, find } as unknown as ChatContext };
}

const AGENTS = {
  'pith.yaml': 'default_agent: main\n',
  'agents/main/manifest.yaml': 'id: main\nagent: {}\n',
  'agents/other/manifest.yaml': 'id: other\nagent: {}\n',
};

/** The chat in the context of an extension of a test kernel: only the terminal is not real. */
export async function kernelChat(options: TestKernelOptions): Promise<Chat> {
  const files = { 'extensions/talker/manifest.yaml': TALKER, 'extensions/talker/main.ts': KEEPS_CONTEXT, ...options.files };
  const pith = await kernelOf({ commands: kernelCommands, only: ['cli_channel'], ...options, files });
  await pith.kernel.host.extensions.activate('talker');
  const context = kept.talker as ChatContext;
  const requests: TurnRequest[] = [];
  const run: ChatContext['agents']['run'] = (request, signal) => (requests.push(request), context.agents.run(request, signal));
  const heard: ChatContext = { ...context, agents: { ...context.agents, run } };
  return { pith, requests, tell: pith.kernel.events.publish as Chat['tell'], context: heard, terminals: new Terminals() };
}

const TALKER =
  'id: talker\nentrypoint: main.ts\nprovides: [command]\noptional_depends_on: [skill_registry]\nevents: { publishes: [skill.used] }\n';
const KEEPS_CONTEXT = 'export default class { constructor(context) { globalThis.talker = context; } getCommands() { return []; } }\n';
const kept = globalThis as { talker?: ChatContext };

export interface PipeRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface PipeOptions {
  /** Piped in, with --lines. */
  readonly lines?: Iterable<string> | AsyncIterable<string>;
  /** Piped in; null: it stays open, and nothing comes. */
  readonly stdin?: string | Buffer | null;
  readonly json?: boolean;
  readonly signal?: AbortSignal;
}

/** Runs `pith chat` with streams that are no terminal. */
export async function pipe(
  chat: Chat,
  words: readonly string[],
  { lines, stdin = '', json = false, signal = new AbortController().signal }: PipeOptions = {},
): Promise<PipeRun> {
  const input = new PassThrough();
  if (stdin !== null) input.end(stdin);
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
        yield* lines ?? [];
      },
    },
    interactive: false,
    wantsJson: json,
    quiet: false,
    colour: false,
    columns: 80,
    workingDirectory: '/',
    userId: 'local',
    shell: { piped: { bytes: input, mayBeIdle: stdin === null }, plain: false },
  };
  const command = chatCommand(chat.context, chat.terminals, () => ({ input, output: new PassThrough() }));
  const all = lines === undefined ? words : [...words, '--lines'];
  const code = (await command.run(parseCommandInput(command, all), io, signal)) ?? 0;
  return { code, out, err };
}

export interface Person {
  /** What the terminal shows, with what has scrolled away. */
  screen(): string;
  /** Everything that was written to the terminal, without what steers it. */
  written(): string;
  /** The same with what steers it. */
  raw(): string;
  /** Resolves when `seen` is written, as `sees` does. */
  type(text: string, ...seen: readonly string[]): Promise<void>;
  /** Resolves when the texts are written one after the other, after what was seen before. */
  sees(...texts: readonly string[]): Promise<void>;
  readonly done: Promise<number>;
  /** No more is typed; resolves to the exit code. */
  end(): Promise<number>;
  /** What is still listened to on the terminal. */
  listeners(): readonly string[];
}

export interface PersonOptions {
  readonly signal?: AbortSignal;
  readonly columns?: number;
  readonly workingDirectory?: string;
  /** What is answered before the terminal is the chat's. */
  readonly chosen?: string;
  /** No redraws. */
  readonly plain?: boolean;
  /** Starts the services; default: they are there. */
  readonly start?: () => Promise<string | null>;
}

/** A person at a terminal that talks with `pith chat`. */
export function person(chat: Chat, words: readonly string[] = [], options: PersonOptions = {}): Person {
  const { signal = new AbortController().signal, columns = 80, workingDirectory = '/', plain = false, start = async () => null } = options;
  const { chosen = null } = options;
  const screen = new TerminalScreen(columns || 80);
  let written = '';
  let raw = '';
  let seen = 0;
  const watchers = new Set<() => void>();
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        screen.write(String(chunk));
        raw += String(chunk);
        written += stripVTControlCharacters(String(chunk));
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
    ask: async () => chosen,
    input: { async *[Symbol.asyncIterator]() {} },
    interactive: true,
    wantsJson: false,
    quiet: false,
    colour: false,
    columns: 80,
    workingDirectory,
    userId: 'local',
    shell: { piped: null, plain },
  };
  const command = chatCommand(chat.context, chat.terminals, () => ({ input, output }));
  const done = command.runBeforeStart!(parseCommandInput(command, words), io, start, signal).then((code) => code ?? 0);
  const seesOne = (text: string) =>
    new Promise<void>((resolve, reject) => {
      void done.catch(reject);
      const look = () => {
        const at = written.indexOf(text, seen);
        if (at < 0) return;
        seen = at + text.length;
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
    });
  const sees = async (...texts: readonly string[]) => {
    for (const text of texts) await seesOne(text);
  };
  return {
    screen: () => screen.text(),
    written: () => written,
    raw: () => raw,
    type: (text, ...texts) => (input.write(text), sees(...texts)),
    sees,
    done,
    end: () => (input.end(), done),
    listeners: () => [...(output.listenerCount('resize') > 0 ? ['resize'] : []), ...(input.listenerCount('data') > 0 ? ['data'] : [])],
  };
}

/** The same once the chat has its prompt. */
export async function atPrompt(chat: Chat, words: readonly string[] = [], options: PersonOptions = {}): Promise<Person> {
  const ada = person(chat, words, options);
  await ada.sees('› ');
  return ada;
}

/** A person who has the prompt of a chat whose turns are these answers, and which has these commands too. */
export async function talking(
  answers: readonly Answer[],
  commands: readonly Command[] = [],
  { words, ...options }: PersonOptions & { readonly words?: readonly string[] } = {},
) {
  const chat = await scriptedChat(answers, commands);
  return { chat, ada: await atPrompt(chat, words, options) };
}
