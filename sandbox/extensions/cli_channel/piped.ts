import type { Clock, CommandIO, TurnEvent } from 'pith';
import { untilAborted } from './abortable.ts';
import type { ChatContext, Conversation } from './conversation.ts';
import { eventLine } from './event-line.ts';
import type { Opening } from './opening.ts';
import { Outbox } from './outbox.ts';
import { PlainView } from './plain-view.ts';
import { SlashCommands } from './slash-commands.ts';
import type { Terminal } from './terminal.ts';
import { TurnView } from './turn-view.ts';

export interface PipedChat {
  readonly context: ChatContext;
  readonly opening: Opening;
  readonly resume: boolean;
  readonly messages: Iterable<string> | AsyncIterable<string>;
  /** False: a message that begins with a slash is one too. */
  readonly commands?: boolean;
  readonly terminal: Terminal;
  readonly io: CommandIO;
}

const INTERRUPTED = 130;

/** One turn a message, until the messages end. Exit code 1 when a turn failed or waits for approval, 130 when one was aborted. */
export async function chatThroughPipe(chat: PipedChat, signal: AbortSignal): Promise<number> {
  const { context, opening, io } = chat;
  const { conversation } = opening;
  const view = viewOf(chat, context.clock);
  const slash = new SlashCommands(context, conversation);
  const outbox = new Outbox();
  let code = 0;
  if (chat.resume) code = await turn(conversation, null, view, signal);
  for await (const line of untilAborted(chat.messages, signal)) {
    if (line.trim() === '') continue;
    const isCommand = chat.commands !== false && slash.covers(line);
    let done = isCommand ? await slash.run(line, { ...io, colour: false, session: outbox.session(conversation) }, signal) : 0;
    const message = isCommand ? outbox.take() : line;
    if (message !== null && !slash.left && !signal.aborted) done = Math.max(done, await turn(conversation, message, view, signal));
    code = Math.max(code, done);
    if (slash.left || done === INTERRUPTED) break;
  }
  return signal.aborted ? INTERRUPTED : code;
}

async function turn(
  conversation: Conversation,
  text: string | null,
  view: { show(event: TurnEvent): void },
  signal: AbortSignal,
): Promise<number> {
  let code = 1; // a turn that ends without saying how has failed
  for await (const event of conversation.say(text, signal)) {
    view.show(event);
    if (event.type === 'turn-end')
      code = event.reason === 'error' || event.reason === 'awaiting_approval' ? 1 : event.reason === 'aborted' ? INTERRUPTED : 0;
  }
  return code;
}

function viewOf({ io, terminal }: PipedChat, clock: Clock): { show(event: TurnEvent): void } {
  if (io.wantsJson) {
    return {
      show(event) {
        const line = eventLine(event);
        if (line !== null) io.json(line);
        else if (event.type === 'notice' && !io.quiet) io.error(event.message);
      },
    };
  }
  if (terminal.output.isTTY === true) return new TurnView({ terminal, clock, colour: io.colour, quiet: io.quiet });
  return new PlainView(io, clock);
}
