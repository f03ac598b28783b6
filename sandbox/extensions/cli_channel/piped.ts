import { Places, type Clock, type CommandIO, type JsonValue, type TurnEvent } from 'pith';
import { untilAborted } from '@pith/promises';
import { printable } from '@pith/plain-text';
import { AllowList } from './allow-list.ts';
import type { ChatContext, Sent } from './conversation.ts';
import type { Opening } from './opening.ts';
import { SlashCommands } from './slash-commands.ts';
import type { Terminal } from './terminal.ts';
import { TurnView } from './turn-view.ts';
import { endingLine, isNotified, questionLine, markOf, stepLine, type StepTimes } from './step-line.ts';

export interface PipedChat {
  readonly context: ChatContext;
  readonly opening: Opening;
  readonly resume: boolean;
  readonly messages: Iterable<string> | AsyncIterable<string>;
  /** What goes with the first message. */
  readonly attachments?: Sent['attachments'];
  /** False: a message that begins with a slash is one too. */
  readonly commands?: boolean;
  readonly terminal: Terminal;
  readonly io: CommandIO;
  /** What a person who is not there allowed in advance. */
  readonly allow?: ConstructorParameters<typeof AllowList>[0];
}

const INTERRUPTED = 130;

/** One turn a message, until the messages end. Exit code 1 when a turn failed, stopped at a limit or waits for approval, 130 when one was aborted. */
export async function chatThroughPipe(chat: PipedChat, signal: AbortSignal): Promise<number> {
  const { context, opening, io } = chat;
  const { conversation } = opening;
  const view = viewOf(chat, context.clock);
  const slash = new SlashCommands(context, conversation);
  const [project = null] = context.find(Places).map((places) => places.project);
  const allow = new AllowList(chat.allow ?? [], () => slash.all(), io, { waits: opening.isNamed || io.interactive, project });
  const turn = (sent: Sent | null) =>
    turnOf(
      onceFree(conversation.threadId, () => allow.runTurn(conversation, sent, signal)),
      view,
    );
  let code = 0;
  let attachments = chat.attachments ?? [];
  if (chat.resume) code = await turn(null);
  for await (const line of linesUntilAborted(chat.messages, signal)) {
    if (line.trim() === '') continue;
    const isCommand = chat.commands !== false && slash.covers(line);
    let done = isCommand ? await slash.run(line, { ...io, colour: false }, signal) : 0;
    const message = isCommand ? slash.takeMessage() : { input: line, skills: [] };
    if (message !== null && !slash.left && !signal.aborted) {
      const sent = message === 'resume' ? null : { ...message, attachments };
      if (sent !== null) attachments = [];
      done = Math.max(done, await turn(sent));
    }
    code = Math.max(code, done);
    if (slash.left || done === INTERRUPTED) break;
  }
  return signal.aborted ? INTERRUPTED : code;
}

/** A message waits until the process that works in its conversation has ended that: it is said again each time that the conversation was busy for too long. */
async function* onceFree(threadId: string, begin: () => AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
  for (let waited = false; ; waited = true) {
    let [hasBegun, isBusy] = [false, false];
    for await (const event of begin()) {
      hasBegun ||= event.type === 'turn-start';
      isBusy = !hasBegun && event.type === 'turn-end' && event.error?.code === 'thread_busy';
      if (!isBusy) yield event;
    }
    if (!isBusy) return;
    if (!waited)
      yield {
        type: 'notice',
        code: 'thread_busy',
        message: `another process answers in this conversation, and the message waits for it; Ctrl-C takes the message back; to stop the other: pith threads stop ${threadId}`,
      };
  }
}

async function turnOf(events: AsyncIterable<TurnEvent>, view: { show(event: TurnEvent): void }): Promise<number> {
  let code = 1; // a turn that ends without saying how has failed
  for await (const event of events) {
    view.show(event);
    if (event.type === 'turn-end') code = event.reason === 'done' ? 0 : event.reason === 'aborted' ? INTERRUPTED : 1;
  }
  return code;
}

function viewOf({ io, terminal }: PipedChat, clock: Clock): { show(event: TurnEvent): void } {
  if (io.wantsJson) {
    return {
      show(event) {
        const line = eventLine(event);
        if (line !== null) io.json(line);
        else if (event.type === 'notice' && isNotified(event, io.quiet)) io.error(event.message);
      },
    };
  }
  if (terminal.output.isTTY === true) return new TurnView({ terminal, clock, colour: io.colour, quiet: io.quiet });
  return new PlainView(io, clock);
}

/** The same values; ends when `signal` aborts, also while the next one is awaited. */
async function* linesUntilAborted<T>(values: Iterable<T> | AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = Symbol.asyncIterator in values ? values[Symbol.asyncIterator]() : values[Symbol.iterator]();
  try {
    while (!signal.aborted) {
      const next = await untilAborted(Promise.resolve(iterator.next()), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    void Promise.resolve(iterator.return?.()).catch(() => undefined); // its end is of no interest: nobody reads on
  }
}

type FieldsOf<Event> = Event extends unknown ? Exclude<keyof Event, 'type'> : never;

/** The fields of each event that `chat --json` prints; null: the event is not part of that format. */
const PRINTED: { readonly [Type in TurnEvent['type']]: readonly FieldsOf<Extract<TurnEvent, { type: Type }>>[] | null } = {
  'turn-start': ['agent', 'thread', 'model'],
  'text-delta': ['text'],
  'tool-call': ['id', 'name', 'input'],
  'tool-result': ['id', 'name', 'ok', 'at', 'output', 'error', 'title', 'metadata'],
  'approval-request': ['id', 'tool', 'input', 'digest', 'agents', 'thread', 'summary', 'enforced'],
  'turn-end': ['reason', 'text', 'usage', 'error'],
  document: null,
  notice: null,
  'step-end': null,
  'tool-output': null,
};

/** null: the event is not printed. */
function eventLine(event: TurnEvent): JsonValue {
  const names = PRINTED[event.type];
  if (names === null) return null;
  const { error, usage, output } = event as {
    error?: Failure;
    usage?: Extract<TurnEvent, { type: 'turn-end' }>['usage'];
    output?: JsonValue;
  };
  const printed: Readonly<Record<string, JsonValue | undefined>> = {
    ...(event as unknown as Readonly<Record<string, JsonValue>>),
    output: event.type === 'tool-result' && event.ok ? (output ?? null) : undefined,
    error: error && { code: error.code, message: error.message },
    usage: usage && { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens },
  };
  return Object.fromEntries(['type', ...names].map((name) => [name, printed[name]])) as JsonValue;
}

type Failure = Extract<TurnEvent, { type: 'turn-end' }>['error'];

/** Answers as the model wrote them, line by line on the output; steps and notices on the error stream. */
class PlainView {
  readonly #times: StepTimes = new Map();
  readonly #shownNotices = new Set<string>();
  #line = '';

  constructor(
    private readonly io: CommandIO,
    private readonly clock: Clock,
  ) {}

  show(event: TurnEvent): void {
    const { io, clock } = this;
    if (event.type === 'text-delta') return this.#text(event.text);
    this.#flush();
    if (event.type === 'tool-call') this.#times.set(event.id, { at: clock.now(), input: event.input });
    if (event.type === 'tool-result' && !io.quiet) {
      const { text, time } = stepLine(event, this.#times, clock.now());
      io.error(`${markOf(event)} ${text} ${time}`.trimEnd());
    }
    if (event.type === 'document' && !io.quiet) io.error(`✓ ${event.label}`);
    if (event.type === 'notice' && isNotified(event, io.quiet) && !this.#shownNotices.has(event.message)) {
      this.#shownNotices.add(event.message);
      io.error(event.message);
    }
    if (event.type === 'approval-request') io.error(questionLine(event));
    if (event.type === 'turn-end') {
      const ending = endingLine(event);
      if (ending !== null) io.error(ending);
    }
  }

  #text(delta: string): void {
    const text = this.#line + delta;
    const end = text.lastIndexOf('\n');
    if (end >= 0) this.io.print(printable(text.slice(0, end + 1)));
    this.#line = text.slice(end + 1);
  }

  #flush(): void {
    if (this.#line !== '') this.io.print(printable(this.#line));
    this.#line = '';
  }
}
