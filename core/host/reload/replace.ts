import { messageOf } from '../../contract/errors.ts';
import type { Failure } from '../../contract/index.ts';
import type { ExtensionConfig } from '../settings/config-of.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { close, type Candidate, type Generation } from '../lifecycle/generation.ts';
import { recorded, unavailable, type Lifecycle } from '../lifecycle/lifecycle.ts';
import { construct } from '../lifecycle/tier.ts';
import { isBlocked } from '../discovery/order.ts';
import { Problem, problemOf } from '../problem.ts';
import type { Slot } from '../lifecycle/slot.ts';

export const DRAIN_MS = 5000;

export interface NewDeclaration {
  readonly declaration: Declaration;
  readonly config: ExtensionConfig;
  readonly declared: Failure | null;
}

/** Gives an extension a new declaration: one that runs is replaced, one that may not run any more is stopped. Never rejects. */
export function update(lifecycle: Lifecycle, slot: Slot, next: NewDeclaration): Promise<void> {
  return inTurn(slot, async () => {
    await slot.pending?.catch(recorded);
    Object.assign(slot, next);
    forgive(slot);
    if (!slot.current) {
      lifecycle.parts.failures.clear(slot.id); // of what was written before
      lifecycle.changed(slot.id);
    } else if (!slot.config.enabled || lacksDependency(lifecycle, slot)) await lifecycle.rest(slot, null, DRAIN_MS);
    else if (slot.declared === null) await replace(lifecycle, slot, slot.current);
    else if (!isBlocked(slot.declared)) keepOld(lifecycle, slot, problemOfFailure(slot.declared));
  });
}

/** Loads an extension anew although nothing changed; what failed gets another chance. Never rejects. */
export async function reloadByHand(lifecycle: Lifecycle, slot: Slot): Promise<void> {
  await inTurn(slot, async () => {
    await slot.pending?.catch(recorded);
    await lifecycle.renewConfig(slot);
    forgive(slot);
    if (lifecycle.parts.options.quarantine?.lift(slot.id) && slot.declared?.code === 'quarantined') slot.declared = null;
    lifecycle.parts.failures.clear(slot.id);
    if (slot.current) await replace(lifecycle, slot, slot.current);
    else await lifecycle.ready(slot).catch(recorded);
  });
  await lifecycle.wakeServices(); // of what needs it
}

/** Stops an extension whose folder is gone. Never rejects. */
export function retire(lifecycle: Lifecycle, slot: Slot): Promise<void> {
  return inTurn(slot, async () => {
    await slot.pending?.catch(recorded);
    await lifecycle.rest(slot, null, DRAIN_MS);
  });
}

function lacksDependency(lifecycle: Lifecycle, slot: Slot): boolean {
  const wanted = slot.declaration.manifest?.depends_on ?? [];
  return wanted.some((id) => !lifecycle.slots.has(id)) || lifecycle.blocker(slot) !== undefined;
}

function problemOfFailure({ phase, code, message, file, line, cure }: Failure): Problem {
  return new Problem(phase, code as 'manifest_invalid', message, { file, line, cure });
}

function forgive(slot: Slot): void {
  slot.failure = null;
  slot.crashes = [];
  slot.notBefore = 0;
  slot.withoutRoom = 0;
  slot.notes.clear();
}

function inTurn(slot: Slot, run: () => Promise<void>): Promise<void> {
  const done = slot.updating.then(run);
  slot.updating = done.catch(recorded);
  return done;
}

/** What fails before the switch leaves the old version untouched; what fails after it brings the old version back. */
async function replace(lifecycle: Lifecycle, slot: Slot, old: Generation): Promise<void> {
  const { parts } = lifecycle;
  parts.failures.clear(slot.id); // what follows belongs to the new version
  let candidate: Candidate;
  try {
    candidate = await construct(parts, slot.declaration, ++slot.generations);
  } catch (error) {
    keepOld(lifecycle, slot, error);
    return;
  }
  slot.current = null;
  const pending = change(lifecycle, slot, old, candidate).finally(() => (slot.pending = null));
  slot.pending = pending;
  await pending.catch(recorded);
  lifecycle.changed(slot.id);
}

async function change(lifecycle: Lifecycle, slot: Slot, old: Generation, candidate: Candidate): Promise<Generation> {
  const { parts } = lifecycle;
  await close(old, DRAIN_MS);
  try {
    slot.current = await run(lifecycle, slot, candidate);
    parts.options.events.publish('extension.reloaded', { extensionId: slot.id, generation: slot.current.number });
    lifecycle.remember(slot, slot.current);
    return slot.current;
  } catch (error) {
    keepOld(lifecycle, slot, error);
  }
  try {
    slot.current = await run(lifecycle, slot, await old.again(++slot.generations));
    return slot.current;
  } catch (error) {
    const { message } = lifecycle.failed(slot, problemOf(error, 'reload', 'initialize_failed'));
    throw unavailable(slot.id, message, error);
  }
}

async function run(lifecycle: Lifecycle, slot: Slot, candidate: Candidate): Promise<Generation> {
  const generation = await candidate.initialize();
  try {
    await lifecycle.startOrFail(slot, generation);
    return generation;
  } catch (error) {
    await close(generation, 0);
    throw error;
  }
}

function keepOld(lifecycle: Lifecycle, slot: Slot, error: unknown): void {
  const problem = problemOf(error, 'reload', 'import_failed');
  const message = `${problem.phase} of the new version failed, so the last good version is in use: ${messageOf(error)}`;
  const { file, line, cure } = problem;
  lifecycle.parts.failures.record(
    slot.id,
    new Problem('reload', problem.code as 'import_failed', message, { cause: problem.cause, cure, file, line }),
  );
}
