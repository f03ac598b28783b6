import { messageOf, Places, SkillProvider, type ChannelMessage, type CommandIO } from 'pith';
import { isInside, realPathOf, stateFolder } from '@pith/safe-files';
import { ChatScreen } from './chat-screen.ts';
import { ChatStatus } from './chat-status.ts';
import { ChatTurns } from './chat-turns.ts';
import { complete } from './completion.ts';
import type { ChatContext } from './conversation.ts';
import { firstScreen, pastLines, problemLine } from './first-screen.ts';
import { HistoryFile } from './history-file.ts';
import type { Opening } from './opening.ts';
import { ProjectPaths } from './project-paths.ts';
import { fields, list, query, text } from './query.ts';
import { SlashCommands } from './slash-commands.ts';
import type { Terminal } from './terminal.ts';
import type { Terminals } from './terminals.ts';
import { TurnSteps } from './turn-steps.ts';

export interface InteractiveOptions {
  readonly context: ChatContext;
  readonly opening: Opening;
  readonly resume: boolean;
  readonly terminal: Terminal;
  readonly terminals: Terminals;
  readonly io: CommandIO;
  /** Nothing is drawn again, and nothing coloured. */
  readonly plain?: boolean;
}

/** Talks until Ctrl-D, `/exit`, Ctrl-C twice or the end of the process is asked for. */
export async function chatInteractively(options: InteractiveOptions, signal: AbortSignal): Promise<number> {
  const { context, plain = false } = options;
  const history = new HistoryFile(stateFolder(context.dataDirectory), (error) =>
    context.logger.warn('history not kept', { reason: messageOf(error) }),
  );
  const chat = new InteractiveChat({ ...options, plain, history, past: await history.load() }, signal);
  await chat.talk();
  return signal.aborted ? 130 : 0;
}

type ChatOptions = InteractiveOptions & {
  readonly history: HistoryFile;
  /** Of the history, newest first. */
  readonly past: readonly string[];
};

/** A conversation at a terminal: reads lines, runs what they lead to one at a time, and lets the keys stop it. */
class InteractiveChat {
  readonly #slash: SlashCommands;
  readonly #screen: ChatScreen;
  readonly #turns: ChatTurns;
  /** Of what a line led to; null while the next line is awaited. */
  #turn: AbortController | null = null;
  /** Ctrl-C was pressed on an empty line. */
  #isWarned = false;

  constructor(
    private readonly options: ChatOptions,
    private readonly signal: AbortSignal,
  ) {
    const { context, opening, terminal, past, plain = false } = options;
    const io = plain ? { ...options.io, colour: false } : options.io;
    const { conversation } = opening;
    const steps = new TurnSteps();
    const raw = (line: string) => this.#screen.editor.write(`${line}\n`);
    this.#slash = new SlashCommands(context, conversation, raw, {
      clear: () => this.#screen.editor.clearScreen(),
      steps: () => steps.all,
    });
    const files = new ProjectPaths(io.workingDirectory, isTrusted(context, io.workingDirectory), context.clock);
    const sources = {
      commands: () => this.#slash.all(),
      skills: () => skillNames(context, conversation.agentId),
      files: (abort: AbortSignal) => files.list(abort),
    };
    this.#screen = new ChatScreen({
      terminal,
      io,
      plain,
      history: past,
      complete: (typed, cursor) => complete(typed, cursor, sources, signal),
      interrupted: (typed) => this.#interrupted(typed),
      escaped: () => this.#stop('Esc'),
    });
    const { clock } = context;
    const parts = { conversation, slash: this.#slash, steps, screen: this.#screen, terminal, clock, io };
    this.#turns = new ChatTurns(parts, () => this.#turn?.signal ?? signal);
  }

  async talk(): Promise<void> {
    const { conversation } = this.options.opening;
    const close = this.#open();
    try {
      await this.#begin();
      for (;;) {
        if (this.#slash.left || this.signal.aborted) break;
        const { editor, colour } = this.#screen;
        const line = await editor.next(colour.cyan(conversation.isPlanning ? 'plan › ' : '› '));
        if (line === null || /^\s*(?:exit|quit)\s*$/u.test(line)) break;
        if (line.trim() === '') continue;
        this.options.history.add(line);
        await this.#run((abort) => this.#turns.take(line, abort));
      }
    } finally {
      close();
    }
    if (conversation.begun) this.#screen.writeDim(`Go on later with: pith chat --thread ${conversation.threadId}`);
  }

  /** Listens to what others report; returns what ends that. */
  #open(): () => void {
    const { context, opening, terminals } = this.options;
    const leave = () => {
      this.#turn?.abort(this.signal.reason);
      this.#screen.editor.close();
    };
    this.signal.addEventListener('abort', leave, { once: true });
    const offs = [
      terminals.open({
        get threadId() {
          return opening.conversation.threadId;
        },
        show: (message) => void this.#numbered(message).then((shown) => shown !== null && this.#screen.notify(shown)),
      }),
      context.events.handle('extension.failed', (failure) => {
        if (failure.phase !== 'reload' || this.#turns.isCommanding) return; // a command says what it broke
        this.#screen.notify(problemLine(failure, failure.extensionId));
      }),
      context.events.handle('problem.found', (problem) => {
        this.#turns.know(problem);
        this.#screen.notify(problemLine(problem));
      }),
    ];
    return () => {
      this.signal.removeEventListener('abort', leave);
      for (const off of offs) off();
      this.#screen.status?.close();
      this.#screen.editor.close();
    };
  }

  /** The first screen, the last messages, and the questions that are still open. */
  async #begin(): Promise<void> {
    const { context, opening, terminals, io, plain = false, resume } = this.options;
    const { conversation } = opening;
    const screen = this.#screen;
    const commands = await this.#slash.all();
    screen.paths = commands.map(({ path }) => path);
    const first = await firstScreen(conversation, commands, screen.colour, this.signal);
    screen.write(first.text);
    const changed = () => screen.editor.redraw();
    const status = { conversation, terminals, commands: () => this.#slash.all(), changed };
    if (!plain) screen.status = new ChatStatus(context, status, first.model);
    screen.status?.refresh();
    if (!io.quiet && opening.notes.length > 0) screen.writeDim(`${opening.notes.join('\n')}\n`);
    for (const line of pastLines(opening.past, screen.colour, screen.columns)) screen.write(line);
    context.events.publish('channel.opened', { extensionId: context.id });
    if (resume) await this.#run((abort) => this.#turns.resume(abort));
    else if (conversation.begun) await this.#run((abort) => this.#turns.catchUp(abort));
  }

  async #run(work: (abort: AbortSignal) => Promise<unknown>): Promise<void> {
    const turn = new AbortController();
    this.#turn = turn;
    this.#screen.isAnswering = true;
    if (this.signal.aborted) turn.abort(this.signal.reason);
    try {
      await work(turn.signal);
    } finally {
      this.#turn = null;
      this.#isWarned = false;
      this.#screen.isAnswering = false;
      this.#screen.printNotices();
    }
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
      this.#screen.editor.close();
      return false;
    }
    this.#isWarned = typed === '';
    if (this.#isWarned) this.#screen.writeDim('Ctrl-C again or Ctrl-D leaves');
    return true;
  }

  /** With the number of the question in place of its id, by which people answer it. null: the person has just left that question open here. */
  async #numbered({ text: message, approvalId }: ChannelMessage): Promise<string | null> {
    if (approvalId === undefined) return message;
    const open = await query(await this.#slash.all(), ['approvals', 'list'], this.signal).catch(() => null); // then its id says which it is
    const question = list(open ?? [])
      .map(fields)
      .find(({ id }) => text(id) === approvalId);
    if (question !== undefined && text(question['thread']) === this.#turns.leftOpen) return null;
    return Number(question?.['number'] ?? 0) > 0 ? message.replaceAll(approvalId, String(question?.['number'])) : message;
  }
}

async function skillNames(context: ChatContext, agentId: string): Promise<readonly string[]> {
  try {
    const agent = await context.agents.find(agentId);
    return (await Promise.all(context.find(SkillProvider).map((provider) => provider.readableSkills?.(agent) ?? []))).flat();
  } catch {
    return []; // a message says what is wrong with the agent
  }
}

/** Whether the person agreed that the folder is used as a project. */
function isTrusted(context: ChatContext, folder: string): boolean {
  return context.find(Places).some(({ project }) => project !== null && isInside(realPathOf(folder), project));
}
