import { withCure } from '@pith/plain-text';
import { defineTool, PithError, toolError, toolResult, z, type Tool, type ToolCall, type ToolResult } from 'pith';
import { inputJsonSchema, usageOf, withoutNamesOfHost, type GivenInputs } from './domain/inputs.ts';
import { referenceOf, type SavedSkill } from './domain/saved-skill.ts';
import type { Person } from './domain/permissions.ts';
import type { Asked, Library } from './library/library.ts';
import { isExposedIn, isListedIn, toolNameOf } from './library/tool-names.ts';
import { runOfThread, type Run } from './runs/run.ts';
import type { Runner } from './running/runner.ts';
import type { RunStore } from './runs/run-store.ts';
import { createHash } from 'node:crypto';

export interface ToolPorts {
  readonly library: Library;
  readonly runs: RunStore;
  readonly runner: Runner;
  readonly maxComposed: number;
  readonly maxDepth: number;
}

/** Longer than any run may take. */
const TIMEOUT_MS = 2 * 3_600_000;

const inputs = () => z.record(z.string(), z.unknown()).default({}).describe('Its inputs by name.');
const call = () =>
  z.object({
    skill: z.string().describe('Its name, or owner/name.'),
    inputs: inputs(),
    priority: z.int().optional().describe('Above 0: more urgent than usual.'),
  });

/** What agents do with saved skills. */
export function skillTools(ports: ToolPorts): readonly Tool[] {
  return [
    defineTool({
      name: 'list_saved_skills',
      description: 'Lists the saved skills that you can run for the user, with their inputs.',
      input: z.object({ tag: z.string().optional() }),
      effect: 'read',
      permission: { authoring: 'anyone', safeToShare: true },
      async execute({ tag }, { turn }) {
        const person = await ports.library.person(turn);
        const all = await ports.library.list(person, tag === undefined ? {} : { tag });
        const inReach = runOfTurn(ports, turn) === null ? all.filter((skill) => isListedIn(skill, turn.channelId)) : all;
        const runnable = await ports.library.runnable(inReach, person);
        return {
          skills: runnable.map((each) => ({
            skill: referenceOf(each.skill),
            description: each.skill.description,
            inputs: usageOf(each.inputs),
          })),
        };
      },
    }),
    defineTool({
      name: 'skill_invoke',
      description: 'Runs a saved skill and returns its result.',
      input: call(),
      effect: 'idempotent',
      permission: { authoring: 'anyone', safeToShare: true },
      runsAgent: true,
      timeoutMs: TIMEOUT_MS,
      present: (result) => (result.ok ? 'Saved skill run' : `Saved skill: ${result.error.message}`),
      execute: (input, about) =>
        invoke(ports, { skill: input.skill, inputs: input.inputs as GivenInputs, priority: input.priority }, about),
    }),
    defineTool({
      name: 'skill_invoke_parallel',
      description: 'Runs several saved skills side by side; results are in the order of the calls. Only for saved skills that may do so.',
      input: z.object({ calls: z.array(call()).min(1) }),
      effect: 'idempotent',
      permission: { authoring: 'anyone', safeToShare: true },
      timeoutMs: TIMEOUT_MS,
      async execute({ calls }, about) {
        const run = runOfTurn(ports, about.turn);
        // Looked at with each call: an administrator may have taken it back.
        const found = run === null ? null : await ports.library.skills.byId(run.skillId);
        if (run === null || found?.skill.parallel_composition_allowed !== true)
          return toolError('not_allowed', 'only saved skills to which an administrator granted it run others side by side');
        const ids = calls.map((_each, index) => runIdOf(about, index));
        const all = async () => {
          if (!(await mayCompose(ports, run.id, ids))) return toolError('limit_reached', tooMany(ports));
          const results = await Promise.all(
            calls.map(({ skill, inputs: given, priority }, index) =>
              invoke(ports, { skill, inputs: given as GivenInputs, priority, sideBySide: true }, about, index).catch(refusalOf),
            ),
          );
          return {
            results: results.map((result) => (result.ok ? { ok: true, output: result.output } : { ok: false, error: result.error })),
          };
        };
        return ports.runner.inTurn(run.id, all, about.signal);
      },
    }),
    defineTool({
      name: 'update_status',
      description: 'Shows the person in one line what this run does now.',
      input: z.object({ text: z.string().min(1).max(200) }),
      effect: 'idempotent',
      permission: { authoring: 'anyone', safeToShare: true },
      optIn: true,
      async execute({ text }, { turn }) {
        const held = runOfTurn(ports, turn);
        if (held === null) return toolError('no_run', 'only a run of a saved skill has a status');
        await ports.runner.status(held, text);
        return { ok: true };
      },
    }),
  ];
}

/** The tool by which agents call an exposed skill. */
export function exposedTool(ports: ToolPorts, skill: SavedSkill): Tool {
  return defineTool({
    name: toolNameOf(skill),
    description: toolDescriptionOf(skill),
    input: z.record(z.string(), z.unknown()),
    inputSchema: inputJsonSchema(skill.input_schema),
    effect: 'idempotent',
    permission: { authoring: 'anyone', safeToShare: true },
    runsAgent: true,
    optIn: true,
    overridable: true,
    timeoutMs: TIMEOUT_MS,
    execute: (given, about) => invoke(ports, { skill: referenceOf(skill), inputs: given as GivenInputs, priority: undefined }, about),
  });
}

/** What whoever may call it is told of an exposed skill. */
export function toolDescriptionOf(skill: SavedSkill): string {
  return skill.chatbot_tool_description || skill.description || `Runs the saved skill ${skill.name}.`;
}

interface Invocation {
  readonly skill: string;
  readonly inputs: GivenInputs;
  readonly priority: number | undefined;
  /** With others of the same run; else one after the other. */
  readonly sideBySide?: boolean;
}

/** Runs a skill for the person of the turn: an exposed one in its lane, or any inside the run that composes it. */
async function invoke(
  ports: ToolPorts,
  { skill, inputs, priority, sideBySide = false }: Invocation,
  about: ToolCall,
  index = 0,
): Promise<ToolResult> {
  const { turn, signal } = about;
  const person = await ports.library.person(turn);
  const given = withoutNamesOfHost(inputs);
  const parent = runOfTurn(ports, turn);
  if (parent === null && runOfThread(turn.threadId) !== null)
    throw new PithError('no_run', 'this conversation belongs to a run that is not running here', { cure: 'ask in another conversation' });
  const id = runIdOf(about, index);
  if (parent !== null) {
    const work = () => compose(ports, { parent, skill, given, id, sideBySide }, person.userId, signal);
    return resultOf(await (sideBySide ? work() : ports.runner.inTurn(parent.id, work, signal)));
  }
  const origin = { channelId: turn.channelId, threadId: turn.threadId, message: turn.messageId ?? null };
  return runExposed(ports, { skill, inputs: given, origin, person, priority, id }, signal);
}

interface ExposedRun extends Pick<Asked, 'inputs' | 'origin' | 'priority' | 'id'> {
  readonly skill: string;
  readonly person: Person;
}

/** Runs a skill for a person who asks in a channel in which it is exposed, and waits for what comes of it. */
export async function runExposed(
  { library, runner }: Pick<ToolPorts, 'library' | 'runner'>,
  { skill, person, ...asked }: ExposedRun,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { skill: meant } = await library.find(skill, person, 'run');
  if (!isExposedIn(meant, asked.origin.channelId ?? ''))
    throw new PithError('not_allowed', `'${referenceOf(meant)}' is not exposed to this chat`, {
      cure: `its owner exposes it: pith saved expose ${referenceOf(meant)} on; or run it: pith run ${referenceOf(meant)}`,
    });
  return resultOf(await runner.settled(await library.run(skill, person, { ...asked, cause: 'tool' }), signal));
}

/** What refuses one of several calls costs that one only. */
function refusalOf(error: unknown): ToolResult {
  if (error instanceof PithError) return toolError(error.code, withCure(error.message, error.cure));
  throw error;
}

/** The run that this turn executes here. The name of a thread alone proves nothing: anybody may choose it. */
function runOfTurn({ runner }: ToolPorts, { threadId }: ToolCall['turn']): Run | null {
  const id = runOfThread(threadId);
  return id === null ? null : runner.held(id);
}

interface Composition {
  readonly parent: Run;
  readonly skill: string;
  readonly given: GivenInputs;
  readonly id: string;
  readonly sideBySide: boolean;
}

async function compose(
  ports: ToolPorts,
  { parent, skill: reference, given, id, sideBySide }: Composition,
  userId: string,
  signal: AbortSignal,
): Promise<Run> {
  const depth = parent.depth + 1;
  if (depth > ports.maxDepth)
    throw new PithError('limit_reached', `saved skills run each other ${ports.maxDepth} deep at most`, { cure: 'do it in this run' });
  const person = await ports.library.person({ userId });
  const { skill } = await ports.library.find(reference, person, 'run');
  const version = await ports.library.versionFor(skill, person);
  if (!sideBySide && !(await mayCompose(ports, parent.id, [id]))) throw new PithError('limit_reached', tooMany(ports));
  const { origin, lane, preemptible } = parent;
  const asked = { inputs: given, cause: 'composed', origin, id, userId: parent.userId, actsAs: parent.actsAs, by: person } as const;
  const run = {
    ...(await ports.library.newRun(skill, version, asked)),
    parent_id: parent.id,
    depth,
    lane,
    preemptible: Number(preemptible),
  };
  await ports.runs.arrive(run);
  return ports.runner.settled(await ports.runs.known(id), signal);
}

function resultOf({ id, state, output, error, sealed }: Run): ToolResult {
  if (sealed !== null) return toolError('key_unavailable', `run ${id} ended: ${state}; its result is encrypted: ${sealed}`);
  if (state === 'ok') return toolResult(output ?? '');
  if (state === 'waiting') return toolError('approval_needed', `run ${id} waits for a person's answer; it goes on by itself then`);
  return toolError(
    error?.code ?? state,
    `run ${id} ended: ${state}${error === null ? '' : `: ${error.message}`}${output ? `; so far: ${output}` : ''}`,
  );
}

/** Whether a run may compose these, besides what it has composed. */
async function mayCompose({ runs, maxComposed }: ToolPorts, parentId: string, ids: readonly string[]): Promise<boolean> {
  return new Set([...(await runs.composedBy(parentId)), ...ids]).size <= maxComposed;
}

function tooMany({ maxComposed }: ToolPorts): string {
  return `one run composes ${maxComposed} others at most; answer with what there is`;
}

const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The id of the run that a call asks for: the same for each attempt at the call, and in the order of time like every id of a run. */
function runIdOf({ turn, idempotencyKey }: Pick<ToolCall, 'turn' | 'idempotencyKey'>, index = 0): string {
  const time = /^[0-9A-HJKMNP-TV-Z]{10}/.exec(turn.id)?.[0] ?? '0000000000';
  const digest = createHash('sha256').update(`${idempotencyKey}/${index}`).digest();
  return time + [...digest.subarray(0, 16)].map((byte) => LETTERS[byte % 32]).join('');
}
