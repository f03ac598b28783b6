import { PithError, type Command, type CommandIO } from 'pith';
import { didYouMean, wrapLines } from '@pith/plain-text';
import type { Conversation } from './conversation.ts';
import { readThread } from './opening.ts';
import { fields, query, text } from './query.ts';

export interface LocalScope {
  readonly conversation: Conversation;
  /** Commands of the kernel and of extensions. */
  readonly found: readonly Command[];
  readonly all: () => Promise<readonly Command[]>;
  readonly leave: () => void;
}

/** What only a conversation can do. */
export function localCommands({ conversation, found, all, leave }: LocalScope): readonly Command[] {
  return [
    {
      path: 'help',
      description: 'List what can be typed here',
      arguments: [{ name: 'command', description: 'Only what begins with these words', variadic: true }],
      async run(input, io) {
        const words = [input.arguments['command'] ?? []].flat().join(' ').replace(/^\//u, '');
        const every = (await all()).filter(({ hidden, renamed }) => hidden !== true && renamed === undefined);
        const commands = words === '' ? every : every.filter(({ path }) => path === words || path.startsWith(`${words} `));
        if (commands.length === 0) {
          const paths = every.map(({ path }) => path);
          throw new PithError('command_unknown', `there is no '/${words}'${didYouMean(words, paths)}`, { cure: 'see /help' });
        }
        io.json(commands.map(({ path, description }) => ({ path, description })));
        const rows = commands.map(
          (command) =>
            [
              `/${command.path}${(command.arguments ?? []).map(({ name, required }) => (required ? ` <${name}>` : ` [${name}]`)).join('')}`,
              command.description,
            ] as const,
        );
        const width = Math.max(...rows.map(([left]) => left.length));
        const room = Math.max(20, io.columns - width - 4);
        for (const [left, right] of rows) {
          const wrapped = io.interactive ? wrapLines(right, room).replaceAll('\n', `\n${' '.repeat(width + 4)}`) : right;
          io.print(`  ${left.padEnd(width)}  ${wrapped}`);
        }
      },
    },
    {
      path: 'agent',
      description: 'Talk with another agent',
      arguments: [{ name: 'id', description: 'The agent' }],
      async run(input, io, signal) {
        const id = input.arguments['id'];
        if (typeof id === 'string') {
          await query(found, ['agents', 'show', id], signal); // throws for an unknown one, with the nearest names
          conversation.agentId = id;
        }
        io.json({ agent: conversation.agentId });
        io.print(`Talking with ${conversation.agentId}`);
      },
    },
    {
      path: 'new',
      description: 'Begin a new conversation',
      async run(_input, io) {
        const before = conversation.threadId;
        const begun = conversation.begun;
        conversation.startNew();
        io.json({ thread: conversation.threadId });
        io.print(`New conversation ${conversation.threadId}${begun ? ` (back to the last one: /thread ${before})` : ''}`);
      },
    },
    {
      path: 'thread',
      description: 'Go on in another conversation',
      arguments: [{ name: 'id', description: 'The thread' }],
      async run(input, io, signal) {
        const id = input.arguments['id'];
        if (typeof id !== 'string') return say(io, conversation);
        const thread = await readThread(found, id, signal);
        if (thread === null) return unknownThread(found, id, signal);
        conversation.moveTo(id);
        if (thread.agentId !== undefined) conversation.agentId = thread.agentId;
        say(io, conversation);
        for (const message of thread.past) io.print(`${message.role === 'user' ? '› ' : ''}${message.text}`);
      },
    },
    {
      path: 'model',
      description: 'Show which model answers, or take another for this conversation',
      arguments: [{ name: 'ref', description: 'provider/model or an alias; "default" for the agent’s own' }],
      async run(input, io, signal) {
        const ref = input.arguments['ref'];
        const wanted = typeof ref === 'string' ? ref : conversation.model;
        const answer = fields(await query(found, wanted === null || wanted === 'default' ? ['model'] : ['model', wanted], signal)); // throws for an unknown one
        if (typeof ref === 'string') conversation.model = ref === 'default' ? null : ref;
        io.json({ ref: text(answer['ref']) ?? null, why: text(answer['why']) ?? null });
        io.print(`${text(answer['ref']) ?? wanted ?? 'default'}${text(answer['why']) === undefined ? '' : ` (${text(answer['why'])})`}`);
      },
    },
    {
      path: 'plan',
      description: 'Turn plan mode on or off: in it only reading tools run; "go" ends it and carries out the plan',
      arguments: [{ name: 'state', description: 'on, off or go; default: the other' }],
      async run(input, io) {
        const { state } = input.arguments;
        if (state !== undefined && !['on', 'off', 'go'].includes(String(state)))
          throw new PithError('usage', `plan mode can be 'on' or 'off', not '${String(state)}'`, {
            cure: 'write: /plan, /plan off or /plan go',
          });
        conversation.isPlanning = state === undefined ? !conversation.isPlanning : state === 'on';
        io.json({ plan: conversation.isPlanning });
        io.print(conversation.isPlanning ? 'Plan mode: only reading tools run. /plan go carries out the plan' : 'Plan mode is off');
        if (state === 'go') io.session?.send('Go ahead: carry out the plan.');
      },
    },
    {
      path: 'quit',
      description: 'Leave (also Ctrl-D)',
      async run() {
        leave();
      },
    },
  ];
}

function say(io: CommandIO, conversation: Conversation): void {
  io.json({ thread: conversation.threadId, agent: conversation.agentId });
  io.print(`Conversation ${conversation.threadId} with ${conversation.agentId}`);
}

/** Asks again for the error with the nearest names, which the first reading took for a new thread. */
async function unknownThread(found: readonly Command[], id: string, signal: AbortSignal): Promise<void> {
  await query(found, ['threads', 'show', id], signal);
}
