import type { Clock, CommandIO, Diagnostic } from 'pith';
import { printable } from '@pith/plain-text';
import { branch } from './branch-commands.ts';
import type { ChatScreen } from './chat-screen.ts';
import { errorLine } from './commands.ts';
import type { Conversation, Sent } from './conversation.ts';
import type { Image } from './clipboard-image.ts';
import { mentionedFiles } from './file-mentions.ts';
import { sentLine } from './opening.ts';
import { ownCommandOf, runOwnCommand, whyNotRun } from './own-command.ts';
import { Questions } from './questions.ts';
import type { SlashCommands } from './slash-commands.ts';
import type { Terminal } from './terminal.ts';
import type { TurnSteps } from './step-line.ts';
import { TurnView } from './turn-view.ts';

export interface TurnsOptions {
  readonly conversation: Conversation;
  readonly slash: SlashCommands;
  readonly steps: TurnSteps;
  readonly screen: ChatScreen;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly io: CommandIO;
  /** By the words that stand for them in a message. */
  readonly images: ReadonlyMap<string, Image>;
}

/** What a person's lines lead to: messages with their turns and the questions of tools, and commands. */
export class ChatTurns {
  readonly #view: TurnView;
  readonly #questions: Questions;
  #leftOpen: string | null = null;
  /** The message that was not sent because a file could not go along; the same once more is sent. */
  #notSent = '';
  /** What the person ran, for their next message. */
  #ran: { readonly threadId: string; readonly attachment: Sent['attachments'][number] }[] = [];
  /** A command runs: it reports itself what it breaks. */
  isCommanding = false;

  constructor(
    private readonly options: TurnsOptions,
    /** Ends with the turn, or with the chat where there is none. */
    private readonly signal: () => AbortSignal,
  ) {
    const { slash, screen, terminal, clock, io } = options;
    this.#view = new TurnView({
      terminal,
      clock,
      colour: io.colour,
      quiet: io.quiet,
      hint: (text) => screen.hint(text),
      asks: true,
      surface: screen.surface,
      paused: () => screen.printNotices(),
    });
    this.#questions = new Questions({
      screen,
      commands: () => slash.all(),
      io: () => this.#io(),
      slash: (line, signal) => this.#commandAtQuestion(line, signal),
    });
  }

  get threadId(): string {
    return this.options.conversation.threadId;
  }

  /** The thread whose question the person left open. */
  get leftOpen(): string | null {
    return this.#leftOpen;
  }

  /** It has been shown elsewhere: no notice shows it again. */
  know(problem: Diagnostic): void {
    this.#view.know(problem);
  }

  /** A line of the person. */
  async take(line: string, signal: AbortSignal): Promise<void> {
    const { slash, conversation } = this.options;
    if (slash.covers(line)) return this.#command(line, signal);
    const own = ownCommandOf(line);
    if (own !== null) return this.#runOwn(own, signal);
    if (conversation.isPlanning && /^go[.!]?$/iu.test(line.trim()) && !(await this.#leavePlan())) return;
    return this.#send({ input: line, skills: [] }, line, signal);
  }

  /** Goes on with a turn that was interrupted. */
  async resume(signal: AbortSignal): Promise<void> {
    await this.#runTurns(null, signal);
  }

  /** Asks what is open in the conversation, and goes on with it when that has been answered. Never rejects. */
  async catchUp(signal: AbortSignal): Promise<void> {
    const { threadId } = this.options.conversation;
    try {
      const isOpen = (await this.#questions.openIn(threadId, signal)).length > 0;
      const isAnswered = isOpen && this.#leftOpen !== threadId && (await this.#questions.ask(threadId, signal));
      if (isAnswered || (!isOpen && this.#leftOpen === threadId)) return void (await this.#runTurns(null, signal));
      if (this.threadId !== threadId) return await this.catchUp(signal);
      this.#leftOpen = isOpen ? threadId : null;
    } catch {
      // the command /approvals shows why
    }
  }

  async #runOwn(command: string, signal: AbortSignal): Promise<void> {
    const { screen, io, clock } = this.options;
    const why = whyNotRun(command, io.workingDirectory);
    if (why !== null) return screen.writeDim(why);
    const place = { folder: io.workingDirectory, clock, write: (text: string) => screen.editor.write(text) };
    const { attachment, ending } = await runOwnCommand(command, place, signal);
    this.#ran.push({ threadId: this.threadId, attachment });
    screen.writeDim(`${ending}; it goes with your next message\n`);
  }

  #io(): CommandIO {
    return this.options.screen.commandIO(this.signal(), this.options.slash.session());
  }

  /** With the files that `typed` names. Where one cannot go along, the message comes back into the editor. */
  async #send({ input, skills }: Pick<Sent, 'input' | 'skills'>, typed: string, signal: AbortSignal): Promise<void> {
    const { io, screen, conversation } = this.options;
    const { attachments, lines } = await mentionedFiles(typed, io.workingDirectory);
    const { green, yellow } = screen.colour;
    for (const { outcome, text } of lines) screen.write(`${outcome === 'attached' ? green('✓') : yellow('!')} ${printable(text)}`);
    const fails = lines.some(({ outcome }) => outcome !== 'attached' && outcome !== 'word');
    if (fails && typed !== this.#notSent) {
      this.#notSent = typed;
      screen.writeDim('Not sent: change the message, or send it once more as it is');
      return screen.editor.takeBack(typed);
    }
    this.#notSent = '';
    const before = this.threadId;
    if (conversation.editing !== null && !(await this.#branch(typed, signal))) return;
    const ran = this.#ran.splice(0).flatMap(({ threadId, attachment }) => (threadId === before ? attachment : []));
    const shown = [...this.options.images].flatMap(([words, image]) => (typed.includes(words) ? { name: words, image } : []));
    if (await this.#runTurns({ input, attachments: [...ran, ...attachments, ...shown], skills }, signal)) return;
    this.#ran.push(...ran.map((attachment) => ({ threadId: before, attachment })));
    screen.editor.takeBack(typed);
  }

  /** Goes on in a branch, where the message takes the place of the one that was edited. False: there is none, and the message is back in the editor. */
  async #branch(typed: string, signal: AbortSignal): Promise<boolean> {
    const { conversation, slash, screen } = this.options;
    try {
      screen.writeDim(await branch(conversation, await slash.all(), [], signal));
      return true;
    } catch (error) {
      screen.write(screen.colour.red(errorLine(error)));
      screen.editor.takeBack(typed);
      return false;
    }
  }

  async #command(line: string, signal: AbortSignal): Promise<void> {
    const { slash, screen } = this.options;
    this.isCommanding = true;
    const asked = this.#questions.namedIn(line);
    const run = asked === null ? slash.run(line, this.#io(), signal) : this.#questions.askOne(asked, signal);
    await run.finally(() => (this.isCommanding = false));
    const sent = slash.takeMessage();
    if (slash.left || signal.aborted) return;
    if (sent === 'resume') return this.resume(signal);
    if (sent === null) {
      screen.status?.refresh();
      return this.catchUp(signal);
    }
    screen.write(sentLine(sent.input, screen.colour));
    return this.#send(sent, line, signal);
  }

  /** A slash command that is typed in the place of an answer. */
  async #commandAtQuestion(line: string, signal: AbortSignal): Promise<'done' | 'no command' | 'left'> {
    const { slash, screen } = this.options;
    if (!slash.covers(line)) return 'no command';
    const { threadId } = this;
    await slash.run(line, this.#io(), signal);
    if (slash.takeMessage() !== null) screen.writeDim('Nothing was sent: answer the question first');
    return slash.left || this.threadId !== threadId ? 'left' : 'done';
  }

  /** False: the turn did not begin, so the conversation does not have the message. */
  async #runTurns(message: Sent | null, signal: AbortSignal): Promise<boolean> {
    const { conversation, steps, screen } = this.options;
    const { threadId } = conversation;
    this.#leftOpen = null;
    let begun = false;
    for (let next = message; ; next = null) {
      let isAsked = false;
      for await (const event of conversation.runTurn(next, signal)) {
        begun ||= event.type === 'turn-start';
        steps.observe(event);
        screen.status?.observe(event);
        this.#view.show(event);
        isAsked = event.type === 'turn-end' && event.reason === 'awaiting_approval';
      }
      if (isAsked && (await this.#questions.ask(threadId, signal))) continue;
      if (this.threadId !== threadId) {
        await this.catchUp(signal);
        return begun;
      }
      if (isAsked) this.#leftOpen = threadId;
      break;
    }
    screen.write('');
    return begun;
  }

  /** A person who says go in plan mode may mean that it is over. False: they did not. */
  async #leavePlan(): Promise<boolean> {
    const isOver = (await this.#io().ask('Leave plan mode and carry out the plan?', { choices: ['yes', 'no'] })) === 'yes';
    if (isOver) this.options.conversation.isPlanning = false;
    return isOver;
  }
}
