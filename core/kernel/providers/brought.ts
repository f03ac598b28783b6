import path from 'node:path';
import { isBelow } from '@pith/safe-files';
import { realpathSync } from 'node:fs';
import { type BroughtExtensions, type Diagnostic, messageOf, PithError } from '../../contract/index.ts';
import { type Declaration, isBrought, shortId } from '../../declarations/index.ts';
import { type Lifecycle, recorded } from '../lifecycle/lifecycle.ts';
import type { Scope } from '../lifecycle/scope.ts';
import { type Slot, wantedOf } from '../lifecycle/actor.ts';
import type { ProcessTier } from '../lifecycle/tiers.ts';
import type { ToolDescriptor } from '../calls/tools.ts';
import { callProvider } from './handle.ts';
import { ownNotes } from './status.ts';
import { toolsOf } from './tools.ts';

/** Extensions that others bring: each has a slot among those of declared ones, and lives as they do. */
export interface Bringing {
  /** What an extension that brings others reaches; all that it opened closes with `scope`. */
  for(user: Declaration, scope: Scope): BroughtExtensions;
  /** The tools of one that `bringerId` brings, opened where it is not yet. Rejects with the reason. */
  open(bringerId: string, extensionId: string): Promise<OpenedExtension>;
  /** Opens and loads all that can be brought, a few at a time, so that what is wrong with them shows. Never rejects. */
  openAll(): Promise<void>;
}

export interface OpenedExtension {
  readonly extensionId: string;
  readonly tools: readonly ToolDescriptor[];
  readonly notes?: readonly Diagnostic[];
}

export function createBringing(lifecycle: Lifecycle, processes: ProcessTier | undefined): Bringing {
  const { runtime, slots } = lifecycle;
  /** Who opened it last: another version of the same extension may since have closed what it had opened. */
  const owners = new Map<string, ReadonlySet<string>>();
  const opening = new Map<string, Promise<unknown>>();

  /** One after another for each id. */
  function inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const after = (opening.get(id) ?? Promise.resolve()).then(work);
    const done = after.catch(recorded).finally(() => {
      if (opening.get(id) === done) opening.delete(id);
    });
    opening.set(id, done);
    return after;
  }

  async function declare(user: Declaration, extension: Parameters<BroughtExtensions['open']>[0], digest: string): Promise<Slot> {
    const { id } = extension;
    const declaration = await declarationOf(lifecycle, user, extension);
    if (declaration.digest !== digest)
      throw new PithError('interrupted', `the code of '${id}' has just changed`, { retryable: true, cure: 'try again' });
    const known = slots.get(id);
    if (known?.written.declaration.digest === digest && known.declaration.directory === declaration.directory) return known;
    const slot = lifecycle.declare(wantedOf(runtime, declaration, null));
    if (known) await lifecycle.settled(id);
    return slot;
  }

  const answers = new WeakMap<Scope, BroughtExtensions>();
  const ofBringer = (user: Declaration, scope: Scope): BroughtExtensions => {
    const given = answers.get(scope);
    if (given) return given;
    if (!user.manifest?.provides.includes('brought'))
      throw new PithError('not_declared', `'${user.id}' brings other extensions, and its manifest does not say so`, {
        where: user.file,
        cure: "add 'brought' to 'provides'",
      });
    const opened = new Set<string>();
    const close = (id: string): void => {
      if (opened.delete(id) && owners.get(id) === opened && owners.delete(id)) lifecycle.withdraw(id);
    };
    scope.own(() => [...opened].forEach(close));
    const answer: BroughtExtensions = {
      prepare: async (extension) => {
        const { digest } = await declarationOf(lifecycle, user, extension);
        const found = (await processes?.confinement()) ?? null;
        return { digest, unconfined: found === null || found.available ? null : { why: found.why, cure: found.cure } };
      },
      open: (extension, digest) =>
        inTurn(extension.id, async () => {
          const slot = await declare(user, extension, digest);
          opened.add(slot.id);
          owners.set(slot.id, opened);
          const tools = await toolsOf(lifecycle, slot.id);
          return { tools: tools.map(({ name }) => name), findings: findingsOf(lifecycle, slot) };
        }),
      close: async (id) => close(id),
    };
    answers.set(scope, answer);
    return answer;
  };

  return {
    for: ofBringer,
    async open(bringerId, extensionId) {
      const notes = (await callProvider(lifecycle, bringerId, 'brought.bring', [extensionId])) as readonly Diagnostic[];
      const [error] = notes.filter(({ severity }) => severity === 'error');
      if (error) throw new PithError(error.code, error.message, { cure: error.cure });
      if (slots.get(extensionId)?.declaration.brought?.by !== bringerId)
        throw new PithError('not_allowed', `'${bringerId}' did not open '${extensionId}'`);
      return { extensionId, tools: await toolsOf(lifecycle, extensionId), notes };
    },
    async openAll() {
      for (const { id } of [...slots.values()].filter(({ declaration }) => declaration.manifest?.provides.includes('brought')))
        await callProvider(lifecycle, id, 'brought.bringAll', []).catch(recorded);
      const wanted = [...slots.values()].filter(({ declaration }) => declaration.brought);
      const isMany = wanted.length > MOST_OPEN;
      const worker = async (): Promise<void> => {
        for (let slot = wanted.shift(); slot; slot = wanted.shift()) {
          await lifecycle.ready(slot).catch(recorded);
          if (slot.current && isMany) lifecycle.post(slot.id, { type: 'idle', number: slot.current.number });
        }
      };
      await Promise.all(Array.from({ length: WORKERS }, worker));
    },
  };
}

const WORKERS = 4;
/** Of more, each process ends when it has been looked at. */
const MOST_OPEN = 16;
/** Of a name, which is that of a folder. */
const MOST_BYTES = 255;

async function declarationOf(
  lifecycle: Lifecycle,
  user: Declaration,
  extension: Parameters<BroughtExtensions['open']>[0],
): Promise<Declaration> {
  const { id } = extension;
  const name = shortId(id);
  const isName = name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name) && Buffer.byteLength(name) <= MOST_BYTES;
  if (!isBrought(id) || !isName) throw refused(`'${id.slice(0, 100)}' cannot be its id`);
  const by = lifecycle.slots.get(id)?.declaration.brought?.by ?? user.id;
  if (by !== user.id) throw refused(`'${by}' brings one of that id`);
  if (!isBelow(realpathSync(extension.entry), realpathSync(user.directory))) throw refused(`its entry is no file of '${user.id}'`);
  let directory: string;
  try {
    directory = realpathSync(extension.directory);
  } catch (error) {
    throw new PithError('import_failed', `the folder of '${id}' cannot be read: ${messageOf(error)}`, {
      cause: error,
      where: path.normalize(extension.directory),
    });
  }
  return lifecycle.runtime.loader.brought({ ...extension, directory }, user.id);
}

/** What was found wrong when it was loaded, or why what runs is not what is written. */
function findingsOf({ runtime }: Lifecycle, { id, notes, declaration: { file } }: Slot): readonly Diagnostic[] {
  const last = runtime.failures.last(id);
  return [...ownNotes(notes), ...(last?.phase === 'reload' ? [last] : [])].map(({ code, message }) => ({
    severity: 'warning',
    code,
    message,
    file,
    cure: "correct it; see 'pith doctor'",
  }));
}

function refused(why: string): PithError {
  return new PithError('not_allowed', `the extension that it brings cannot be opened: ${why}`);
}
