import { didYouMean } from '@pith/plain-text';
import { type AgentSpec, type Diagnostic, type JsonValue, messageOf, PithError } from '../../contract/index.ts';
import type { Failure } from '../records/failures.ts';
import { type AgentDeclaration, type BroughtPrompt, canRun, type FoundAgent } from '../records/extensions-port.ts';
import { broughtAgents } from './brought-agents.ts';
import { agentSpecOf, KERNEL_AGENT_KEYS } from '../discovery/agent-spec.ts';
import { type Declaration, type Discovery, isExtension } from '../discovery/declaration.ts';
import { renderPrompt } from '../calls/render-prompt.ts';
import { pathText, positionOf } from '@pith/checked-yaml';
import { type Lifecycle, unavailable } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/actor.ts';

/** The agents that manifests declare, and what their extensions do for them. */
export interface DeclaredAgents {
  /** Every enabled one, sorted by id. */
  declared(): readonly AgentDeclaration[];
  /** Those that extensions bring. Loads who brings them. Never rejects. */
  brought(): Promise<readonly FoundAgent[]>;
  /** Checks `agent.keys` with the extensions that own them; `keys`: without what is wrong in them. */
  checkKeys(spec: AgentSpec): Promise<CheckedKeys>;
  /** Renders where the code of `extensionId` runs: never in the kernel, unless that code runs there too. Rejects `prompt_invalid`, or `aborted`. */
  renderPrompt(extensionId: string, prompt: BroughtPrompt, signal: AbortSignal): Promise<string>;
}

export interface CheckedKeys {
  readonly notes: readonly Diagnostic[];
  readonly keys: AgentSpec['keys'];
}

export function createDeclaredAgents(lifecycle: Lifecycle, discovery: () => Discovery): DeclaredAgents {
  return {
    declared: () => declaredAgents(lifecycle, discovery()),
    brought: () => broughtAgents(lifecycle, discovery()),
    checkKeys: (spec) => checkAgentKeys(lifecycle, spec, discovery().declarations.get(spec.id)),
    renderPrompt: (...asked) => renderBrought(lifecycle, ...asked),
  };
}

/** Every enabled agent, the same value while nothing changed; `spec` is null for those that a failure of their own or of a hard dependency keeps from running. */
function declaredAgents(lifecycle: Lifecycle, discovery: Discovery): readonly AgentDeclaration[] {
  return [...discovery.declarations.values()]
    .filter((declaration) => isAgent(lifecycle, declaration))
    .map((declaration) => {
      const { id, file, positions, readBy } = declaration;
      const found = [...declaration.diagnostics, ...blockersOf(lifecycle, discovery, declaration)];
      const broken = declaration.manifest === null || found.some(({ severity }) => severity === 'error');
      return lasting(declaration, { id, file, positions, readBy, diagnostics: found, spec: broken ? null : agentSpecOf(declaration) });
    });
}

const lastDeclared = new WeakMap<Declaration, AgentDeclaration>();

/** The value that was given out before, while it still holds: whoever checked it need not check again. */
function lasting(declaration: Declaration, next: AgentDeclaration): AgentDeclaration {
  const last = lastDeclared.get(declaration);
  if (last && last.spec === next.spec && JSON.stringify(last.diagnostics) === JSON.stringify(next.diagnostics)) return last;
  lastDeclared.set(declaration, next);
  return next;
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

/** Checks what stands under `agent:` with the extensions that own the keys. `declaration` gives the places, for a declared agent. */
async function checkAgentKeys(lifecycle: Lifecycle, spec: AgentSpec, declaration: Declaration | undefined): Promise<CheckedKeys> {
  const owners = new Map(
    [...lifecycle.slots.values()].flatMap((slot) => (slot.declaration.manifest?.agent_keys ?? []).map((key) => [key, slot] as const)),
  );
  const at = placeIn(spec, declaration);
  let { keys } = spec;
  const checks = Object.entries(spec.keys).map(async ([key, value]) => {
    const owner = owners.get(key);
    if (owner) {
      const { notes, usable } = await checkKey(lifecycle, owner, key, value, at);
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
  key: string,
  value: unknown,
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

async function renderBrought(lifecycle: Lifecycle, extensionId: string, prompt: BroughtPrompt, signal: AbortSignal): Promise<string> {
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
    throw new PithError('prompt_invalid', `the prompt that '${extensionId}' brought was not rendered by its process: ${messageOf(error)}`, {
      cause: error,
      where: prompt.file ?? undefined,
      cure: `see 'pith doctor' for ${extensionId}`,
    });
  }
}
