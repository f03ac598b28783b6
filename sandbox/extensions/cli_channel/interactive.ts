import pc from 'picocolors';
import { messageOf, type CommandIO } from 'pith';
import { printable, printablePainted, wrapLines } from '@pith/plain-text';
import { stateFolder } from '@pith/safe-files';
import { answerOf } from './answer-words.ts';
import { completeLine } from './query.ts';
import type { ChatContext } from './conversation.ts';
import { firstScreen, pastLines, problemLine } from './first-screen.ts';
import { HistoryFile } from './history-file.ts';
import { LineEditor } from './line-editor.ts';
import type { Opening } from './opening.ts';
import { Outbox, SlashCommands } from './slash-commands.ts';
import { Questions } from './questions.ts';
import { widthOf, type Terminal } from './terminal.ts';
import type { Terminals } from './terminals.ts';
import { TurnView } from './turn-view.ts';
import { typedHints } from './typed-hints.ts';

export interface InteractiveChat {
  readonly context: ChatContext;
  readonly opening: Opening;
  readonly resume: boolean;
  readonly terminal: Terminal;
  readonly terminals: Terminals;
  readonly io: CommandIO;
}

/** Talks until Ctrl-D, `/quit`, Ctrl-C twice or the end of the process is asked for. */
export async function chatInteractively(chat: InteractiveChat, signal: AbortSignal): Promise<number> {
  const { context, opening, terminal, terminals, io } = chat;
  const { conversation } = opening;
  const colour = pc.createColors(io.colour);
  const write = (text: string) => void terminal.output.write(`${wrapLines(printablePainted(text), widthOf(terminal))}\n`);
  const slash = new SlashCommands(context, conversation, (line) => terminal.output.write(`${line}\n`));
  const history = new HistoryFile(stateFolder(context.dataDirectory), (error) =>
    context.logger.warn('history not kept', { reason: messageOf(error) }),
  );
  const outbox = new Outbox();
  let paths: readonly string[] = [];
  const hint = (text: string) => typedHints(text, paths);
  const view = new TurnView({ terminal, clock: context.clock, colour: io.colour, quiet: io.quiet, hint, asks: true });
  let turn: AbortController | null = null;
  let commanding = false;
  let warned = false;

  const editor = new LineEditor({
    terminal,
    history: await history.load(),
    complete: async (line) => completeLine(line, await slash.all(), signal),
    interrupted(line) {
      if (turn) return turn.abort(new DOMException('stopped by Ctrl-C', 'AbortError'));
      if (line === '' && warned) return editor.close();
      warned = line === '';
      if (warned) write(colour.dim('\nCtrl-C again or Ctrl-D leaves'));
      editor.again();
    },
  });
  const leave = () => {
    turn?.abort(signal.reason);
    editor.close();
  };
  signal.addEventListener('abort', leave, { once: true });
  const pending: string[] = [];
  const tell = () => {
    for (const text of pending.splice(0)) write(colour.yellow(text));
  };
  const show = (text: string) => {
    pending.push(text);
    if (turn !== null) return; // it would tear the answer
    write('');
    tell();
    editor.again();
  };
  const closeTerminal = terminals.open({
    get threadId() {
      return conversation.threadId;
    },
    show: ({ text }) => show(hint(printable(text).replaceAll('\n', '\n  '))), // indented, so that no line of it looks like one of Pith's
  });
  const offFailures = context.events.handle('extension.failed', (failure) => {
    if (failure.phase === 'reload' && !commanding) show(problemLine(failure, failure.extensionId)); // a command says what it broke
  });
  const offProblems = context.events.handle('problem.found', (problem) => {
    view.know(problem);
    show(problemLine(problem));
  });
  const slashIO = (): CommandIO => ({
    ...io,
    print: write,
    error: (text) => write(colour.red(printable(text))),
    columns: widthOf(terminal),
    ask: (question, { choices, secret } = {}) =>
      secret
        ? editor.ask(`${printable(question)} `, turn?.signal ?? signal, true)
        : askAgain({ editor, say: (line) => write(colour.dim(line)) }, printable(question), choices),
    session: outbox.session(conversation),
  });
  const run = async (work: (abort: AbortSignal) => Promise<unknown>): Promise<void> => {
    turn = new AbortController();
    if (signal.aborted) turn.abort(signal.reason);
    try {
      await work(turn.signal);
    } finally {
      turn = null;
      warned = false;
      tell();
    }
  };
  const command = async (line: string, abort: AbortSignal) => {
    commanding = true;
    const asked = questions.namedIn(line);
    const run = asked === null ? slash.run(line, slashIO(), abort) : questions.askOne(asked, abort);
    await run.finally(() => (commanding = false));
    const sent = outbox.take();
    if (sent !== null && !slash.left && !abort.aborted) {
      for (const said of pastLines([{ role: 'user', text: sent }], colour)) write(said);
      return say(sent, abort);
    }
    if (!slash.left && !abort.aborted) await catchUp(abort).catch(() => undefined); // /approvals says why
  };
  const questions = new Questions({
    editor,
    commands: () => slash.all(),
    io: () => ({ ...slashIO(), print: (line) => write(hint(line)) }),
    dim: colour.dim,
    prompt: colour.yellow,
    rows: () => terminal.output.rows ?? 0,
    async slash(line, abort) {
      if (!slash.covers(line)) return 'no command';
      await slash.run(line, slashIO(), abort);
      if (outbox.take() !== null) write(colour.dim('Nothing was sent: answer the question first'));
      return slash.left ? 'left' : 'done';
    },
  });
  /** The thread whose question the person left open. */
  let leftOpen: string | null = null;
  const say = async (text: string | null, abort: AbortSignal) => {
    leftOpen = null;
    for (let words = text; ; words = null) {
      let waits = false;
      for await (const event of conversation.say(words, abort)) {
        view.show(event);
        waits = event.type === 'turn-end' && event.reason === 'awaiting_approval';
      }
      if (waits && (await questions.ask(conversation.threadId, abort))) continue;
      if (waits) leftOpen = conversation.threadId;
      break;
    }
    write('');
  };
  /** A person who says go in plan mode may mean that it is over. */
  const leavePlan = async (abort: AbortSignal) => {
    const answer = await editor.choose(colour.yellow('Leave plan mode and carry out the plan? [y]es, [n]o '), 'yn', abort);
    if (answer !== null && answerOf(answer) === 'y') conversation.isPlanning = false;
  };
  /** Asks what is open in the conversation, and goes on with it when that has been answered. */
  const catchUp = async (abort: AbortSignal) => {
    const { threadId } = conversation;
    const isOpen = (await questions.openIn(threadId, abort)).length > 0;
    if (isOpen ? leftOpen !== threadId && (await questions.ask(threadId, abort)) : leftOpen === threadId) return say(null, abort);
    leftOpen = isOpen ? threadId : null;
  };

  try {
    const commands = await slash.all();
    paths = commands.map(({ path }) => path);
    write(await firstScreen(conversation, commands, colour, signal));
    if (!io.quiet && opening.notes.length > 0) write(colour.dim(`${opening.notes.join('\n')}\n`));
    for (const line of pastLines(opening.past, colour)) write(line);
    context.events.publish('channel.opened', { extensionId: context.id });
    if (chat.resume) await run((abort) => say(null, abort));
    else if (conversation.begun) await run((abort) => catchUp(abort).catch(() => undefined)); // /approvals says why
    while (!slash.left && !signal.aborted) {
      const line = await editor.next(colour.cyan(conversation.isPlanning ? 'plan › ' : '› '));
      if (line === null) break;
      if (line.trim() === '') continue;
      history.add(line);
      await run(async (abort) => {
        if (slash.covers(line)) return command(line, abort);
        if (conversation.isPlanning && /^go[.!]?$/iu.test(line.trim())) await leavePlan(abort);
        return say(line, abort);
      });
    }
  } finally {
    signal.removeEventListener('abort', leave);
    offFailures();
    offProblems();
    closeTerminal();
    editor.close();
  }
  if (conversation.begun) write(colour.dim(`\nGo on later with: pith chat --thread ${conversation.threadId}`));
  return signal.aborted ? 130 : 0;
}

/** Until the answer is one of the choices, or is the only one to begin so; null when the input ends. */
async function askAgain(
  { editor, say }: { readonly editor: LineEditor; say(line: string): void },
  question: string,
  choices?: readonly string[],
): Promise<string | null> {
  for (;;) {
    const answer = await editor.next(choices ? `${question} [${choices.join('/')}] ` : `${question} `);
    if (answer === null || !choices) return answer?.trim() ?? null;
    const wanted = answer.trim().toLowerCase();
    const begun = choices.filter((choice) => wanted !== '' && choice.toLowerCase().startsWith(wanted));
    const chosen = choices.find((choice) => choice.toLowerCase() === wanted) ?? (begun.length === 1 ? begun[0] : undefined);
    if (chosen !== undefined) return chosen;
    say(`That is no answer: type ${choices.join(' or ')}`);
  }
}
