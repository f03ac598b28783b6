import type pc from 'picocolors';
import { codeOf, messageOf, type Command, type Diagnostic } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
import type { Conversation } from './conversation.ts';
import { renderMarkdown } from './markdown-stream.ts';
import type { PastMessage } from './opening.ts';
import { fields, query, text } from './query.ts';

type Colours = ReturnType<typeof pc.createColors>;

const LONGEST = 600;

/** Who answers, by which model, how to leave; and how to connect a model where none is. `model`: what the model is called. */
export async function firstScreen(
  conversation: Conversation,
  commands: readonly Command[],
  colour: Colours,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly model: string }> {
  const model = await modelOf(conversation, commands, signal);
  const line = `${colour.bold(conversation.agentId)} ${colour.dim(`· ${printableLine(model.text)} · /help shows what you can do, Ctrl-D leaves`)}`;
  const below = model.unknown === null ? (model.offline ? colour.dim(CONNECT) : '') : colour.yellow(printable(model.unknown));
  return { text: below === '' ? `${line}\n` : `${line}\n${below}\n`, model: model.text };
}

const CONNECT = 'No model is connected: answers come from the skills alone. /setup adds one.';

/** What an edit broke while the conversation goes on; `what`: whose it is. */
export function problemLine({ message, file, line, cure }: Omit<Diagnostic, 'severity'>, what = ''): string {
  const place = [what, file === undefined || line === undefined ? file : `${file}:${line}`].filter(Boolean).join(' ');
  return printable(`${place}${place && ': '}${message}${cure === undefined ? '' : `; ${cure}`}`);
}

/** The conversation so far, shortened: what the person wrote as it is, answers as they were shown. */
export function pastLines(past: readonly PastMessage[], colour: Colours, columns: number): readonly string[] {
  return past.map(({ role, text: whole }) => {
    const short = whole.length > LONGEST ? `${whole.slice(0, LONGEST)}…` : whole;
    return role === 'user' ? sentLine(short, colour) : `${renderMarkdown(short, { colour: colour.isColorSupported, columns })}\n`;
  });
}

/** A message as it is left behind once it was sent: its lines are below each other. */
export function sentLine(text: string, colour: Colours): string {
  return colour.dim(`› ${printable(text).replaceAll('\n', '\n  ')}`);
}

/** What answers in a conversation. `unknown`: why that is not known; null where it is. */
export async function modelOf(
  { model, agentId }: Pick<Conversation, 'model' | 'agentId'>,
  commands: readonly Command[],
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly offline: boolean; readonly unknown: string | null }> {
  try {
    const own = model ?? text(fields(await query(commands, ['agents', 'show', agentId], signal))['model']) ?? 'default';
    // 'default' needs no model to be loaded
    const ref =
      text(
        fields(
          await query(
            commands.filter(({ path }) => path === 'model'),
            own === 'default' ? ['model'] : ['model', own],
            signal,
          ),
        )['ref'],
      ) ?? own;
    return { text: ref, offline: ref.startsWith('offline/'), unknown: null };
  } catch (error) {
    const chooses = codeOf(error, '') === 'agent_unknown' ? '/agent' : '/model';
    return { text: 'no model', offline: false, unknown: `${messageOf(error)}; ${chooses} chooses another for this conversation` };
  }
}
