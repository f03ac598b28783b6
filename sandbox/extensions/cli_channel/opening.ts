import {
  codeOf,
  ContextProvider,
  PithError,
  type Command,
  type CommandInput,
  type CommandIO,
  type Clock,
  messageOf,
  type Diagnostic,
} from 'pith';
import { printable, printableLine, withCure } from '@pith/plain-text';
import { Conversation, type ChatContext, type Choice } from './conversation.ts';
import { fields, list, pick, query, text } from './commands.ts';
import { localTime } from '@pith/command-line';
import type pc from 'picocolors';
import { renderMarkdown } from './markdown-stream.ts';

export interface PastMessage {
  readonly role: string;
  readonly text: string;
  /** No answer came, so the model does not have it. */
  readonly unanswered: boolean;
}

export interface Opening {
  readonly conversation: Conversation;
  /** The last messages of the thread, oldest first. */
  readonly past: readonly PastMessage[];
  /** What was decided for the person: another conversation than they may think. */
  readonly notes: readonly string[];
  /** The person said which conversation it is, so they come back to it. */
  readonly isNamed: boolean;
  /** How the command line finishes a turn that was cut off; null: none was, or it is finished now. */
  readonly unfinished: string | null;
  /** What to know of another process that works in it now; null: none does. */
  readonly running: string | null;
}

const SHOWN = 6;
const THREAD_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u;

/** Who talks with whom where: from the options, the thread's own agent, the default agent. */
export async function openConversation(
  context: ChatContext,
  commands: readonly Command[],
  input: CommandInput & Pick<CommandIO, 'userId'>,
  signal: AbortSignal,
): Promise<Opening> {
  const named = threadNamed(input);
  const resume = input.options['resume'] === true;
  const continues = input.options['continue'] === true;
  const threadId = named ?? (resume || continues ? await latestThread(commands, resume ? 'resume' : 'continue', signal) : undefined);
  const thread = threadId === undefined ? null : await readThread(commands, threadId, signal);
  if (resume && thread === null)
    throw new PithError('thread_unknown', `nothing to resume: there is no conversation '${threadId}'`, { cure: 'see: pith threads list' });
  const asked = input.options['agent'];
  const agentId = (typeof asked === 'string' ? asked : undefined) ?? thread?.agentId ?? (await defaultAgent(context, commands, signal));
  const model = input.options['model'];
  const given: Choice = typeof model === 'string' ? { model: await namedModel(model, commands, signal) } : {};
  const conversation = new Conversation(context, { agentId, userId: input.userId, threadId, choice: given });
  conversation.begun = thread !== null;
  conversation.choice = { ...thread?.choice, ...given };
  const { model: kept, effort } = thread?.choice ?? {};
  const isKept = (kept !== undefined && given.model === undefined) || effort !== undefined;
  const notes = [
    named === undefined && threadId !== undefined && `continuing conversation ${threadId}`,
    named !== undefined && thread === null && `new conversation ${named}`,
    isKept && (await choiceLine(conversation, commands, signal)),
    ...(await openingLines(context, signal)),
  ];
  return {
    conversation,
    past: thread?.past ?? [],
    isNamed: threadId !== undefined,
    notes: notes.filter((note) => typeof note === 'string'),
    unfinished: (!resume && thread?.unfinished) || null,
    running: thread?.running ?? null,
  };
}

/** As it was named, or completed where exactly one connected server has it. Throws `model_unknown`. */
async function namedModel(model: string, commands: readonly Command[], signal: AbortSignal): Promise<string> {
  try {
    await query(commands, ['model', model], signal);
    return model;
  } catch (error) {
    if (codeOf(error, '') !== 'model_unknown') return model; // the turn says what is wrong
    return text(fields(await query(commands, ['model', model, '--check'], signal))['ref']) ?? model;
  }
}

/** What providers of context show to people; one that fails is left out. */
async function openingLines({ find }: Pick<ChatContext, 'find'>, signal: AbortSignal): Promise<readonly string[]> {
  const lines = await Promise.all(find(ContextProvider).map((provider) => provider.banner?.(signal).catch(() => null)));
  return lines.flatMap((each) => (each ? [printable(each)] : []));
}

/** The thread of `--thread`; absent where none is named. Throws `usage`. */
export function threadNamed(input: CommandInput): string | undefined {
  const named = input.options['thread'];
  if (input.options['continue'] === true && named !== undefined)
    throw new PithError('usage', 'wrong use of --continue: --thread names another conversation', { cure: 'leave one of them out' });
  if (typeof named !== 'string' || THREAD_ID.test(named)) return typeof named === 'string' ? named : undefined;
  throw new PithError('usage', `wrong use of --thread: '${named.slice(0, 80)}' cannot name a conversation`, {
    cure: 'use up to 64 letters, digits, dots, dashes and underscores, with a letter or digit first',
  });
}

/** null: it has no message yet. */
export async function readThread(commands: readonly Command[], threadId: string, signal: AbortSignal) {
  try {
    const thread = await query(commands, ['threads', 'show', threadId, '--last', String(SHOWN)], signal);
    if (thread === null) return null;
    const past = list(fields(thread)['messages']).map((message) => ({
      role: text(fields(message)['role']) ?? '',
      text: text(fields(message)['text']) ?? '',
      unanswered: fields(message)['unanswered'] === true,
    }));
    const { agentId, unfinished, running, model, effort } = fields(thread);
    const choice: Choice = { model: text(model), effort: text(effort) as Choice['effort'] };
    return { agentId: text(agentId), past, unfinished: text(unfinished), running: text(running), choice };
  } catch (error) {
    if (codeOf(error, '') === 'thread_unknown') return null;
    throw error;
  }
}

async function defaultAgent(context: ChatContext, commands: readonly Command[], signal: AbortSignal): Promise<string> {
  const agents = list(await query(commands, ['agents', 'list'], signal)).map(fields);
  const defaultId = await context.agents.defaultId();
  const chosen = agents.find((agent) => agent['id'] === defaultId);
  if (chosen === undefined) {
    const findings = list(fields(await query(commands, ['doctor', '--settings'], signal))['findings']).map(fields);
    const wrong = findings.find(({ code }) => code === 'agent_unknown');
    if (wrong !== undefined) throw new PithError('agent_unknown', text(wrong['message']) ?? '', { cure: text(wrong['cure']) });
  }
  const id = text((chosen ?? agents[0])?.['id']) ?? (await context.agents.list())[0]?.id;
  if (id === undefined)
    throw new PithError('agent_unknown', 'there is no agent to talk with', {
      cure: 'add one as sandbox/agents/<id>/manifest.yaml, or make a sandbox with pith init',
    });
  return id;
}

const LISTED = 10;

/** Threads of people, newest first: those in which agents work for each other or on tasks have a slash in their ids. */
async function listedThreads(commands: readonly Command[], signal: AbortSignal) {
  return list(await query(commands, ['threads', 'list', '--limit', '100'], signal))
    .map(fields)
    .flatMap((thread) => {
      const id = text(thread['id']);
      if (id === undefined || id.includes('/')) return [];
      const branch = text(thread['branchOf']) === undefined ? undefined : /\.(\d+)$/u.exec(id)?.[1];
      return [{ id, title: text(thread['title']) ?? '', branch, updatedAt: Number(thread['updatedAt'] ?? 0) }];
    });
}

/** The newest conversation. Throws `thread_unknown` where there is none; `what`: what cannot be done then. */
async function latestThread(commands: readonly Command[], what: string, signal: AbortSignal): Promise<string> {
  const [newest] = await listedThreads(commands, signal);
  if (newest === undefined) throw noThreads(what);
  return newest.id;
}

function noThreads(what: string): PithError {
  return new PithError('thread_unknown', `nothing to ${what}: there is no conversation yet`, { cure: 'begin one with pith chat' });
}

/** Lets a person choose a conversation from a list; null when they choose none. Throws `thread_unknown` where there is none. */
export async function pickThread(
  commands: readonly Command[],
  { io, clock }: { readonly io: CommandIO; readonly clock: Pick<Clock, 'now'> },
  signal: AbortSignal,
): Promise<string | null> {
  const threads = (await listedThreads(commands, signal)).slice(0, LISTED);
  if (threads.length === 0) throw noThreads('resume');
  const times = threads.map(({ updatedAt }) => localTime(updatedAt, clock.now()));
  const width = Math.max(...times.map((time) => time.length));
  const room = Math.max(20, io.columns - width - 8);
  for (const [place, { title, branch }] of threads.entries()) {
    const mark = branch === undefined ? '' : ` (branch ${branch})`;
    io.print(`${String(place + 1).padStart(3)}  ${times[place]?.padEnd(width)}  ${printableLine(title, room - mark.length)}${mark}`);
  }
  return pick(io, `Go on with which one? [1-${threads.length}, Enter leaves]`, async (typed) => {
    const chosen = threads[Number(typed) - 1];
    if (chosen === undefined) io.print(`Type a number from 1 to ${threads.length}.`);
    return chosen?.id ?? null;
  });
}

type Colours = ReturnType<typeof pc.createColors>;

const LONGEST = 600;

/** Who answers, by which model, how to leave; and how to connect a model where none is. `model`: what the model is called; `asksServer`: a server of models has it. */
export async function firstScreen(
  conversation: Conversation,
  commands: readonly Command[],
  colour: Colours,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly model: string; readonly asksServer: boolean }> {
  const model = await modelOf(conversation, commands, signal);
  const line = `${colour.bold(conversation.agentId)} ${colour.dim(`· ${printableLine(model.text)} · /help shows what you can do, Ctrl-D leaves`)}`;
  const beside = model.offline ? CONNECT : model.unused === null ? '' : `${printable(model.unused)}. /model chooses another.`;
  const below = model.unknown !== null ? colour.yellow(printable(model.unknown)) : beside === '' ? '' : colour.dim(beside);
  return {
    text: below === '' ? `${line}\n` : `${line}\n${below}\n`,
    model: model.text,
    asksServer: model.unknown === null && !model.offline,
  };
}

const CONNECT = 'No model is connected: answers come from the skills alone. /setup adds one.';

/** What an edit broke while the conversation goes on; `what`: whose it is. */
export function problemLine({ message, file, line, cure }: Omit<Diagnostic, 'severity'>, what = ''): string {
  const place = [what, file === undefined || line === undefined ? file : `${file}:${line}`].filter(Boolean).join(' ');
  return printable(withCure(`${place}${place && ': '}${message}`, cure));
}

/** The conversation so far, shortened: what the person wrote as it is, answers as they were shown. */
export function pastLines(past: readonly PastMessage[], colour: Colours, columns: number): readonly string[] {
  return past.map(({ role, text: whole, unanswered }) => {
    const short = whole.length > LONGEST ? `${whole.slice(0, LONGEST)}…` : whole;
    if (unanswered) return `${sentLine(short, colour)}\n${colour.yellow(UNANSWERED)}\n`;
    return role === 'user' ? sentLine(short, colour) : `${renderMarkdown(short, { colour: colour.isColorSupported, columns })}\n`;
  });
}

const UNANSWERED = '  No answer came, so the model does not have this message.';
export const CUT_OFF = 'The last answer was cut off: /resume finishes it, a new message goes on without it';

/** A message as it is left behind once it was sent: its lines are below each other. */
export function sentLine(text: string, colour: Colours): string {
  return colour.dim(`› ${printable(text).replaceAll('\n', '\n  ')}`);
}

/** Why no message can be sent to the model that answers by default: its server is asked. null: one can, or another model answers. */
export async function whyNothingCanBeSent(
  conversation: Speaker,
  commands: readonly Command[],
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const own = await ownModel(conversation, commands, signal);
    if (own === 'default') await query(commands, ['model', '--check'], signal);
    return null;
  } catch (error) {
    return signal.aborted ? null : `No message can be sent: ${messageOf(error)}; /model chooses another model, /setup another server`;
  }
}

/** What answers in a conversation. `unknown`: why that is not known; null where it is. `unused`: that an address of the environment is not asked. */
export async function modelOf(
  conversation: Speaker,
  commands: readonly Command[],
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly offline: boolean; readonly unknown: string | null; readonly unused: string | null }> {
  try {
    const own = await ownModel(conversation, commands, signal);
    const named = commands.filter(({ path }) => path === 'model');
    const answer = fields(await query(named, own === 'default' ? ['model'] : ['model', own], signal)); // 'default' needs no model to be loaded
    const ref = text(answer['ref']) ?? own;
    return { text: ref, offline: ref.startsWith('offline/'), unknown: null, unused: text(answer['unused']) ?? null };
  } catch (error) {
    const chooses = codeOf(error, '') === 'agent_unknown' ? '/agent' : '/model';
    return {
      text: 'no model',
      offline: false,
      unused: null,
      unknown: `${messageOf(error)}; ${chooses} chooses another for this conversation`,
    };
  }
}

/** What answers in a conversation, where that has changed. */
export async function choiceLine(conversation: Speaker, commands: readonly Command[], signal: AbortSignal): Promise<string> {
  const { model, effort } = conversation.choice;
  const found = await modelOf(conversation, commands, signal);
  const parts = [
    `Model: ${printableLine(found.unknown ?? found.text)}${model === undefined ? '' : ` (${CHOSEN_HERE})`}`,
    ...(effort === undefined ? [] : [`thinking effort ${effort}`]),
  ];
  return parts.join(', ');
}

export const CHOSEN_HERE = 'chosen in this conversation';

type Speaker = Pick<Conversation, 'choice' | 'agentId'>;

/** The model of the conversation, else of its agent, as it was named. */
async function ownModel({ choice: { model }, agentId }: Speaker, commands: readonly Command[], signal: AbortSignal): Promise<string> {
  return model ?? text(fields(await query(commands, ['agents', 'show', agentId], signal))['model']) ?? 'default';
}
