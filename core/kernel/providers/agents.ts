import { didYouMean } from '@pith/plain-text';
import { type AgentSpec, codeOf, type Diagnostic, type JsonValue, messageOf, PithError, AgentProvider } from '../../contract/index.ts';
import { type Failure, agentSpecOf, KERNEL_AGENT_KEYS, type Declaration, type Discovery, isExtension } from '../../declarations/index.ts';
import { type PromptTemplate, renderPrompt } from '../calls/render-prompt.ts';
import { canRun, type Slot } from '../lifecycle/actor.ts';
import { pathText, positionOf } from '@pith/checked-yaml';
import { type Lifecycle, unavailable } from '../lifecycle/lifecycle.ts';
import { DEFAULT_LIMITS } from '../../trust/index.ts';
import { deepFreeze } from '@pith/plain-data';
import type { GivenAgent } from '../calls/answers.ts';
import { toJsonValue } from '../calls/json-value.ts';
import { remoteOf } from './handle.ts';

/** An agent as the kernel checked and completed it. `spec` is null when its file is broken; then `diagnostics` say why. */
export interface FoundAgent extends Omit<Awaited<ReturnType<AgentProvider['listAgents']>>[number], 'spec'> {
  readonly spec: AgentSpec | null;
}

/** An agent as a file declares it. */
export interface AgentDeclaration extends FoundAgent {
  /** The extension to ask for it. */
  readonly readBy?: string | undefined;
}

/** The agents that manifests declare, and what their extensions do for them. */
export interface DeclaredAgents {
  /** Every enabled one, sorted by id. */
  declared(): readonly AgentDeclaration[];
  /** Those that extensions bring. Loads who brings them. Never rejects. */
  dynamic(): Promise<readonly FoundAgent[]>;
  /** Checks `agent.keys` with the extensions that own them; `keys`: without what is wrong in them. */
  checkKeys(spec: AgentSpec): Promise<CheckedKeys>;
  /** Renders where the code of `extensionId` runs: never in the kernel, unless that code runs there too. Rejects `prompt_invalid`, or `aborted`. */
  renderPrompt(extensionId: string, prompt: PromptTemplate, signal: AbortSignal): Promise<string>;
}

export interface CheckedKeys {
  readonly notes: readonly Diagnostic[];
  readonly keys: AgentSpec['keys'];
}

export function createDeclaredAgents(lifecycle: Lifecycle, discovery: () => Discovery): DeclaredAgents {
  return {
    declared: () => declaredAgents(lifecycle, discovery()),
    dynamic: () => dynamicAgents(lifecycle, discovery()),
    checkKeys: (spec) => checkAgentKeys(lifecycle, spec, discovery().declarations.get(spec.id)),
    renderPrompt: (...asked) => renderTemplate(lifecycle, ...asked),
  };
}

/** Every enabled agent; `spec` is null for those that their own failure, or that of a hard dependency, keeps from running. */
function declaredAgents(lifecycle: Lifecycle, discovery: Discovery): readonly AgentDeclaration[] {
  return [...discovery.declarations.values()]
    .filter((declaration) => isAgent(lifecycle, declaration))
    .map((declaration) => {
      const { id, file, positions, readBy } = declaration;
      const found = [...declaration.diagnostics, ...blockersOf(lifecycle, discovery, declaration)];
      const broken = declaration.manifest === null || found.some(({ severity }) => severity === 'error');
      return { id, file, positions, readBy, diagnostics: found, spec: broken ? null : agentSpecOf(declaration) };
    });
}

function isAgent(lifecycle: Lifecycle, declaration: Declaration): boolean {
  const isOne = declaration.manifest === null ? !isExtension(declaration) : declaration.manifest.agent !== undefined;
  return isOne && lifecycle.runtime.rights.configOf(declaration).enabled;
}

function blockersOf(lifecycle: Lifecycle, discovery: Discovery, declaration: Declaration): readonly Diagnostic[] {
  const failure = discovery.failures.get(declaration.id);
  if (failure && declaration.manifest !== null)
    return [{ severity: 'error', ...pickDiagnostic(failure), file: failure.file ?? declaration.file }];
  return (declaration.manifest?.depends_on ?? []).flatMap((id): Diagnostic[] => {
    const slot = lifecycle.slots.get(id);
    if (!slot || slot.pending || canRun(lifecycle.stateOf(slot))) return [];
    return [
      {
        severity: 'error',
        code: 'dependency_failed',
        message: `needs '${id}', which cannot run: ${lifecycle.reason(slot) ?? 'it failed'}`,
        file: declaration.file,
        cure: `fix '${id}'; see: pith doctor`,
      },
    ];
  });
}

function pickDiagnostic({ code, message, line, cure }: Failure) {
  return { code, message, ...(line === undefined ? {} : { line, column: 1 }), ...(cure === undefined ? {} : { cure }) };
}

/** Checks what is under `agent:` with the extensions that own the keys. `declaration` gives the places, for a declared agent. */
async function checkAgentKeys(lifecycle: Lifecycle, spec: AgentSpec, declaration: Declaration | undefined): Promise<CheckedKeys> {
  const owners = new Map(
    [...lifecycle.slots.values()].flatMap((slot) => (slot.declaration.manifest?.agent_keys ?? []).map((key) => [key, slot] as const)),
  );
  const at = placeIn(spec, declaration);
  let { keys } = spec;
  const checks = Object.entries(spec.keys).map(async ([key, value]) => {
    const owner = owners.get(key);
    if (owner) {
      const { notes, usable } = await checkKey(lifecycle, owner, [key, value], at);
      if (notes.length > 0) keys = { ...keys, [key]: usable as JsonValue };
      return notes;
    }
    if (declaration?.diagnostics.some(({ code }) => code === 'agent_key_unowned')) return []; // doubtful, and said so
    const unowned: Diagnostic = {
      severity: 'error',
      code: 'agent_key_unowned',
      message: `no extension owns 'agent.${key}'${didYouMean(key, [...owners.keys(), ...KERNEL_AGENT_KEYS])}`,
      cure: 'correct or remove the key',
      ...at(`agent.${key}`),
    };
    return [unowned];
  });
  const notes = (await Promise.all(checks)).flat();
  return { notes, keys };
}

type PlaceOf = (path: string) => Pick<Diagnostic, 'file' | 'line' | 'column'>;

async function checkKey(
  lifecycle: Lifecycle,
  owner: Slot,
  [key, value]: readonly [string, unknown],
  at: PlaceOf,
): Promise<{ notes: readonly Diagnostic[]; usable: unknown }> {
  try {
    const generation = await lifecycle.ready(owner);
    const { findings, usable } = await generation.checkAgentKey(key, value);
    const notes = findings.map(({ path, cure = `correct '${pathText([path])}'`, ...rest }) => ({ ...rest, cure, ...at(path) }));
    return { notes, usable };
  } catch (error) {
    const note: Diagnostic = {
      severity: 'warning',
      code: 'provider_unavailable',
      message: `'agent.${key}' was not checked: ${messageOf(error)}`,
      cure: `fix '${owner.id}'`,
      ...at(`agent.${key}`),
    };
    return { notes: [note], usable: value };
  }
}

function placeIn(spec: AgentSpec, declaration: Declaration | undefined): PlaceOf {
  const file = spec.origin ?? declaration?.file;
  return (path) => {
    const position = declaration?.file === file && declaration?.positions ? positionOf(declaration.positions, path.split('.')) : null;
    return { ...(file === undefined ? {} : { file }), ...position };
  };
}

const RENDER_MS = 5000;

async function renderTemplate(lifecycle: Lifecycle, extensionId: string, prompt: PromptTemplate, signal: AbortSignal): Promise<string> {
  const { runtime } = lifecycle;
  try {
    const slot = lifecycle.slots.get(extensionId);
    if (!slot) throw unavailable(extensionId, 'nothing declares it');
    if ((slot.current?.tier ?? runtime.rights.tierOf(slot.declaration)) === 'in_process') return await renderPrompt(prompt);
    const generation = await lifecycle.ready(slot);
    const timedOut = (): PithError => new PithError('provider_timeout', `it took longer than ${RENDER_MS} ms and was cut`);
    const text = await generation.calls.run({ timeoutMs: RENDER_MS, timedOut, signal }, (cut) => generation.renderPrompt(prompt, cut));
    return runtime.secrets.redact(text);
  } catch (error) {
    if (error instanceof PithError && (error.code === 'prompt_invalid' || error.code === 'aborted')) throw error;
    throw new PithError(
      'prompt_invalid',
      `the prompt of an agent of '${extensionId}' was not rendered by its process: ${messageOf(error)}`,
      {
        cause: error,
        where: prompt.file ?? undefined,
        cure: `see what is wrong with ${extensionId}: pith doctor`,
      },
    );
  }
}

const MOST_AGENTS = 1000;

/**
 * The agents that extensions bring, of two of one id the first, those of what ships first. Loads only providers that name no files, or whose
 * files are there. What a provider answers wrongly costs its own agents. Never rejects.
 */
export async function dynamicAgents(lifecycle: Lifecycle, { declarations }: Discovery): Promise<readonly FoundAgent[]> {
  const unread = [...declarations.values()].filter((each) => each.readBy !== undefined && lifecycle.runtime.rights.configOf(each).enabled);
  const filesOf = ({ id }: Slot) => unread.filter(({ readBy }) => readBy === id);
  const providers = [...lifecycle.slots.values()]
    .filter(({ declaration: { manifest } }) => manifest?.provides.includes(AgentProvider.id))
    .filter((slot) => slot.pending || canRun(lifecycle.stateOf(slot)))
    .filter((slot) => slot.declaration.manifest?.agent_files.length === 0 || filesOf(slot).length > 0)
    .sort((a, b) => Number(b.declaration.shipped) - Number(a.declaration.shipped) || (a.id < b.id ? -1 : 1));
  const answers = await Promise.all(providers.map(async (slot) => ({ slot, agents: await answerOf(lifecycle, slot, filesOf(slot)) })));
  const found = new Map<string, FoundAgent>();
  for (const { slot, agents } of answers)
    for (const each of agents) {
      const declared = declarations.get(each.id);
      const isFree = declared === undefined || (declared.readBy === slot.id && declared.file === each.file);
      if (isFree && !found.has(each.id)) found.set(each.id, each);
      else
        lifecycle.note(
          slot.id,
          `brings the agent '${each.id}', which ${declared?.file ?? found.get(each.id)?.file} declares`,
          'duplicate_id',
        );
    }
  for (const each of unread) if (!found.has(each.id)) found.set(each.id, unanswered(lifecycle, each));
  return [...found.values()];
}

async function answerOf(lifecycle: Lifecycle, slot: Slot, files: readonly Declaration[]): Promise<readonly FoundAgent[]> {
  try {
    await lifecycle.ready(slot);
    const { agentSchema } = await import('../calls/answers.ts'); // zod
    const answer: unknown = await remoteOf(lifecycle, slot.id, AgentProvider).listAgents(files.map(({ file }) => file));
    const given = Array.isArray(answer) && answer.length <= MOST_AGENTS ? answer : [null];
    const agents = given.flatMap((each: unknown) => checked(lifecycle, slot, agentSchema().safeParse(each).data, files) ?? []);
    if (agents.length < given.length)
      lifecycle.note(slot.id, 'listAgents gave something that is not { id, spec, diagnostics, file }; it is left out', 'provider_failed');
    return agents;
  } catch (error) {
    // A call that failed is recorded already.
    if (codeOf(error, '') === 'not_serialisable')
      lifecycle.note(slot.id, `its agents could not be read: ${messageOf(error)}`, 'provider_failed');
    return [];
  }
}

/** null: it is none. What it says about where it comes from does not count. */
function checked(lifecycle: Lifecycle, slot: Slot, data: GivenAgent | undefined, files: readonly Declaration[]): FoundAgent | null {
  if (data === undefined) return null;
  const { id, diagnostics, file, positions } = data;
  const given = { ...data.spec, id, limits: { ...DEFAULT_LIMITS, ...data.spec?.limits } };
  const found = data.spec && specOf(lifecycle, slot, toJsonValue(given, 'the agent') as unknown as AgentSpec);
  const prompt = files.find((each) => each.file === file)?.prompt;
  const spec = found && prompt && found.prompt === null ? { ...found, prompt: prompt.text, promptFile: prompt.file } : found;
  return deepFreeze({ id, spec, diagnostics, file, ...(positions ? { positions } : {}) });
}

function specOf(lifecycle: Lifecycle, { id: extensionId, declaration }: Slot, given: AgentSpec): AgentSpec {
  const { promptBy: _, declaredBy: __, ...spec } = given;
  const owned = new Set([...lifecycle.slots.values()].flatMap((slot) => slot.declaration.manifest?.agent_keys ?? []));
  const isForeign = lifecycle.runtime.rights.isForeign(declaration);
  const isLet = declaration.manifest?.permissions.agents.includes(spec.id) ?? false; // a manifest holds no more than a person agreed to
  return lifecycle.runtime.secrets.redactJson({
    ...spec,
    keys: Object.fromEntries(Object.entries(spec.keys).filter(([key]) => owned.has(key))),
    origin: spec.origin ?? declaration.file,
    ...(spec.prompt === null ? {} : { promptBy: extensionId }),
    ...(isForeign ? { declaredBy: { extensionId, ownOnly: !isLet } } : {}),
  });
}

/** A file that nothing made an agent of. */
function unanswered(lifecycle: Lifecycle, { id, file, readBy = '' }: Declaration): FoundAgent {
  const slot = lifecycle.slots.get(readBy);
  const why = (slot && lifecycle.reason(slot)) ?? (slot && canRun(lifecycle.stateOf(slot)) ? 'it gave no agent' : 'it is switched off');
  const message = `the extension '${readBy}', which reads it, made no agent of it: ${why}`;
  const note: Diagnostic = { severity: 'error', code: 'provider_unavailable', message, file, cure: `see: pith extensions show ${readBy}` };
  return { id, spec: null, diagnostics: [note], file };
}
