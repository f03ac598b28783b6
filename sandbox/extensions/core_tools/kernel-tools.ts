import path from 'node:path';
import {
  type AgentSpec,
  CommandProvider,
  defineTool,
  type Diagnostic,
  type ExtensionContext,
  type JsonValue,
  PithError,
  SkillProvider,
  type Tool,
  toolError,
  toolResult,
  z,
} from 'pith';
import { captureCommand, type CapturedCommand, kernelCommands } from '@pith/command-line';

const id = z.string().min(1).describe('The id of the extension');

/** Tools that look after the kernel, through the kernel's own commands. */
export function kernelTools(context: ExtensionContext): readonly Tool[] {
  const run = (...asked: Parameters<ReturnType<typeof kernelCommands>['run']>): Promise<CapturedCommand> =>
    kernelCommands(context.find(CommandProvider)).run(...asked);
  return [
    defineTool({
      name: 'extensions_doctor',
      description:
        'What extensions, agents, skills and the model are like now: what failed, why, and how to fix it. Loads every extension.',
      input: z.object({ extension_id: id.optional().describe('Only what concerns this one') }),
      effect: 'read',
      permission: { authoring: 'anyone', safeToShare: false },
      timeoutMs: 60_000,
      execute: async ({ extension_id }, { signal, turn }) => {
        const report = (await run('doctor', {}, signal)).values[0];
        return shortReport(report, extension_id, await reportedSkills(context, turn.agent, signal));
      },
    }),
    defineTool({
      name: 'request_reload',
      description:
        'Reload an extension although its files did not change, such as after its breaker opened. Edits are loaded without this.',
      input: z.object({ extension_id: id }),
      effect: 'idempotent',
      permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
      timeoutMs: 60_000,
      async execute({ extension_id }, { signal }) {
        if (extension_id === context.id)
          return toolError(
            'not_allowed',
            `'${context.id}' cannot reload itself while it answers: a person can, with: pith extensions reload ${context.id}`,
          );
        return answered(() => run('extensions reload', { arguments: { id: extension_id } }, signal), 'reload_failed');
      },
    }),
    defineTool({
      name: 'request_restart',
      description: 'Start the kernel again, for what a reload cannot bring, such as a native module. Conversations go on. Give the reason.',
      input: z.object({ reason: z.string().min(1).max(500) }),
      permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
      needsApproval: true,
      async execute({ reason }, { signal, turn }) {
        const { values } = await run('restart', { arguments: { reason: [reason] } }, signal);
        const [answer] = values as readonly [{ readonly ok: boolean }];
        return answer.ok
          ? toolResult({ restarting: true, when: 'after the turns that run have ended' }, { title: 'restart' })
          : toolError(
              'not_supervised',
              `Nothing can start this kernel again. Tell the person to leave, and to continue with: pith chat --thread ${turn.threadId} --resume`,
            );
      },
    }),
    defineTool({
      name: 'configure_extension',
      description:
        'Change settings of an extension: names that its set-up asks for (see: pith setup), or keys of its config; not keys and addresses of model providers, which a person sets. They are checked, written to pith.yaml and used at once. Never for secrets: use request_secret.',
      input: z.object({
        extension_id: id,
        values: z.record(z.string().min(1), z.json()).describe('Values by name or dotted key; null takes one out'),
      }),
      effect: 'idempotent',
      permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
      needsApproval: ({ extension_id, values }) => ({
        text: `changes ${Object.keys(values).join(', ')} of the extension '${extension_id}' in pith.yaml, which counts from now on`,
        once: true,
      }),
      timeoutMs: 60_000,
      async execute({ extension_id, values }, { signal }) {
        if (extension_id === context.id)
          return toolError('not_allowed', `'${context.id}' cannot reload itself while it answers: a person must change pith.yaml`);
        const setup = context.find(CommandProvider).find(({ extensionId }) => extensionId === 'setup');
        if (setup === undefined)
          throw new PithError('provider_unavailable', "'setup' offers no commands here", { cure: 'use the command of Pith' });
        const set = Object.entries(values).map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
        return answered(
          () => captureCommand(setup, 'setup', { arguments: { id: extension_id }, options: { set, 'for-agent': true } }, signal),
          'not_configured',
        );
      },
    }),
    defineTool({
      name: 'request_secret',
      description:
        'Ask the person for a secret that an extension declares, such as a key. The person gives it outside this conversation: you learn only whether it is set. Never ask for a secret in the conversation itself.',
      input: z.object({ name: z.string().min(1).describe('The declared name'), why: z.string().min(1).max(300).optional() }),
      effect: 'idempotent',
      permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
      async execute({ name, why }, { signal, turn: { agent, threadId, userId } }) {
        const { values } = await run('secrets list', {}, signal);
        const known = values[0] as readonly {
          readonly name: string;
          readonly from: string | null;
          readonly extensions: readonly string[];
        }[];
        const found = known.find((secret) => secret.name === name);
        if (found === undefined)
          return toolError('not_declared', `No extension asks for a secret '${name}'. Known: ${known.map((each) => each.name).join(', ')}`);
        if (found.from !== null) return { name, set: true };
        const reason = why === undefined ? '' : `: ${why}`;
        const text = `'${agent.id}' needs the secret ${name}${reason}; give it with: pith secrets set ${name}`;
        await context.events.publish('notify', { v: 1, text, kind: 'secret', target: null, threadId, userId }, { key: threadId });
        return toolResult(
          {
            name,
            set: false,
            ask: `The person was asked to run: pith secrets set ${name} (in a conversation on a terminal: /secrets set ${name}). What they type is not shown and does not reach you. End your turn; they go on when it is set.`,
          },
          { title: `${name} is needed${reason}` },
        );
      },
    }),
  ];
}

/** The command's value, or its output as the tool's error. */
async function answered(run: () => Promise<CapturedCommand>, code: string) {
  const { exitCode, values, text } = await run();
  return exitCode === 0 ? (values[0] as JsonValue) : toolError(code, text);
}

const finding = z.looseObject({
  severity: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  file: z.string().optional(),
  line: z.number().optional(),
  cure: z.string().optional(),
});
const part = finding.extend({ id: z.string(), state: z.string(), phase: z.string().optional(), notes: z.array(finding).optional() });
const reportSchema = z.looseObject({
  ok: z.boolean(),
  model: z.looseObject({ ref: z.string(), why: z.string() }),
  extensions: z.array(part),
  agents: z.array(part),
  skills: z.record(z.string(), z.number()),
  notes: z.array(finding).optional(),
});

const MOST_FINDINGS = 30;

/** The report of `pith doctor --json` without healthy parts: ids by state, and the findings. */
function shortReport(report: JsonValue | undefined, only: string | undefined, reported: ReportedSkills): JsonValue {
  const { ok, model, extensions, agents, skills, notes = [] } = reportSchema.parse(report);
  const parts = [...extensions, ...agents].filter(({ id }) => only === undefined || id === only);
  const findings = [
    ...parts
      .filter(({ code }) => code !== undefined)
      .map((each) => ({ id: each.id, state: each.state, phase: each.phase, ...short(each) })),
    ...parts.flatMap(({ id, notes: own = [] }) => own.map((note) => ({ id, ...short(note) }))),
    ...(only === undefined
      ? notes.filter((note) => note.severity !== 'info' && reported.tells({ message: note.message ?? '', file: note.file })).map(short)
      : []),
  ];
  return JSON.parse(
    JSON.stringify({
      ok,
      model,
      extensions: byState(extensions, only),
      agents: byState(agents, only),
      ...(only === undefined ? { skills: { ...(reported.counts ?? skills) } } : {}),
      findings: findings.slice(0, MOST_FINDINGS),
      ...(findings.length > MOST_FINDINGS ? { more: findings.length - MOST_FINDINGS } : {}),
    }),
  ) as JsonValue;
}

function short({ code, message, file, line, cure }: z.infer<typeof finding>) {
  return { code, message, at: file === undefined ? undefined : `${file}${line === undefined ? '' : `:${line}`}`, cure };
}

function byState(parts: readonly z.infer<typeof part>[], only: string | undefined): Readonly<Record<string, readonly string[]>> {
  const states = new Map<string, string[]>();
  for (const { id, state } of parts) if (only === undefined || id === only) states.set(state, [...(states.get(state) ?? []), id]);
  return Object.fromEntries(states);
}

/** What a report may say about skills to an agent. */
interface ReportedSkills {
  /** null: all, because the agent may read every offered skill. */
  readonly counts: Readonly<Record<string, number>> | null;
  /** Whether a finding names nothing that is hidden from the agent. */
  tells(finding: Pick<Diagnostic, 'message' | 'file'>): boolean;
}

const ALL: ReportedSkills = { counts: null, tells: () => true };

/** Hides the skills that an agent may not read. */
async function reportedSkills(context: Pick<ExtensionContext, 'find'>, agent: AgentSpec, signal: AbortSignal): Promise<ReportedSkills> {
  const [provider] = context.find(SkillProvider);
  if (provider === undefined) return ALL;
  const skills = await provider.listSkills(signal);
  const readable = new Set(await readableBy(provider, agent, signal));
  const isReadable = ({ id, state }: Awaited<ReturnType<SkillProvider['listSkills']>>[number]) => state === 'offered' && readable.has(id);
  const hidden = skills.filter((skill) => !isReadable(skill));
  if (hidden.every(({ state }) => state !== 'offered')) return ALL;
  return {
    counts: { offered: skills.length - hidden.length },
    tells: ({ message = '', file }) => hidden.every((skill) => !message.includes(`'${skill.id}'`) && !(file && isOf(skill, file))),
  };
}

async function readableBy(provider: SkillProvider, agent: AgentSpec, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return (await provider.readableSkills?.(agent, signal)) ?? [];
  } catch {
    return []; // where that is unknown, nothing is reported
  }
}

function isOf(skill: Awaited<ReturnType<SkillProvider['listSkills']>>[number], file: string): boolean {
  const folder = path.extname(skill.path) === '' ? skill.path : path.dirname(skill.path);
  return file === folder || file.startsWith(folder + path.sep);
}
