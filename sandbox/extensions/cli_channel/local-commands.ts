import pc from 'picocolors';
import { PithError, type Command, type CommandIO, type ExtensionContext } from 'pith';
import { describedRows } from '@pith/command-line';
import { didYouMean, printable, printableLine, wrapLines } from '@pith/plain-text';
import type { Choice, Conversation } from './conversation.ts';
import { choiceLine, CHOSEN_HERE, CUT_OFF, modelOf, pastLines, readThread } from './opening.ts';
import { branchCommands, requireBegun } from './branch-commands.ts';
import { errorLine, fields, list, pick, query, text } from './commands.ts';
import type { Step } from './step-line.ts';

/** What commands do with the terminal of a conversation. */
export interface ScreenActions {
  clear(): void;
  /** Puts a message into the editor. */
  edit(text: string): void;
  /** The steps of the last turn. */
  steps(): readonly Step[];
}

export interface LocalScope {
  readonly conversation: Conversation;
  readonly agents: Pick<ExtensionContext['agents'], 'find' | 'check'>;
  /** null where there is none. */
  readonly screen: ScreenActions | null;
  /** Commands of the kernel and of extensions. */
  readonly found: readonly Command[];
  readonly all: () => Promise<readonly Command[]>;
  readonly leave: () => void;
  /** Goes on with the turn that was cut off. */
  readonly resume: () => void;
}

/** What only a conversation can do. */
export function localCommands({ conversation, agents, screen, found, all, leave, resume }: LocalScope): readonly Command[] {
  const leaving = (path: string): Command => ({
    path,
    description: 'Leave (also Ctrl-D)',
    async run() {
      leave();
    },
  });
  const beginning = (path: string, description: string, clear = () => {}): Command => ({
    path,
    description,
    async run(_input, io, signal) {
      const { begun, threadId: before, choice } = conversation;
      conversation.startNew();
      clear();
      io.json({ thread: conversation.threadId });
      io.print(`New conversation ${conversation.threadId}${begun ? ` (back to the last one: /thread ${before})` : ''}`);
      if (isOther(choice, conversation.choice)) io.print(await choiceLine(conversation, found, signal));
    },
  });
  return [
    {
      path: 'help',
      description: 'Show what can be typed here',
      arguments: [{ name: 'command', description: 'all for every command, or what begins with these words', variadic: true }],
      async run(input, io) {
        const words = [input.arguments['command'] ?? []].flat().join(' ').replace(/^\//u, '');
        const every = (await all()).filter(({ hidden }) => hidden !== true);
        if (words === '' && !io.wantsJson) return io.print(helpScreen(every, io.columns || 80));
        const commands =
          words === '' || words === 'all' ? every : every.filter(({ path }) => path === words || path.startsWith(`${words} `));
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
        for (const line of describedRows(rows, io.interactive ? io.columns : 0)) io.print(line);
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
          const agent = await agents.find(id); // throws for one that cannot run, with the reason
          const wrong = (await agents.check(agent)).find(({ severity }) => severity === 'error');
          if (wrong !== undefined) throw new PithError('agent_failed', `agent '${id}' cannot run: ${wrong.message}`, { cure: wrong.cure });
          conversation.agentId = agent.id;
        }
        io.json({ agent: conversation.agentId });
        io.print(`Talking with ${conversation.agentId}`);
      },
    },
    ...branchCommands({ conversation, found, edit: screen && ((message) => screen.edit(message)) }),
    beginning('new', 'Begin a new conversation'),
    beginning('clear', 'Clear the screen and begin a new conversation', () => screen?.clear()),
    {
      path: 'thread',
      description: 'Go on in another conversation',
      arguments: [{ name: 'id', description: 'The thread' }],
      async run(input, io, signal) {
        const id = input.arguments['id'];
        if (typeof id !== 'string') return printConversation(io, conversation);
        const thread = await readThread(found, id, signal);
        if (thread === null) return void (await query(found, ['threads', 'show', id], signal)); // throws with the nearest names
        const before = conversation.choice;
        conversation.moveTo(id, thread.choice);
        if (thread.agentId !== undefined) conversation.agentId = thread.agentId;
        printConversation(io, conversation);
        if (isOther(before, conversation.choice)) io.print(await choiceLine(conversation, found, signal));
        if (io.interactive) for (const line of pastLines(thread.past, pc.createColors(io.colour), io.columns)) io.print(line);
        else for (const { role, text: whole } of thread.past) io.print(`${role === 'user' ? '› ' : ''}${whole}`);
        const left = thread.unfinished === undefined ? thread.running : CUT_OFF;
        if (left !== undefined) io.print(left);
      },
    },
    {
      path: 'resume',
      description: 'Finish the answer that was cut off',
      async run() {
        requireBegun(conversation);
        resume();
      },
    },
    {
      path: 'model',
      description: 'Choose the model of this conversation, from all connected servers',
      arguments: [{ name: 'ref', description: 'A model, provider/model or an alias; "default" for the agent’s own' }],
      async run(input, io, signal) {
        const given = input.arguments['ref'];
        const ref = typeof given === 'string' ? given : await pickModel(conversation, found, io, signal);
        const wanted = ref ?? conversation.choice.model;
        const asked = wanted === undefined || wanted === 'default' ? ['model'] : ['model', wanted, ...(ref === null ? [] : ['--check'])];
        const answer = fields(await query(found, asked, signal)); // throws for an unknown one
        const [name, why] = [text(answer['ref']) ?? wanted ?? 'default', text(answer['why'])];
        const isNamed = why === 'named'; // not an alias, whose meaning may change
        const model = ref === 'default' ? undefined : isNamed ? name : ref;
        if (model !== null) conversation.choice = { ...conversation.choice, model };
        io.json({ ref: text(answer['ref']) ?? null, why: why ?? null });
        io.print(`${name}${why === undefined ? '' : ` (${isNamed ? CHOSEN_HERE : why})`}`);
      },
    },
    {
      path: 'effort',
      description: 'Say how much the model thinks before it answers, in this conversation',
      arguments: [{ name: 'level', description: 'off, low, medium or high; "default" as the agent and the settings say' }],
      async run(input, io) {
        const { level } = input.arguments;
        const effort = EFFORTS.find((each) => each === level);
        if (level !== undefined && level !== 'default' && effort === undefined)
          throw new PithError('usage', `effort takes ${EFFORTS.join(', ')} or default, not '${String(level)}'`, {
            cure: 'write: /effort low',
          });
        if (level !== undefined) conversation.choice = { ...conversation.choice, effort };
        io.json({ effort: conversation.choice.effort ?? null });
        const chosen = conversation.choice.effort ?? 'default, as the agent and the settings say, or else the provider';
        io.print(`Thinking effort: ${chosen}${level === undefined ? ` (${EFFORTS.join(', ')} or default)` : ''}`);
      },
    },
    {
      path: 'plan',
      description: 'Turn plan mode on or off: in it only reading tools run; "go" ends it and carries out the plan',
      arguments: [{ name: 'state', description: 'on, off or go; without it: the other of on and off' }],
      async run(input, io) {
        const { state } = input.arguments;
        if (state !== undefined && !['on', 'off', 'go'].includes(String(state)))
          throw new PithError('usage', `plan takes 'on', 'off' or 'go', not '${String(state)}'`, {
            cure: 'write: /plan, /plan off or /plan go',
          });
        conversation.isPlanning = state === undefined ? !conversation.isPlanning : state === 'on';
        io.json({ plan: conversation.isPlanning });
        io.print(conversation.isPlanning ? 'Plan mode: only reading tools run. /plan go carries out the plan' : 'Plan mode is off');
        if (state === 'go') io.session?.send('Go ahead: carry out the plan.');
      },
    },
    {
      path: 'expand',
      description: 'Show what went into the steps of the last answer, and what came out',
      arguments: [{ name: 'step', description: 'Only the step of this number' }],
      async run(input, io) {
        const steps = screen?.steps() ?? [];
        const wanted = input.arguments['step'];
        const number = typeof wanted === 'string' ? Number(wanted) : null;
        if (number !== null && steps[number - 1] === undefined)
          throw new PithError('usage', `there is no step '${String(wanted)}'`, {
            cure:
              steps.length === 0
                ? 'the last answer had no steps'
                : steps.length === 1
                  ? 'there is only step 1'
                  : `write a number from 1 to ${steps.length}`,
          });
        io.json(steps.map(({ name, input, ok, output }) => ({ name, input, ok, output })));
        if (steps.length === 0) io.print('The last answer had no steps');
        for (const [index, step] of steps.entries())
          if (number === null || number === index + 1) io.print(stepText(step, index + 1, number === null));
      },
    },
    leaving('exit'),
    leaving('quit'),
  ];
}

function isOther(before: Choice, now: Choice): boolean {
  return before.model !== now.model || before.effort !== now.effort;
}

const EFFORTS = ['off', 'low', 'medium', 'high'] as const;
const MOST_MODELS = 40;

/** Lists the models of connected servers and asks for one; null: the present one stays, or nobody can be asked. */
async function pickModel(
  conversation: Conversation,
  found: readonly Command[],
  io: CommandIO,
  signal: AbortSignal,
): Promise<string | null> {
  if (!io.interactive || io.wantsJson || !found.some(({ path }) => path === 'model list')) return null;
  const rows = list(await query(found, ['model', 'list', '--refresh'], signal)).map(fields);
  const refs = rows.flatMap(({ id }) => text(id) ?? []);
  for (const { server, problem } of rows) if (text(problem) !== undefined) io.print(`${text(server)}: ${text(problem)}`);
  if (refs.length === 0) return null;
  const present = (await modelOf(conversation, found, signal)).text;
  const mark = ` (${conversation.choice.model === undefined ? 'the present one' : CHOSEN_HERE})`;
  const width = String(Math.min(refs.length, MOST_MODELS)).length;
  for (const [place, ref] of refs.slice(0, MOST_MODELS).entries())
    io.print(`${String(place + 1).padStart(width + 1)}  ${printableLine(ref)}${ref === present ? mark : ''}`);
  if (refs.length > MOST_MODELS) io.print(`and ${refs.length - MOST_MODELS} more: type a name`);
  return pick(io, 'Model, by number or name (Enter keeps the present one):', async (typed) => {
    const ref = (/^\d+$/u.test(typed) ? refs[Number(typed) - 1] : undefined) ?? typed;
    try {
      if (ref !== 'default') await query(found, ['model', ref, '--check'], signal);
      return ref;
    } catch (error) {
      if (signal.aborted) throw error;
      io.error(errorLine(error));
      return null;
    }
  });
}

/** Lines of one part; with one step alone all of them are shown. */
const MOST_LINES = 20;

function stepText({ name, line, ok, input, output, shown }: Step, number: number, isCut: boolean): string {
  const mark = ok === null ? '…' : ok ? '✓' : '✗';
  const part = (title: string, text: string) => {
    const lines = printable(text).trimEnd().split('\n');
    if (lines.length === 1) return lines[0] === '' ? [] : [`   ${title}: ${lines[0]}`];
    const most = isCut ? MOST_LINES : lines.length;
    const left = lines.length - most;
    return [
      `   ${title}:`,
      ...lines.slice(0, most).map((each) => `     ${each}`),
      ...(left > 0 ? [`     … ${left} more lines: /expand ${number}`] : []),
    ];
  };
  const given = Object.entries(typeof input === 'object' && input !== null ? input : {});
  return [
    `${mark} ${number}. ${printableLine(line === name ? name : `${line} (${name})`)}`,
    ...given.flatMap(([key, value]) => part(printableLine(key), typeof value === 'string' ? value : JSON.stringify(value))),
    ...part('shown', shown === output ? '' : shown),
    ...part('result', output),
  ].join('\n');
}

function printConversation(io: CommandIO, conversation: Conversation): void {
  io.json({ thread: conversation.threadId, agent: conversation.agentId });
  io.print(`Conversation ${conversation.threadId} with ${conversation.agentId}`);
}

/** What people do, and the first words of the commands for it. */
const GROUPS: readonly (readonly [title: string, words: readonly string[]])[] = [
  ['Conversation', ['new', 'clear', 'threads', 'thread', 'edit', 'branch', 'resume', 'compact', 'context', 'expand', 'exit']],
  ['Changes', ['init', 'undo', 'plan', 'permissions', 'approvals']],
  ['Who answers', ['agent', 'agents', 'model', 'effort']],
  ['Skills', ['skills', 'recipes']],
  ['Later', ['tasks', 'schedules']],
  ['Setup', ['setup', 'secrets', 'mcp', 'tools', 'extensions', 'hooks', 'trust', 'untrust', 'doctor']],
];
const KEYS = [
  'Enter sends · Shift-Enter or \\ at the end begins a line',
  'Esc stops the answer, twice: /edit · Ctrl-C clears, twice leaves',
  'Up brings back what was sent · Ctrl-R searches it',
  '@file, or the path of one, attaches it · Ctrl-V an image from the clipboard',
  'Tab completes · Ctrl-G opens your editor · !command runs it in your shell',
];
const MARGIN = 14;

/** Everything that can be typed, on one screen. */
function helpScreen(commands: readonly Command[], columns: number): string {
  const words = [...new Set(commands.filter(({ overridable }) => overridable !== true).map(firstWord))];
  const grouped = new Set(['help', 'quit', ...GROUPS.flatMap(([, all]) => all)]);
  const rows: (readonly [string, readonly string[]])[] = [
    ...GROUPS.map(([title, all]) => [title, all.filter((word) => words.includes(word))] as const),
    ['Recipes', [...new Set(commands.filter(({ overridable }) => overridable === true).map(firstWord))]],
    ['More', words.filter((word) => !grouped.has(word))],
  ];
  const text = [
    ...KEYS.map((line, at) => row(at === 0 ? 'Keys' : '', line, columns)),
    ...rows.filter(([, all]) => all.length > 0).map(([title, all]) => row(title, all.map((word) => `/${word}`).join('  '), columns)),
    row('By name', '/<skill> <text> loads that skill for your message', columns),
    '',
    'See /help <command> for one of them, /help all for every command.',
  ];
  return text.map((line) => wrapLines(line, columns)).join('\n');
}

function row(title: string, text: string, columns: number): string {
  const margin = columns < 60 ? 0 : MARGIN;
  const lines = wrapLines(text, Math.max(20, columns - margin - 1)).split('\n');
  if (margin === 0) return [...(title === '' ? [] : [title]), ...lines.map((line) => `  ${line}`)].join('\n');
  return lines.map((line, at) => `${(at === 0 ? title : '').padEnd(margin)}${line}`).join('\n');
}

/** The group of a command, or all of it. */
export function firstWord({ path }: Command): string {
  return path.split(' ', 1)[0] ?? path;
}
