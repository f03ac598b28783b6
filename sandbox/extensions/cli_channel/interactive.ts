import pc from 'picocolors';
import { messageOf, Places, SkillProvider, type ChannelMessage, type CommandIO } from 'pith';
import { printable, printablePainted, wrapLines } from '@pith/plain-text';
import { isInside, realPathOf, stateFolder } from '@pith/safe-files';
import { answerOf } from './answer-words.ts';
import { askPerson } from './ask-person.ts';
import { ChatStatus } from './chat-status.ts';
import { complete, suggestsAt } from './completion.ts';
import type { ChatContext, Sent } from './conversation.ts';
import { mentionedFiles } from './file-mentions.ts';
import { firstScreen, pastLines, problemLine } from './first-screen.ts';
import { HistoryFile } from './history-file.ts';
import { openEditor } from './line-editor.ts';
import { noticeBlock } from './notice-block.ts';
import type { Opening } from './opening.ts';
import { ProjectPaths } from './project-paths.ts';
import { fields, list, query, text } from './query.ts';
import { Questions } from './questions.ts';
import { Outbox, SlashCommands } from './slash-commands.ts';
import { widthOf, type Terminal } from './terminal.ts';
import type { Terminals } from './terminals.ts';
import { TurnSteps } from './turn-steps.ts';
import { TurnView } from './turn-view.ts';
import { typedHints } from './typed-hints.ts';

export interface InteractiveChat {
  readonly context: ChatContext;
  readonly opening: Opening;
  readonly resume: boolean;
  readonly terminal: Terminal;
  readonly terminals: Terminals;
  readonly io: CommandIO;
  /** Nothing is drawn again, and nothing coloured. */
  readonly plain?: boolean;
}

/** Lines below the prompt while something is awaited: what it is, and ten of its output. */
const LIVE_ROWS = 11;

/** Talks until Ctrl-D, `/exit`, Ctrl-C twice or the end of the process is asked for. */
export async function chatInteractively(chat: InteractiveChat, signal: AbortSignal): Promise<number> {
  const { context, opening, terminal, terminals, plain = false } = chat;
  const io = plain ? { ...chat.io, colour: false } : chat.io;
  const { conversation } = opening;
  const colour = pc.createColors(io.colour);
  const write = (line: string) => editor.write(`${wrapLines(printablePainted(line), widthOf(terminal))}\n`);
  const steps = new TurnSteps();
  const slash = new SlashCommands(context, conversation, (line) => editor.write(`${line}\n`), {
    clear: () => editor.clearScreen(),
    steps: () => steps.all,
  });
  const history = new HistoryFile(stateFolder(context.dataDirectory), (error) =>
    context.logger.warn('history not kept', { reason: messageOf(error) }),
  );
  const files = new ProjectPaths(io.workingDirectory, isTrusted(context, io.workingDirectory), context.clock);
  const outbox = new Outbox();
  let paths: readonly string[] = [];
  const hint = (line: string) => typedHints(line, paths);
  let live: readonly string[] = [];
  let turn: AbortController | null = null;
  let status: ChatStatus | null = null;
  let commanding = false;
  let warned = false;

  const stop = (key: string) => {
    turn?.abort(new DOMException(`stopped by ${key}`, 'AbortError'));
    editor.takeBack(); // what was queued was meant for another answer
  };
  const sources = {
    commands: () => slash.all(),
    skills: () => skillNames(context, conversation.agentId),
    files: (abort: AbortSignal) => files.list(abort),
  };
  const editor = openEditor(
    {
      terminal,
      history: await history.load(),
      complete: (typed, cursor) => complete(typed, cursor, sources, signal),
      suggests: suggestsAt,
      isAnswer: (word) => answerOf(word) !== null,
      interrupted(typed) {
        if (turn) stop('Ctrl-C');
        else if (typed === '' && warned) editor.close();
        else {
          warned = typed === '';
          if (warned) write(colour.dim('Ctrl-C again or Ctrl-D leaves'));
          return true;
        }
        return false;
      },
      escaped() {
        if (turn) stop('Esc');
      },
      above: () => live,
      below: (columns) => [status?.line(columns) ?? ''].filter((line) => line !== '').map(colour.dim),
      dim: colour.dim,
    },
    plain,
  );
  const pending: string[] = [];
  const tell = () => {
    for (const block of pending.splice(0)) editor.write(`${block}\n`);
  };
  const show = (message: string) => {
    pending.push(noticeBlock(hint(message), colour.yellow('●'), { colour: io.colour, columns: widthOf(terminal) }));
    if (turn === null) tell(); // else it waits until the answer pauses
    status?.refresh();
  };
  const surface = {
    write: (part: string) => editor.write(part),
    live(rows: readonly string[]) {
      live = rows;
      editor.again();
    },
    liveRows: plain ? 0 : LIVE_ROWS,
  };
  const view = new TurnView({
    terminal,
    clock: context.clock,
    colour: io.colour,
    quiet: io.quiet,
    hint,
    asks: true,
    surface,
    paused: tell,
  });
  const leave = () => {
    turn?.abort(signal.reason);
    editor.close();
  };
  signal.addEventListener('abort', leave, { once: true });
  const closeTerminal = terminals.open({
    get threadId() {
      return conversation.threadId;
    },
    show: (message) => void numbered(message).then(show),
  });
  /** With the number of the question in place of its id, by which people answer it. */
  const numbered = async ({ text: said, approvalId }: ChannelMessage): Promise<string> => {
    if (approvalId === undefined) return said;
    const open = await query(await slash.all(), ['approvals', 'list'], signal).catch(() => null); // then its id says which it is
    const at = list(open ?? []).findIndex((question) => text(fields(question)['id']) === approvalId);
    return at < 0 ? said : said.replaceAll(approvalId, String(at + 1));
  };
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
    error: (line) => write(colour.red(printable(line))),
    columns: widthOf(terminal),
    ask: (question, { choices, secret } = {}) =>
      askPerson(editor, { question: printable(question), choices, secret, say: (line) => write(colour.dim(line)) }, turn?.signal ?? signal),
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
  /** With the files that `typed` names, and what a command loaded. */
  const send = async (input: string, typed: string, abort: AbortSignal) => {
    const { attachments, lines } = await mentionedFiles(typed, io.workingDirectory);
    for (const { ok, text: line } of lines) write(`${ok ? colour.green('✓') : colour.yellow('!')} ${printable(line)}`);
    const all = [...slash.takeAttachments(), ...attachments];
    return say(all.length === 0 ? input : { input, attachments: all }, abort);
  };
  const command = async (line: string, abort: AbortSignal) => {
    commanding = true;
    const asked = questions.namedIn(line);
    const run = asked === null ? slash.run(line, slashIO(), abort) : questions.askOne(asked, abort);
    await run.finally(() => (commanding = false));
    const sent = outbox.take();
    if (sent !== null && !slash.left && !abort.aborted) {
      for (const said of pastLines([{ role: 'user', text: sent }], colour)) write(said);
      return send(sent, line, abort);
    }
    status?.refresh();
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
  const say = async (words: string | Sent | null, abort: AbortSignal) => {
    leftOpen = null;
    for (let next = words; ; next = null) {
      let waits = false;
      for await (const event of conversation.say(next, abort)) {
        steps.observe(event);
        status?.observe(event);
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
    const first = await firstScreen(conversation, commands, colour, signal);
    write(first.text);
    const changed = () => editor.again();
    if (!plain) status = new ChatStatus(context, { conversation, terminals, commands: () => slash.all(), changed }, first.model);
    status?.refresh();
    if (!io.quiet && opening.notes.length > 0) write(colour.dim(`${opening.notes.join('\n')}\n`));
    for (const line of pastLines(opening.past, colour)) write(line);
    context.events.publish('channel.opened', { extensionId: context.id });
    if (chat.resume) await run((abort) => say(null, abort));
    else if (conversation.begun) await run((abort) => catchUp(abort).catch(() => undefined)); // /approvals says why
    while (!slash.left && !signal.aborted) {
      const line = await editor.next(colour.cyan(conversation.isPlanning ? 'plan › ' : '› '));
      if (line === null || /^\s*(?:exit|quit)\s*$/u.test(line)) break;
      if (line.trim() === '') continue;
      history.add(line);
      await run(async (abort) => {
        if (slash.covers(line)) return command(line, abort);
        if (conversation.isPlanning && /^go[.!]?$/iu.test(line.trim())) await leavePlan(abort);
        return send(line, line, abort);
      });
    }
  } finally {
    signal.removeEventListener('abort', leave);
    offFailures();
    offProblems();
    closeTerminal();
    status?.close();
    editor.close();
  }
  if (conversation.begun) write(colour.dim(`Go on later with: pith chat --thread ${conversation.threadId}`));
  return signal.aborted ? 130 : 0;
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
