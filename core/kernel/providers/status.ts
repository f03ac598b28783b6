import { askText, type Manifest, manifestAsks } from '../../trust/index.ts';
import type { Diagnostic, Failure } from '../../contract/index.ts';
import { canRun, type AgentDeclaration, type DeclaredModel, type ExtensionState } from '../records/extensions-port.ts';
import { agentSpecOf } from '../discovery/agent-spec.ts';
import { keepsNames, type Declaration, type Discovery } from '../discovery/declaration.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Tier } from '../calls/generation.ts';
import { runnable, type Slot } from '../lifecycle/slot.ts';
import { isExtension } from '../discovery/declaration.ts';
import { TOOLSET_INVALID } from '../../toolsets/toolset-declaration.ts';

/** One extension as `pith doctor` and `pith extensions list` show it. */
export interface ExtensionStatus {
  readonly id: string;
  readonly state: ExtensionState;
  readonly provides: readonly string[];
  readonly shipped: boolean;
  /** Where it runs, or would run. */
  readonly tier: Tier;
  readonly directory: string;
  readonly version: string;
  readonly generation: number;
  /** What it declares and asks for; null when its manifest is broken. */
  readonly manifest: Manifest | null;
  /** What its manifest asks for beyond its own folder, each with whether it has it and why nobody can give it. Shipped ones ask nobody. */
  readonly asks: readonly { readonly ask: string; readonly withheld: boolean; readonly never: string | null }[];
  /** The last failure; an active extension may have one that it survived. */
  readonly phase?: string;
  readonly code?: string;
  readonly message?: string;
  readonly file?: string;
  readonly line?: number;
  readonly cure?: string;
  /** Findings that do not stop it: `isolation_in_process`, slow phases, … */
  readonly notes: readonly Pick<Diagnostic, 'code' | 'message' | 'file' | 'line' | 'cure'>[];
}

/** One extension as `pith doctor` shows it. */
export function statusOf(lifecycle: Lifecycle, slot: Slot): ExtensionStatus {
  const { declaration, current, written } = slot;
  const state = lifecycle.stateOf(slot);
  const failure = state === 'disabled' ? undefined : failureOf(lifecycle, slot);
  return {
    id: slot.id,
    state,
    provides: declaration.manifest?.provides ?? [],
    shipped: current?.shipped || declaration.shipped,
    tier: current?.tier ?? lifecycle.runtime.rights.tierOf(declaration),
    directory: declaration.directory,
    version: declaration.manifest?.version ?? '',
    generation: current?.number ?? 0,
    manifest: declaration.manifest,
    asks: asksIn(written.declaration),
    ...(failure ? pick(failure, declaration) : {}),
    notes: notesOf(lifecycle, slot),
  };
}

function asksIn({ manifest, shipped, withheld = [] }: Declaration): ExtensionStatus['asks'] {
  if (manifest === null || shipped) return [];
  return [
    ...manifestAsks(manifest).map((ask) => ({ ask, withheld: false, never: null })),
    ...withheld.map((each) => ({ ...each, withheld: true })),
  ];
}

export function declaredModels(lifecycle: Lifecycle): readonly DeclaredModel[] {
  return runnable(lifecycle.slots).flatMap(({ id, declaration }) =>
    (declaration.manifest?.models ?? []).map((model) => ({ extensionId: id, shipped: keepsNames(declaration), ...model })),
  );
}

/** Every enabled agent, the same value while nothing changed; `spec` is null for those that a failure of their own or of a hard dependency keeps from running. */
export function declaredAgents(lifecycle: Lifecycle, discovery: Discovery): readonly AgentDeclaration[] {
  return [...discovery.declarations.values()]
    .filter((declaration) => isAgent(lifecycle, declaration))
    .map((declaration) => {
      const { id, file, positions } = declaration;
      const found = [...declaration.diagnostics, ...blockersOf(lifecycle, discovery, declaration)];
      const broken = declaration.manifest === null || found.some(({ severity }) => severity === 'error');
      return lasting(declaration, { id, file, positions, diagnostics: found, spec: broken ? null : agentSpecOf(declaration) });
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

function failureOf(lifecycle: Lifecycle, slot: Slot): Failure | undefined {
  const own = slot.current ? undefined : (slot.failure ?? slot.declared);
  if (own) return own;
  const blocker = slot.current ? undefined : lifecycle.blocker(slot);
  if (!blocker) return lifecycle.runtime.failures.last(slot.id) ?? partialToolset(slot);
  return {
    extensionId: slot.id,
    phase: 'order',
    code: 'dependency_failed',
    message: lifecycle.reason(slot) ?? '',
    at: 0,
    file: slot.declaration.file,
    cure: `fix '${blocker.id}'`,
  };
}

/** Some of a skill's modules bring nothing: it works, and is worth a look. */
function partialToolset({ id, notes, declaration }: Slot): Failure | undefined {
  const count = [...notes.values()].filter((code) => code === TOOLSET_INVALID).length;
  if (count === 0) return undefined;
  const message = `${count === 1 ? 'something that the skill names is' : `${count} things that the skill names are`} not there: see the notes`;
  return { extensionId: id, phase: 'import', code: TOOLSET_INVALID, message, at: 0, file: declaration.file, cure: 'correct the skill' };
}

function notesOf({ runtime: { rights } }: Lifecycle, { written, config, current, notes }: Slot): ExtensionStatus['notes'] {
  const { declaration } = written;
  const found: ExtensionStatus['notes'][number][] = [...notes].map(([message, code]) => ({
    code,
    message,
    ...(code === 'config_invalid' && { cure: 'correct the setting' }),
  }));
  for (const { severity, ...note } of declaration.diagnostics) if (severity !== 'error') found.push(note);
  for (const { ask, never } of declaration.withheld ?? [])
    found.push(
      never === null
        ? {
            code: 'not_agreed',
            message: `asks for ${askText(ask)}, which nobody has agreed to; agree with: pith extensions allow ${declaration.id}`,
          }
        : { code: 'not_agreed', message: `asks for ${askText(ask)}, which no extension is given: ${never}` },
    );
  const trusted = declaration.shipped || current?.shipped || config.isolation === 'in_process';
  if (!trusted && config.enabled && (current?.tier ?? rights.tierOf(declaration)) === 'in_process')
    found.push({
      code: 'isolation_in_process',
      message: 'runs in the process of the kernel: an endless loop, a full heap or a crash in it is not contained',
    });
  return found;
}

const IN_THE_MANIFEST: ReadonlySet<Failure['phase']> = new Set(['discover', 'validate', 'order']);

/** A finding always names a file and a cure, if only the general ones. */
function pick({ phase, code, message, file, line, cure }: Failure, declaration: Declaration) {
  const general = IN_THE_MANIFEST.has(phase) ? 'correct the manifest' : 'correct the source; it is loaded again by itself';
  return { phase, code, message, file: file ?? declaration.file, ...(line === undefined ? {} : { line }), cure: cure ?? general };
}

function pickDiagnostic({ code, message, line, cure }: Failure) {
  return { code, message, ...(line === undefined ? {} : { line, column: 1 }), ...(cure === undefined ? {} : { cure }) };
}
