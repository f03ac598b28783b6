import type { Command, CommandInput, CommandIO } from '../contract/index.ts';
import { AFTER, OPEN, type CommandOption } from '@pith/command-line';
import type { Kernel } from '../compose/index.ts';
import { requireTrust } from '../trust/index.ts';
import type { Line } from './terminal/opened-target.ts';

/** Runs with a kernel that has loaded no code yet; the default. */
type KernelRun = (kernel: Kernel, input: CommandInput, io: CommandIO, signal: AbortSignal) => Promise<number | void>;
/** Decides itself what it opens. */
type LineRun = (line: Line, input: CommandInput) => Promise<number | void>;

interface Definition extends Omit<Command, 'run'> {
  /** Its position in the short help. */
  readonly first?: number;
  /** Where it is available: on the command line, in chat, or in both (default). */
  readonly only?: 'command line' | 'chat';
}

export type CoreCommand =
  | (Definition & { readonly needs?: undefined; load(): Promise<KernelRun> })
  /** `nothing`: it opens no sandbox, so that no extension has options for it. */
  | (Definition & { readonly needs: 'line' | 'nothing'; load(): Promise<LineRun> });

const AGENT: CommandOption = { name: 'agent', short: 'a', type: 'string', description: 'The agent (default: the default agent)' };
const TEXT: CommandOption = { name: 'text', type: 'string', description: "The user's message", default: '' };
const CHANNEL: CommandOption = {
  name: 'channel',
  type: 'string',
  description: 'As the model sees it in this channel',
  default: 'cli',
};
const ID = (description: string) => ({ name: 'id', description, required: true });
const QUESTION = { name: 'question', description: 'Its number or id, as approvals lists it', required: true };
const ALL_LINES: CommandOption = { name: 'all', type: 'boolean', description: 'Everything, however long' };
const LINES: CommandOption = { name: 'lines', type: 'number', description: 'How many lines to show', default: 40 };
const NAME = { name: 'name', description: 'The name', required: true };
const DIR = { name: 'dir', description: 'The project or its sandbox (default: the one that would be used here)' };
const YES: CommandOption = { name: 'yes', type: 'boolean', description: 'Do not ask; answer yes' };
const LANE: CommandOption = { name: 'lane', type: 'string', description: 'Only those in this lane' };
const OWNER: CommandOption = { name: 'owner', type: 'string', description: 'Only those of this person or agent' };
const JOBS: readonly CommandOption[] = [
  { name: 'name', type: 'string', description: 'Only those of this name, or of this extension' },
  { name: 'state', short: 's', type: 'string', multiple: true, description: 'Only those in this state, such as dead' },
  LANE,
  OWNER,
];
const WITHOUT = { name: 'without', type: 'string', multiple: true, description: 'Leave out those of this extension' } as const;
const JOB_IDS = { name: 'id', description: 'The jobs', variadic: true };
const HELD = { name: 'name', description: 'The name of the jobs, or their extension' };
const RECIPIENTS = {
  name: 'for',
  type: 'string',
  multiple: true,
  description:
    "Who gets it: extension:ID, or 'provider:openai https://api.openai.com' (default: those that request it under the present settings)",
} as const;

/** The short help's lines for groups of the kernel's commands. */
export const CORE_GROUPS: readonly { readonly path: string; readonly first: number; readonly description: string }[] = [
  { path: 'agents', first: 6, description: 'List, show and make agents' },
  { path: 'threads', first: 8, description: 'List, show, rename, branch, export, check and delete conversations' },
  { path: 'approvals', first: 9, description: 'Answer what tools ask before they act' },
  { path: 'extensions', first: 10, description: 'List, make, check and reload extensions' },
];

/** The kernel's own commands as data; an implementation is imported when it runs. */
export const CORE_COMMANDS: readonly CoreCommand[] = [
  {
    path: 'agents list',
    result: async () => (await import('./commands/results.ts')).agentResult().array(),
    description: 'List the agents',
    load: async () => (await import('./commands/agents.ts')).listAgents,
  },
  {
    path: 'agents show',
    result: async () => (await import('./commands/results.ts')).agentResult(),
    description: 'Show an agent: model, tools, skills and limits',
    arguments: [ID('The agent')],
    load: async () => (await import('./commands/agents.ts')).showAgent,
  },
  {
    path: 'agents prompt',
    description: 'Print exactly what would be sent to the model in a new thread',
    arguments: [ID('The agent')],
    options: [TEXT, CHANNEL],
    load: async () => (await import('./commands/prompt.ts')).showPrompt,
  },
  {
    path: 'context',
    description: 'Show what the model would be sent: tokens per part, the text with --full',
    only: 'chat',
    options: [TEXT, CHANNEL, { name: 'full', type: 'boolean', description: 'Also the whole text' }],
    load: async () => (await import('./commands/prompt.ts')).showContext,
  },
  {
    path: 'tools list',
    result: async () => (await import('./commands/results.ts')).toolResult().array(),
    description: 'List the tools that an agent can call',
    options: [AGENT],
    load: async () => (await import('./commands/tools.ts')).listTools,
  },
  {
    path: 'tools call',
    description: 'Call a tool as an agent would, and print its result',
    arguments: [{ name: 'name', description: 'The tool', required: true }],
    options: [
      { name: 'input', short: 'i', type: 'string', description: 'Its input as JSON', default: '{}' },
      AGENT,
      { name: 'approve', type: 'boolean', description: 'Run it also where it needs approval' },
    ],
    load: async () => (await import('./commands/tools.ts')).callTool,
  },
  {
    path: 'extensions list',
    result: async () => (await import('./commands/results.ts')).extensionResult().array(),
    description: 'List the extensions',
    load: async () => (await import('./commands/extensions.ts')).listExtensions,
  },
  {
    path: 'extensions show',
    result: async () => (await import('./commands/results.ts')).shownExtensionResult(),
    description: 'Show what an extension declares, and its state',
    arguments: [ID('The extension')],
    options: [{ name: 'source', type: 'boolean', description: 'Print the files that it is made of' }],
    load: async () => (await import('./commands/extensions.ts')).showExtension,
  },
  {
    path: 'extensions reload',
    description: 'Reload an extension',
    arguments: [ID('The extension')],
    load: async () => (await import('./commands/extensions.ts')).reloadExtension,
  },
  {
    path: 'extensions allow',
    description: 'Grant an extension what its manifest asks for: network, secrets, paths, events, agents, to be a guard',
    arguments: [ID('The extension')],
    options: [
      YES,
      { name: 'ask', type: 'string', multiple: true, description: 'For programs: only this, to which a person has just agreed' },
      { name: 'revoke', type: 'boolean', description: 'Take back everything that you agreed to for this extension' },
    ],
    load: async () => (await import('./commands/extensions.ts')).allowExtension,
  },
  {
    path: 'threads list',
    description: 'List the conversations, newest first',
    options: [
      { name: 'limit', short: 'n', type: 'number', description: 'How many', default: 20 },
      { name: 'all', type: 'boolean', description: 'Also threads of delegated calls, tasks and schedules' },
    ],
    load: async () => (await import('./commands/threads.ts')).listThreads,
  },
  {
    path: 'threads show',
    description: "Show a conversation's last messages",
    arguments: [ID('The thread')],
    options: [{ name: 'last', short: 'n', type: 'number', description: 'How many messages', default: 20 }],
    load: async () => (await import('./commands/threads.ts')).showThread,
  },
  {
    path: 'threads usage',
    description: 'Show the tokens that a conversation has used, and what they cost',
    arguments: [ID('The thread')],
    load: async () => (await import('./commands/threads.ts')).showUsage,
  },
  {
    path: 'threads rename',
    description: 'Give a conversation another title',
    arguments: [ID('The thread'), { name: 'title', description: 'The title', required: true, variadic: true }],
    load: async () => (await import('./commands/thread-changes.ts')).renameThread,
  },
  {
    path: 'threads branch',
    description: 'Make a conversation that begins like another one, which stays as it is',
    arguments: [ID('The thread'), { name: 'title', description: 'Its title (default: the other one’s)', variadic: true }],
    options: [
      { name: 'at', type: 'number', description: 'Only what is before your message of this number, the first being 1' },
      { name: 'before', type: 'number', description: 'The same by the `seq` of the message, for programs' },
    ],
    load: async () => (await import('./commands/thread-changes.ts')).branchThread,
  },
  {
    path: 'threads stop',
    description: 'Stop what an agent does in a conversation, in whichever process it runs',
    arguments: [ID('The thread')],
    load: async () => (await import('./commands/thread-changes.ts')).stopThread,
  },
  {
    path: 'threads delete',
    description: 'Delete a conversation and all its messages',
    arguments: [ID('The thread')],
    options: [YES],
    load: async () => (await import('./commands/thread-changes.ts')).deleteThread,
  },
  {
    path: 'threads export',
    description: 'Print a conversation as Markdown, or as JSON with --json',
    arguments: [ID('The thread')],
    options: [{ name: 'output', short: 'o', type: 'string', description: 'Write it to this file; JSON where its name ends in .json' }],
    load: async () => (await import('./commands/thread-export.ts')).exportThread,
  },
  {
    path: 'threads check',
    description: 'Check stored conversations for damage, and repair it with --repair',
    arguments: [{ name: 'id', description: 'The thread' }],
    options: [
      { name: 'all', type: 'boolean', description: 'Every thread, also those of delegated calls, tasks and schedules' },
      { name: 'repair', type: 'boolean', description: 'Repair it: answer calls that have no answer, take out what cannot be read' },
    ],
    load: async () => (await import('./commands/thread-check.ts')).checkThreads,
  },
  {
    path: 'threads compact',
    description: 'Shorten a conversation so that it fits the model again',
    arguments: [ID('The thread')],
    load: async () => (await import('./commands/threads.ts')).compactThread,
  },
  {
    path: 'compact',
    description: 'Shorten this conversation so that it fits the model again',
    only: 'chat',
    load: async () => (await import('./commands/threads.ts')).compactThread,
  },
  {
    path: 'trace',
    description: 'Draw the newest turn of an id: model steps, tool calls, waits and called turns, below a line for each earlier turn',
    arguments: [{ name: 'id', description: 'The turn or the conversation, or how its id begins (default: the last turn)' }],
    options: [{ name: 'last', short: 'n', type: 'number', description: 'How many turns', default: 20 }],
    load: async () => (await import('./commands/trace.ts')).showTrace,
  },
  {
    path: 'approvals',
    description: 'List tool calls that wait for your approval, or show one',
    arguments: [{ name: 'question', description: 'Its number or id' }],
    options: [ALL_LINES, LINES, { name: 'wait', type: 'boolean', description: 'Wait until it is answered, here or elsewhere' }],
    load: async () => (await import('./commands/approvals.ts')).approvals,
  },
  {
    path: 'approvals approve',
    description: 'Approve a tool call, and continue the conversation',
    arguments: [QUESTION],
    options: [
      { name: 'always', type: 'boolean', description: 'Do not ask again in this conversation for what always covers' },
      { name: 'project', type: 'boolean', description: 'Do not ask again for it in this project' },
    ],
    load: async () => (await import('./commands/approvals.ts')).approve,
  },
  {
    path: 'approvals reject',
    description: 'Refuse a tool call, and continue the conversation',
    arguments: [QUESTION],
    options: [{ name: 'reason', type: 'string', description: 'Why; the model reads it' }],
    load: async () => (await import('./commands/approvals.ts')).reject,
  },
  {
    path: 'jobs list',
    result: async () => (await import('./commands/results.ts')).jobResult().array(),
    description: 'List durable work, newest first',
    options: [...JOBS, OPEN, WITHOUT, { name: 'limit', short: 'n', type: 'number', description: 'How many', default: 20 }, AFTER],
    load: async () => (await import('./commands/jobs.ts')).listJobs,
  },
  {
    path: 'jobs changes',
    description: 'Print whose jobs have changed since a number that grows with each change',
    hidden: true,
    slash: false,
    options: [{ name: 'since', type: 'number', description: 'The number (default: the present one)' }],
    load: async () => (await import('./commands/jobs.ts')).changedJobs,
  },
  {
    path: 'jobs show',
    result: async () => (await import('./commands/results.ts')).shownJobResult(),
    description: 'Show a job: its state, notes, error and result',
    arguments: [ID('The job')],
    load: async () => (await import('./commands/jobs.ts')).showJob,
  },
  {
    path: 'jobs retry',
    description: 'Retry dead, failed or cancelled jobs by id, or all that match (default: the dead ones), after asking',
    arguments: [JOB_IDS],
    options: [...JOBS, YES],
    load: async () => (await import('./commands/job-changes.ts')).retryJobs,
  },
  {
    path: 'jobs cancel',
    description: 'Cancel jobs by id, or all that match, after asking',
    arguments: [JOB_IDS],
    options: [...JOBS, YES],
    load: async () => (await import('./commands/job-changes.ts')).cancelJobs,
  },
  {
    path: 'jobs pause',
    description: 'Pause jobs; without arguments, list what is paused',
    arguments: [HELD],
    options: [
      LANE,
      OWNER,
      { name: 'for', type: 'string', description: 'How long, such as 10m or 2h (default: until it is resumed)' },
      { name: 'reason', type: 'string', description: 'Why; doctor shows it' },
    ],
    load: async () => (await import('./commands/job-changes.ts')).pauseJobs,
  },
  {
    path: 'jobs resume',
    description: 'Resume paused jobs',
    arguments: [HELD],
    options: [LANE, OWNER],
    load: async () => (await import('./commands/job-changes.ts')).resumeJobs,
  },
  {
    path: 'permissions',
    description: 'List what you allowed always, in this project and in conversations',
    load: async () => (await import('./commands/permissions.ts')).listPermissions,
  },
  {
    path: 'permissions remove',
    description: 'Remove what you always allowed; Pith asks again',
    arguments: [{ name: 'number', description: 'Its number, as permissions lists it' }],
    options: [{ name: 'all', type: 'boolean', description: 'All that permissions lists' }],
    load: async () => (await import('./commands/permissions.ts')).removePermissions,
  },
  {
    path: 'model',
    result: async () => (await import('./commands/results.ts')).chosenModelResult(),
    description: 'Show which model answers and why, or check a reference',
    only: 'chat',
    arguments: [{ name: 'ref', description: 'provider/model or an alias' }],
    options: [{ name: 'check', type: 'boolean', description: 'Complete the name, and ask its server whether it has that model' }],
    load: async () => (await import('./commands/chat-only.ts')).showModel,
  },
  {
    path: 'model list',
    result: async () => (await import('./commands/results.ts')).modelResult().array(),
    description: 'List the models of all connected servers',
    only: 'chat',
    options: [{ name: 'refresh', type: 'boolean', description: 'Ask the servers again' }],
    load: async () => (await import('./commands/chat-only.ts')).listModels,
  },
  {
    path: 'doctor',
    first: 3,
    description: 'Check your setup and suggest fixes',
    options: [
      { name: 'all', type: 'boolean', description: 'List extensions and agents without problems too' },
      { name: 'settings', type: 'boolean', description: 'Show which settings are set where, and their problems' },
      { name: 'restart', type: 'boolean', description: 'Restart the kernel under `pith serve`; conversations continue' },
    ],
    load: async () => (await import('./commands/doctor.ts')).runDoctor,
  },
  {
    path: 'settings',
    description: 'Show the settings that can be set by command, of Pith or of an extension: values, and where they are set',
    arguments: [{ name: 'id', description: 'The extension (default: Pith itself)' }],
    load: async () => (await import('./commands/settings.ts')).showForm,
  },
  {
    path: 'settings set',
    description: 'Set settings in pith.yaml, checked before: key=value with keys as in that file, such as models.default=openai/NAME',
    arguments: [{ name: 'values', description: 'key=value, JSON or text; null takes one out', required: true, variadic: true }],
    load: async () => (await import('./commands/settings.ts')).setSettings,
  },
  {
    path: 'logs',
    description: 'Show the end of the log, or what it has of one extension',
    arguments: [{ name: 'name', description: 'The extension, or another name in the log' }],
    options: [
      { name: 'last', short: 'n', type: 'number', description: 'How many records', default: 50 },
      { name: 'level', type: 'string', description: 'Only those of this level or worse: debug, info, warn or error', default: 'debug' },
    ],
    load: async () => (await import('./commands/logs.ts')).showLogs,
  },
  {
    path: 'trust',
    first: 12,
    description: 'Show what a project brings, and trust it',
    arguments: [DIR],
    options: [
      YES,
      { name: 'state', type: 'boolean', description: 'Also use the state in its data folder: it is mine' },
      { name: 'list', type: 'boolean', description: 'List the folders that you have trusted or refused' },
    ],
    only: 'command line',
    needs: 'nothing',
    load: async () => (await import('./commands/trust.ts')).trust,
  },
  {
    path: 'trust',
    description: 'Show what the project has now, and let it be used',
    arguments: [DIR],
    options: [YES],
    only: 'chat',
    load: async () => (await import('./commands/trust.ts')).trustHere,
  },
  {
    path: 'untrust',
    description: 'Stop trusting a sandbox or project; Pith then uses nothing from it',
    arguments: [DIR],
    only: 'command line',
    needs: 'nothing',
    load: async () => (await import('./commands/trust.ts')).untrust,
  },
  {
    path: 'secrets list',
    description: 'List the secrets that extensions ask for and whom they were given for, without their values',
    load: async () => (await import('./commands/secrets.ts')).listSecrets,
  },
  {
    path: 'secrets set',
    description: 'Store a secret (hidden prompt or stdin)',
    arguments: [{ name: 'name', description: 'The name that extensions declare', required: true }],
    options: [RECIPIENTS, { ...YES, description: 'Replace a stored secret without asking' }],
    load: async () => (await import('./commands/secrets.ts')).setSecret,
  },
  {
    path: 'secrets allow',
    description: 'Give a stored secret to one more extension, or to another address',
    arguments: [NAME],
    options: [RECIPIENTS],
    load: async () => (await import('./commands/secrets.ts')).allowSecret,
  },
  {
    path: 'secrets remove',
    description: 'Delete a stored secret',
    arguments: [NAME],
    options: [
      { name: 'for', type: 'string', multiple: true, description: 'Only what this recipient has' },
      { ...YES, description: 'All that is stored under this name, without asking' },
    ],
    load: async () => (await import('./commands/secrets.ts')).removeSecret,
  },
  {
    path: 'restart',
    hidden: true,
    description: 'Restart the kernel under `pith serve`; conversations continue',
    arguments: [{ name: 'reason', description: 'Why', variadic: true }],
    only: 'chat',
    load: async () => (await import('./commands/chat-only.ts')).restartKernel,
  },
  {
    path: 'serve',
    description: 'Run the kernel and its services until Ctrl-C; restart it when it crashes',
    options: [
      { name: 'port', type: 'number', description: 'The port to listen on (default: extensions.http.port)' },
      {
        name: 'host',
        type: 'string',
        description:
          'The address to listen on, such as 0.0.0.0: then other machines reach it, and somebody must have a token (default: extensions.http.host)',
      },
    ],
    only: 'command line',
    needs: 'line',
    load: async () => (await import('./serve/serve.ts')).serve,
  },
  {
    path: 'init',
    first: 4,
    description: 'Make a new sandbox: settings, one agent, one skill, one extension',
    arguments: [{ name: 'dir', description: 'Where (default: here)' }],
    only: 'command line',
    needs: 'nothing',
    load: async () => (await import('./commands/init.ts')).initSandbox,
  },
];

/** The kernel's own commands for chat, through their own provider. */
export function kernelCommands(kernel: Kernel): readonly Command[] {
  const commands: Command[] = [];
  for (const definition of CORE_COMMANDS) {
    if (definition.needs !== undefined || definition.only === 'command line') continue;
    const { path, description, hidden, load, result } = definition;
    commands.push({
      path,
      description,
      hidden,
      arguments: definition.arguments,
      options: definition.options,
      ...(result === undefined ? {} : { result }),
      async run(input, io, signal) {
        requireTrust(definition, kernel.trust);
        return (await load())(kernel, input, io, signal);
      },
    });
  }
  return commands;
}
