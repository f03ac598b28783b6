import { askText, type Manifest } from '../../trust/index.ts';
import { type Diagnostic, messageOf, PithError } from '../../contract/index.ts';
import { type Failure, type Declaration, grantedAsks, isContractOnly } from '../../declarations/index.ts';
import type { ProcessTier } from '../lifecycle/tiers.ts';
import type { ExtensionState, Slot } from '../lifecycle/actor.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Tier } from '../calls/generation.ts';
import { guardProblem } from './guards.ts';
import { ERROR_CODES } from '../records/error-codes.ts';

/** One extension as `pith doctor` and `pith extensions list` show it, with its last failure; an active extension may have one that it survived. */
export interface ExtensionStatus extends Partial<Pick<Failure, 'phase' | 'code' | 'message' | 'file' | 'line' | 'cure'>> {
  readonly id: string;
  readonly state: ExtensionState;
  readonly provides: readonly string[];
  readonly shipped: boolean;
  /** Where it runs, or would run; null: it has only a contract, which runs in what imports it. */
  readonly tier: Tier | null;
  readonly directory: string;
  readonly version: string;
  readonly generation: number;
  /** What it declares and asks for; null when its manifest is broken. */
  readonly manifest: Manifest | null;
  /** What its manifest asks for beyond its own folder, each with whether it has it and why nobody can give it. Shipped ones ask nobody. */
  readonly asks: readonly { readonly ask: string; readonly withheld: boolean; readonly never: string | null }[];
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
    tier: tierOf(lifecycle, slot),
    directory: declaration.directory,
    version: declaration.manifest?.version ?? '',
    generation: current?.number ?? 0,
    manifest: declaration.manifest,
    asks: asksIn(written.declaration),
    ...(failure ? pick(failure, declaration) : {}),
    notes: notesOf(lifecycle, slot),
  };
}

function asksIn(declaration: Declaration): ExtensionStatus['asks'] {
  const { manifest, shipped, withheld = [] } = declaration;
  if (manifest === null) return [];
  return [
    ...(shipped ? [] : grantedAsks(declaration)).map((ask) => ({ ask, withheld: false, never: null })),
    ...withheld.map((each) => ({ ...each, withheld: true })),
  ];
}

function failureOf(lifecycle: Lifecycle, slot: Slot): Failure | undefined {
  const own = slot.current ? undefined : (slot.failure ?? slot.declared);
  if (own) return own;
  const blocker = slot.current ? undefined : lifecycle.blocker(slot);
  if (!blocker) return lifecycle.runtime.failures.last(slot.id) ?? partial(slot);
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

/** Of a dynamic one something is missing: it works, and is worth a look. */
function partial({ id, notes, declaration: { dynamic, file } }: Slot): Failure | undefined {
  const found = ownNotes(notes);
  if (dynamic === undefined || found.length === 0) return undefined;
  const message = `${found.length === 1 ? 'a part of it is' : `${found.length} parts of it are`} not there: see the notes`;
  return { extensionId: id, phase: 'import', code: found[0]!.code, message, at: 0, file, cure: 'correct it' };
}

/** Those that its code made, under its own code. */
export function ownNotes(notes: Slot['notes']): readonly { readonly code: string; readonly message: string }[] {
  return [...notes].flatMap(([message, code]) => (KERNEL_CODES.has(code) ? [] : [{ code, message }]));
}

const KERNEL_CODES: ReadonlySet<string> = new Set(ERROR_CODES);

function tierOf({ runtime }: Lifecycle, { declaration, current }: Slot): Tier | null {
  return isContractOnly(declaration) ? null : (current?.tier ?? runtime.rights.tierOf(declaration));
}

function notesOf(lifecycle: Lifecycle, slot: Slot): ExtensionStatus['notes'] {
  const { written, config, current, notes } = slot;
  const { declaration } = written;
  const mute = guardProblem(lifecycle, slot);
  const found: ExtensionStatus['notes'][number][] = [...notes]
    .filter(([message]) => !mute?.message.includes(message)) // it is said below
    .map(([message, code]) => ({ code, message, ...(code === 'config_invalid' && { cure: 'correct the setting' }) }));
  for (const { severity, ...note } of declaration.diagnostics) if (severity !== 'error') found.push(note);
  for (const { ask, never } of declaration.withheld ?? [])
    found.push(
      never === null
        ? {
            code: 'not_agreed',
            message: `asks to ${askText(ask)}, which nobody has agreed to; agree with: pith extensions allow ${declaration.id}`,
          }
        : { code: 'not_agreed', message: `asks to ${askText(ask)}, which is not possible: ${never}` },
    );
  if (mute !== null) found.push({ code: 'guard_failed', ...mute });
  if (declaration.shipped && lifecycle.runtime.loader.isAltered(declaration))
    found.push({
      code: 'not_as_shipped',
      message:
        'its files are not those that Pith was built with, or the build is damaged, so it runs without the rights of a shipped extension',
      cure: 'install Pith again; if you changed it on purpose: npm run build, and start Pith again',
    });
  const trusted = declaration.shipped || current?.shipped || config.isolation === 'in_process';
  if (!trusted && config.enabled && tierOf(lifecycle, slot) === 'in_process')
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

/** What `pith doctor` says of processes that run without the sandbox that the settings want: one note for all. */
export async function notesOnSandbox(
  processes: Pick<ProcessTier, 'confinement'> | undefined,
  extensions: readonly ExtensionStatus[],
): Promise<readonly Diagnostic[]> {
  try {
    const found = (await processes?.confinement()) ?? null;
    const open = extensions.filter(({ tier, state }) => tier === 'process' && state !== 'disabled').map(({ id }) => `'${id}'`);
    if (found === null || found.available || open.length === 0) return [];
    const message = `extensions in separate processes (${open.join(', ')}) can read files and use the network as you can, whatever their manifests ask for: ${found.why}`;
    return [{ severity: 'info', code: 'sandbox_unavailable', message, cure: found.cure }];
  } catch (error) {
    const message = `Pith cannot tell whether bubblewrap works here, so it starts no extension in a process: ${messageOf(error)}`;
    return [
      { severity: 'error', code: 'process_not_started', message, ...(error instanceof PithError && error.cure && { cure: error.cure }) },
    ];
  }
}
