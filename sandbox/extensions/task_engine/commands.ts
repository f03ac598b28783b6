import { randomUUID } from 'node:crypto';
import { Permissions, PithError, type Command, type CommandInput, type CommandIO, type ExtensionContext } from 'pith';
import { WorkProvider, type RunningWork } from './contract.ts';
import { type ActingUser, AFTER, countOption, localTime, OPEN, renderTable, textColumns, whoCells, widthOf } from '@pith/command-line';
import type { TaskService } from './task-service.ts';
import { TASK_STATES, threadOf, type Task, type TaskState } from './task.ts';
import { changedTaskResult, listedTaskResult, shownTaskResult, taskResult } from './results.ts';
import { changeJson, taskIdFor, taskJson } from './view.ts';
import type { TaskChange } from './task-store.ts';

const ID = { name: 'id', description: 'The task', required: true };
const DEFAULT_LISTED = 20;

type Ports = Pick<ExtensionContext, 'agents' | 'find' | 'use' | 'clock'>;

/** `pith tasks …` and `/tasks …`: what a person does with tasks. They write; whoever serves sees it soon. */
export function taskCommands(ports: Ports, service: TaskService): readonly Command[] {
  /** null: an administrator, who sees everybody's. */
  const whose = async ({ userId, asAdmin }: ActingUser) => ((asAdmin ?? (await ports.use(Permissions).isAdmin(userId))) ? null : userId);
  const one = (
    path: string,
    description: string,
    run: (task: Task, input: CommandInput, io: CommandIO) => Promise<void>,
    more: Pick<Command, 'arguments' | 'result'> = {},
  ): Command => ({
    path,
    description,
    arguments: [ID],
    result: async () => changedTaskResult(),
    ...more,
    run: async (input, io) => run(await service.find(String(input.arguments['id']), await whose(io)), input, io),
  });
  const report = (io: CommandIO, task: Task, text: string) => {
    io.json(taskJson(task));
    io.print(text);
  };
  /** As `command`, but for an id of what runs in this process. */
  const orWork = (run: (work: RunningWork, io: CommandIO) => Promise<void>, command: Command): Command => ({
    ...command,
    async run(input, io, signal) {
      const work = (await worksFor(await whose(io))).find(({ id }) => id === input.arguments['id']);
      return work === undefined ? command.run(input, io, signal) : run(work, io);
    },
  });
  /** It says not whose it is. */
  const worksFor = async (userId: string | null) =>
    userId === null ? (await Promise.all(ports.find(WorkProvider).map((provider) => provider.listWork().catch(() => [])))).flat() : [];
  return [
    {
      path: 'tasks list',
      result: async () => listedTaskResult().array(),
      description: 'List the tasks, newest first',
      options: [
        { name: 'state', short: 's', type: 'string', description: `Only those that are ${TASK_STATES.join(', ')}` },
        OPEN,
        { name: 'limit', short: 'k', type: 'number', description: 'At most this many', default: DEFAULT_LISTED },
        AFTER,
      ],
      async run({ options }, io) {
        const user = await whose(io);
        const limit = countOption({ options }, 'limit', DEFAULT_LISTED);
        const state = stateOf(options['state']);
        const { after } = options;
        const isOpen = options['open'] === true;
        const works = state === null ? (await worksFor(user)).filter(({ ended }) => !isOpen || ended === null) : [];
        const at = works.findIndex(({ id }) => id === after);
        const running = after === undefined || at !== -1 ? works.slice(at + 1, at + 1 + limit) : [];
        const from = after === undefined || at !== -1 ? {} : { after: (await service.find(String(after), user)).id };
        const tasks = await service.store.list(limit - running.length, { state, isOpen, userId: user, ...from });
        io.json([...running.map(workJson), ...tasks.map(ownedJson)]);
        io.print(listText(tasks, running, ports.clock.now(), io));
      },
    },
    orWork(
      async (work, io) => {
        io.json(workJson(work));
        io.print(workText(work));
      },
      one(
        'tasks show',
        'Show one task: its state, progress and result',
        async (task, _input, io) => {
          const changes = await service.store.changes(task.id);
          const subtasks = await service.store.subtasks(task.id);
          io.json({ ...ownedJson(task), subtasks: subtasks.map(({ id }) => id), history: changes.map(changeJson) });
          io.print(taskText(task, subtasks, changes));
        },
        { result: async () => shownTaskResult() },
      ),
    ),
    {
      path: 'tasks submit',
      result: async () => taskResult(),
      description: 'Submit a task; it is worked on while a chat or `pith serve` runs',
      arguments: [{ name: 'goal', description: 'What to achieve', required: true, variadic: true }],
      options: [
        { name: 'agent', short: 'a', type: 'string', description: 'The agent that works on it (default: the default agent)' },
        { name: 'priority', type: 'number', description: 'Higher is worked on first', default: 0 },
        { name: 'after', type: 'string', multiple: true, description: 'A task that must be done before' },
        { name: 'max-steps', type: 'number', description: 'At most this many model steps' },
      ],
      async run({ arguments: { goal }, options }, io) {
        const session = io.session;
        const agentId = String(options['agent'] ?? session?.agentId ?? (await ports.agents.defaultId()));
        const wanted = {
          id: taskIdFor(randomUUID()),
          goal: (goal as readonly string[]).join(' '),
          agentId,
          priority: whole('priority', options['priority']),
          after: (options['after'] ?? []) as readonly string[],
          maxSteps: options['max-steps'] === undefined ? undefined : whole('max-steps', options['max-steps'], 1),
        };
        const by = {
          userId: io.userId,
          channelId: 'cli',
          threadId: session?.threadId ?? null,
          agent: null,
          parent: null,
          tools: null,
          denied: [],
          startedBy: [],
          correlationId: null,
        };
        const [task] = (await service.submit([wanted], by)) as readonly [Task];
        const where = session === undefined ? ' It is worked on while a chat or `pith serve` runs.' : '';
        report(io, task, `Task ${task.id} is ${task.state}.${where} See: pith tasks show ${task.id}`);
      },
    },
    orWork(
      async (work, io) => {
        const ended = (await Promise.all(ports.find(WorkProvider).map((provider) => provider.endWork(work.id)))).find(
          (each) => each !== null,
        );
        io.json(workJson(ended ?? work));
        io.print(`${work.id} is ended.`);
      },
      one('tasks cancel', 'Cancel a task and its subtasks', async (task, _input, io) => {
        report(io, await service.cancel(task, 'cancelled by a person'), `Task ${task.id} is cancelled.`);
      }),
    ),
    one('tasks retry', 'Try a failed or cancelled task again', async (task, _input, io) => {
      const again = await service.retry(task);
      report(io, again, `Task ${task.id} is ${again.state}.`);
    }),
    one(
      'tasks review',
      'Answer a task that waits for a person',
      async (task, input, io) => {
        const words = (input.arguments['answer'] ?? []) as readonly string[];
        const answer = words.length > 0 ? words.join(' ') : task.question === null ? null : await io.ask(task.question);
        if (answer === null || answer.trim() === '')
          throw new PithError(
            'usage',
            `task ${task.id} ${task.question === null ? `is ${task.state} and asks nothing` : `asks: ${task.question}`}`,
            {
              cure: `write: pith tasks review ${task.id} "<your answer>"`,
            },
          );
        const after = await service.review(task, answer);
        report(io, after, `Task ${task.id} goes on.`);
      },
      { arguments: [ID, { name: 'answer', description: 'What you answer (default: you are asked)', variadic: true }] },
    ),
  ];
}

function stateOf(value: unknown): TaskState | null {
  if (value === undefined) return null;
  const state = TASK_STATES.find((each) => each === value);
  if (state) return state;
  throw new PithError('usage', `wrong use of --state: there is no state '${String(value)}'`, {
    cure: `use one of ${TASK_STATES.join(', ')}`,
  });
}

function whole(name: string, value: unknown, least = -100, most = 1000): number {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number;
  throw new PithError('usage', `wrong use of --${name}: it must be a whole number from ${least} to ${most}`);
}

/** One line a task, in columns. */
function listText(
  tasks: readonly Task[],
  works: readonly RunningWork[],
  now: number,
  io: Pick<CommandIO, 'interactive' | 'columns' | 'userId'>,
): string {
  if (tasks.length + works.length === 0) return 'There are no tasks. Submit one with: pith tasks submit "<goal>"';
  const who = whoCells(
    tasks.map(({ submitter }) => submitter.userId),
    io.userId,
  );
  const rows = [
    ...works.map(({ id, title, startedAt, ended }) => [id, ended ?? 'running', '', 'command', '', `${ago(now - startedAt)} ago`, title]),
    ...tasks.map(({ id, state, agent, steps, updatedAt, goal }, at) => {
      const step = state === 'running' ? steps + 1 : steps; // the one that is under way counts
      return [id, state, who[at] ?? '', agent, String(step), `${ago(now - updatedAt)} ago`, goal];
    }),
  ];
  return renderTable(rows, textColumns(['ID', 'STATE', 'WHO', 'AGENT', 'STEPS', 'CHANGED', 'GOAL']), widthOf(io));
}

/** With who submitted it. */
function ownedJson(task: Task) {
  return { ...taskJson(task), user: task.submitter.userId };
}

function workJson({ id, title, startedAt, ended, output }: RunningWork) {
  return { id, state: ended === null ? 'running' : 'ended', goal: title, startedAt, ended, output };
}

function workText({ id, title, ended, output }: RunningWork): string {
  return `${id} is ${ended === null ? 'running' : ended}: ${title}\n\n${output.trim() === '' ? '(no output)' : output.trimEnd()}`;
}

/** All that a person wants to know of one task. */
function taskText(task: Task, subtasks: readonly Task[], changes: readonly TaskChange[]): string {
  const { id, state, goal, agent, steps, maxSteps, attempts, note, parent, after, retained, question, result, error } = task;
  const line = (name: string, value: string | null) => (value === null || value === '' ? [] : [`${`${name}:`.padEnd(11)}${value}`]);
  return [
    `Task ${id} is ${state}${note === null || note === question ? '' : `: ${note}`}`,
    ...line('Goal', goal),
    ...line('Agent', agent),
    ...line('Steps', `${steps}${maxSteps === null ? '' : ` of at most ${maxSteps}`}`),
    ...line('Failures', attempts === 0 ? null : String(attempts)),
    ...line('Loaded', retained.join(', ')),
    ...line('Parent', parent),
    ...line('After', after.join(', ')),
    ...line('Subtasks', subtasks.map((each) => `${each.id} (${each.state})`).join(', ')),
    ...line('Thread', `pith threads show ${threadOf(id)}`),
    ...line('History', changes.map((change) => `${localTime(change.at, changes.at(-1)?.at)} ${change.state}`).join(', ')),
    ...(state === 'human_review' && question !== null
      ? ['', `It asks: ${question}`, `Answer:  pith tasks review ${id} "<your answer>"`]
      : []),
    ...(error === null ? [] : ['', `It ended with ${error.code}: ${error.message}`, `Try again with: pith tasks retry ${id}`]),
    ...(result === null ? [] : ['', result]),
  ].join('\n');
}

function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
