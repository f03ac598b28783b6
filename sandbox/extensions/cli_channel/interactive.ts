import { messageOf, Places, type ChannelMessage, type CommandIO } from 'pith';
import { untilAborted } from '@pith/promises';
import { isInside, realPathOf, stateFolder, type StateFolder } from '@pith/safe-files';
import { Attention, type Notifications } from './attention.ts';
import { ChatScreen } from './chat-screen.ts';
import { ChatStatus } from './chat-status.ts';
import { ChatTurns } from './chat-turns.ts';
import { clipboardImage, type Image } from './clipboard-image.ts';
import { complete } from './completion.ts';
import { type ChatContext, type Conversation, skillNames } from './conversation.ts';
import { CUT_OFF, firstScreen, pastLines, problemLine, whyNothingCanBeSent, type Opening } from './opening.ts';
import { ProjectPaths } from './file-mentions.ts';
import { fields, findKernelCommands, list, query, text } from './commands.ts';
import { SlashCommands } from './slash-commands.ts';
import type { Terminal, Terminals } from './terminal.ts';
import { TurnSteps } from './step-line.ts';
import { editInProgram } from './text-program.ts';

export interface InteractiveOptions {
  readonly context: ChatContext;
  /** Starts the services, and resolves with what the person should know before they begin; null: nothing. */
  readonly start: () => Promise<string | null>;
  /** Finds out who talks with whom where. Rejects as the command does. */
  readonly open: () => Promise<Opening>;
  readonly resume: boolean;
  readonly terminal: Terminal;
  readonly terminals: Terminals;
  readonly io: CommandIO;
  /** Nothing is drawn again, and nothing coloured. */
  readonly plain: boolean;
}

/** Talks until Ctrl-D, `/exit`, Ctrl-C twice or the end of the process is asked for. */
export async function chatInteractively(options: InteractiveOptions, signal: AbortSignal): Promise<number> {
  const { context, plain, io } = options;
  const folder = stateFolder(context.dataDirectory);
  const history = new HistoryFile(folder, (error) => context.logger.warn('history not kept', { reason: messageOf(error) }));
  const past = await history.load();
  const chat = new InteractiveChat({ ...options, io: plain ? { ...io, colour: false } : io, folder, history, past }, signal);
  await chat.talk();
  return signal.aborted ? 130 : 0;
}

type ChatOptions = InteractiveOptions & {
  readonly folder: StateFolder;
  readonly history: HistoryFile;
  /** Of the history, newest first. */
  readonly past: readonly string[];
};

/** What there is once it is known who talks with whom. */
interface OpenChat {
  readonly opening: Opening;
  readonly slash: SlashCommands;
  readonly turns: ChatTurns;
}

const PROMPT = '› ';
/** Within it a second Esc belongs to the first. */
const TWICE_MS = 1000;

/** A conversation at a terminal: draws its prompt at once, reads lines, runs what they lead to one at a time, and lets the keys stop it. */
class InteractiveChat {
  readonly #screen: ChatScreen;
  readonly #steps = new TurnSteps();
  readonly #attention: Attention;
  /** From the clipboard, by the words that stand for them in a message. */
  readonly #images = new Map<string, Image>();
  /** null: what is typed waits. */
  #chat: OpenChat | null = null;
  /** Of what a line led to; null while the next line is awaited. */
  #turn: AbortController | null = null;
  /** Ctrl-C was pressed on an empty line. */
  #isWarned = false;
  #escapedAt = -Infinity;
  /** What was open in the conversation has been asked. */
  #isOpen = false;
  /** The person leaves before the conversation is open. */
  readonly #left = new AbortController();

  constructor(
    private readonly options: ChatOptions,
    private readonly signal: AbortSignal,
  ) {
    const { context, terminal, io, past, plain } = options;
    const folder = io.workingDirectory;
    const isAgreed = context.find(Places).some(({ project }) => project !== null && isInside(realPathOf(folder), project)); // that it is a project
    const files = new ProjectPaths(folder, isAgreed, context.clock);
    const how = (context.config['notifications'] ?? 'off') as Notifications;
    this.#attention = new Attention(terminal.output, plain && how !== 'off' ? 'bell' : how, context.clock);
    this.#screen = new ChatScreen({
      terminal,
      io,
      plain,
      attention: this.#attention,
      history: past,
      complete: async (typed, cursor) => {
        if (this.#chat === null) return { from: 0, items: [] };
        const { slash, opening } = this.#chat;
        const sources = {
          commands: () => slash.all(),
          skills: () => skillNames(context, opening.conversation.agentId),
          files: (abort: AbortSignal) => files.list(abort),
        };
        return complete(typed, cursor, sources, signal);
      },
      interrupted: (typed) => this.#interrupted(typed),
      escaped: (typed) => this.#escaped(typed),
      entered: (message) => {
        if (!LEAVES.test(message)) options.history.add(message);
      },
      ended: () => this.#leaveEarly(),
      editElsewhere: (typed) => this.#edit(typed),
      clipboard: () => this.#takeImage(),
    });
  }

  async talk(): Promise<void> {
    const { editor, colour } = this.#screen;
    const leave = () => {
      this.#turn?.abort(this.signal.reason);
      editor.close();
    };
    this.signal.addEventListener('abort', leave, { once: true });
    let close = () => {};
    try {
      editor.begin(colour.cyan(PROMPT));
      const chat = await this.#open();
      if (chat === null) return;
      close = this.#listen(chat);
      await this.#begin(chat);
      const { conversation } = chat.opening;
      for (;;) {
        if (chat.slash.left || this.signal.aborted) break;
        const line = await editor.next(this.#prompt(conversation));
        if (line === null || LEAVES.test(line)) break;
        if (line.trim() === '') continue;
        await this.#run((abort) => chat.turns.take(line, abort));
      }
    } finally {
      this.signal.removeEventListener('abort', leave);
      close();
      editor.close();
    }
    const { begun = false, threadId = '' } = this.#chat?.opening.conversation ?? {};
    if (begun) this.#screen.writeDim(`Go on later with: pith chat --thread ${threadId}`);
  }

  /** Starts the services and opens the conversation, while the person may type already; null: they left, or the process ends. */
  async #open(): Promise<OpenChat | null> {
    const { context, start, open, terminal, io } = this.options;
    await new Promise((resolve) => setImmediate(resolve)); // not a time to wait for: the prompt is drawn by then
    const left = AbortSignal.any([this.signal, this.#left.signal]);
    try {
      const problems = await untilAborted(start(), left);
      const opening = await untilAborted(open(), left);
      const { conversation } = opening;
      const screen = this.#screen;
      const raw = (line: string) => screen.editor.write(`${line}\n`);
      const slash = new SlashCommands(context, conversation, raw, {
        clear: () => screen.editor.clearScreen(),
        edit: (text) => screen.editor.takeBack(text),
        steps: () => this.#steps.all,
      });
      screen.paths = (await slash.all()).map(({ path }) => path);
      if (problems !== null) screen.write(screen.hint(problems));
      const parts = { conversation, slash, steps: this.#steps, screen, terminal, clock: context.clock, io, images: this.#images };
      return (this.#chat = { opening, slash, turns: new ChatTurns(parts, () => this.#turn?.signal ?? this.signal) });
    } catch (error) {
      if (left.aborted) return null;
      throw error;
    }
  }

  /** Listens to what others report; returns what ends that. */
  #listen({ opening, slash, turns }: OpenChat): () => void {
    const { context, terminals } = this.options;
    const screen = this.#screen;
    const offs = [
      terminals.open(opening.conversation, (message) => {
        void this.#numbered(message, slash, turns).then((shown) => shown !== null && screen.notify(shown));
      }),
      context.events.handle('extension.failed', (failure) => {
        if (failure.phase !== 'reload' || turns.isCommanding) return; // a command says what it broke
        screen.notify(problemLine(failure, failure.extensionId));
      }),
      context.events.handle('problem.found', (problem) => {
        turns.know(problem);
        screen.notify(problemLine(problem));
      }),
    ];
    return () => {
      for (const off of offs) off();
      screen.status?.close();
    };
  }

  /** The first screen, the last messages, and the questions that are still open. */
  async #begin({ opening, slash, turns }: OpenChat): Promise<void> {
    const { context, terminals, io, plain, resume } = this.options;
    const { conversation } = opening;
    const screen = this.#screen;
    const commands = await findKernelCommands(context); // `/model` of a conversation says less than theirs
    const first = await firstScreen(conversation, commands, screen.colour, this.signal);
    screen.write(first.text);
    if (first.asksServer) void whyNothingCanBeSent(conversation, commands, this.signal).then((why) => why !== null && screen.notify(why));
    const status = { conversation, terminals, commands: () => slash.all(), changed: () => screen.editor.redraw() };
    if (!plain) screen.status = new ChatStatus(context, status, first.model);
    screen.status?.refresh();
    if (!io.quiet && opening.notes.length > 0) screen.writeDim(`${screen.hint(opening.notes.join('\n'))}\n`);
    for (const line of pastLines(opening.past, screen.colour, screen.columns)) screen.write(line);
    const before = opening.unfinished === null ? opening.running : CUT_OFF;
    if (before !== null) screen.writeDim(before);
    context.events.publish('channel.opened', { extensionId: context.id });
    if (resume) await this.#run((abort) => turns.resume(abort));
    else if (conversation.begun) await this.#run((abort) => turns.catchUp(abort));
    this.#isOpen = true;
  }

  /** The questions of this conversation are asked here, while it is opened and while a turn runs. */
  get #asksItself(): boolean {
    return !this.#isOpen || this.#turn !== null;
  }

  async #run(work: (abort: AbortSignal) => Promise<unknown>): Promise<void> {
    const turn = new AbortController();
    this.#turn = turn;
    this.#screen.isAnswering = true;
    this.#attention.seen();
    if (this.signal.aborted) turn.abort(this.signal.reason);
    try {
      await work(turn.signal);
    } finally {
      this.#turn = null;
      this.#isWarned = false;
      this.#screen.isAnswering = false;
      this.#screen.printNotices();
      if (!turn.signal.aborted) this.#attention.call('the answer is there');
    }
  }

  async #edit(typed: string): Promise<string | null> {
    const edited = await editInProgram(typed, this.options.folder);
    if ('text' in edited) return edited.text;
    this.#screen.writeDim(edited.why);
    return null;
  }

  /** The words that stand for the image in the clipboard; null: there is none, which is said. */
  async #takeImage(): Promise<string | null> {
    const image = await clipboardImage();
    if ('why' in image) {
      this.#screen.writeDim(`Nothing to paste: ${image.why}`);
      return null;
    }
    const words = `[image ${this.#images.size + 1}]`;
    this.#images.set(words, image);
    return `${words} `;
  }

  /** A message that waits is sent before the conversation ends. */
  #leaveEarly(): void {
    if (this.#chat === null && this.#screen.editor.queued === 0) this.#left.abort();
  }

  /** Once it stops the answer; twice on an empty line it lets the person change a message that they sent. */
  #escaped(typed: string): void {
    const now = this.options.context.clock.now();
    const isTwice = now - this.#escapedAt < TWICE_MS;
    this.#escapedAt = isTwice ? -Infinity : now;
    if (!isTwice) return this.#stop('Esc');
    if (typed === '' && this.#chat?.opening.conversation.begun === true) this.#screen.editor.submit('/edit');
  }

  #prompt({ isPlanning, editing }: Conversation): string {
    return this.#screen.colour.cyan(`${isPlanning ? 'plan ' : ''}${editing === null ? '' : `edit ${editing} `}${PROMPT}`);
  }

  #stop(key: string): void {
    if (this.#turn === null) return;
    this.#turn.abort(new DOMException(`stopped by ${key}`, 'AbortError'));
    this.#screen.editor.takeBack(); // what was queued was meant for another answer
  }

  /** True: the text that was typed goes. */
  #interrupted(typed: string): boolean {
    if (this.#turn !== null) {
      this.#stop('Ctrl-C');
      return false;
    }
    if (typed === '' && this.#isWarned) {
      if (this.#chat === null) this.#screen.editor.takeBack(); // nothing that waits is sent
      this.#screen.editor.close();
      return false;
    }
    const conversation = this.#chat?.opening.conversation;
    if (conversation !== undefined && conversation.editing !== null) {
      conversation.editing = null;
      this.#screen.editor.begin(this.#prompt(conversation));
      return true;
    }
    this.#isWarned = typed === '';
    if (this.#isWarned) this.#screen.writeDim('Ctrl-C again or Ctrl-D leaves');
    return true;
  }

  /** With the number of the question in place of its id, by which people answer it. null: the person has just left that question open here. */
  async #numbered({ text: message, approvalId }: ChannelMessage, slash: SlashCommands, turns: ChatTurns): Promise<string | null> {
    if (approvalId === undefined) return message;
    const open = await query(await slash.all(), ['approvals'], this.signal).catch(() => null); // then its id says which it is
    const question = list(open)
      .map(fields)
      .find(({ id }) => id === approvalId);
    const thread = text(question?.['thread']);
    if (thread !== undefined && (thread === turns.leftOpen || (thread === turns.threadId && this.#asksItself))) return null;
    return Number(question?.['number'] ?? 0) > 0 ? message.replaceAll(approvalId, String(question?.['number'])) : message;
  }
}

/** What a person types to leave. */
const LEAVES = /^\s*(?:exit|quit)\s*$/u;

const MOST = 1000;
const FILE = 'history';

/** What was typed before, one JSON string a line, for this user's eyes only. */
class HistoryFile {
  constructor(
    private readonly folder: StateFolder,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Newest first. */
  async load(): Promise<string[]> {
    try {
      const lines = String(this.folder.read(FILE) ?? '')
        .split('\n')
        .flatMap(parse);
      if (lines.length > 2 * MOST)
        await this.folder.write(
          FILE,
          lines
            .slice(-MOST)
            .map((line) => `${JSON.stringify(line)}\n`)
            .join(''),
        );
      return lines.slice(-MOST).reverse();
    } catch (error) {
      this.onError(error);
      return [];
    }
  }

  add(line: string): void {
    try {
      this.folder.append(FILE, `${JSON.stringify(line)}\n`);
    } catch (error) {
      this.onError(error);
    }
  }
}

function parse(line: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'string' ? [value] : [];
  } catch {
    return []; // a torn last line
  }
}
