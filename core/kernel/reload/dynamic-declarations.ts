import { type Bundler, type Diagnostic, type DynamicDeclaration, messageOf, PithError } from '../../contract/index.ts';
import { type Declaration, dynamicDeclaration } from '../../declarations/index.ts';
import type { ToolDescriptor } from '../calls/tools.ts';
import { type Slot, wantedOf } from '../lifecycle/actor.ts';
import { type Lifecycle, recorded, unavailable } from '../lifecycle/lifecycle.ts';
import type { ProcessTier } from '../lifecycle/tiers.ts';
import { callProvider } from '../providers/handle.ts';
import { ownNotes } from '../providers/status.ts';
import { toolsOf } from '../providers/tools.ts';

/** What extensions declare beside folders. Each lives as one of a folder does, for as long as its provider declares it. */
export interface DynamicDeclarations {
  /** What an extension that declares others reaches. */
  bundler(user: Declaration): Bundler;
  /** One as its code is now, with its tools. Whoever asks for one that is being opened waits for the same. */
  open(providerId: string, id: string): Opening;
  /** All that can be declared, loaded a few at a time, so that what is wrong with them shows. Never rejects. */
  openAll(): Promise<void>;
}

interface Opening {
  readonly since: number;
  /** Rejects with the reason. */
  readonly opened: Promise<OpenedExtension>;
}

interface OpenedExtension {
  readonly tools: readonly ToolDescriptor[];
  /** What is wrong with it. */
  readonly problems: readonly Pick<Diagnostic, 'code' | 'message'>[];
}

type Given = DynamicDeclaration & { readonly digest: string };

export function createDynamicDeclarations(
  lifecycle: Lifecycle,
  processes: Pick<ProcessTier, 'confinement'> | undefined,
  onChange: (listener: (ids: ReadonlySet<string>) => void) => unknown,
): DynamicDeclarations {
  const { runtime, slots } = lifecycle;
  const openings = new Map<string, Opening>();
  /** Keys of openings during which the provider said that something changed. */
  const overtaken = new Set<string>();
  const ask = (providerId: string, id: string | null) =>
    callProvider(lifecycle, providerId, 'declarations.declarations', [id]) as Promise<readonly Given[]>;
  const askFor = async (providerId: string, id: string): Promise<Given | undefined> =>
    (await ask(providerId, id)).find(({ manifest }) => manifest.id === id);
  const idsOf = (providerId: string): readonly string[] =>
    [...slots.values()].flatMap(({ id, declaration }) => (declaration.dynamic?.by === providerId ? [id] : []));

  function declare(providerId: string, given: Given): Slot {
    const declaration = dynamicDeclaration(lifecycle.slotOf(providerId).declaration, given, given.digest);
    const known = slots.get(declaration.id);
    const by = known?.declaration.dynamic?.by;
    if (known && by !== providerId) throw new PithError('not_allowed', `'${providerId}' declares '${known.id}', and so does '${by}'`);
    const { digest, directory } = known?.written.declaration ?? {};
    if (known && digest === declaration.digest && directory === declaration.directory) return known;
    return lifecycle.declare(wantedOf(runtime, declaration, null));
  }

  async function open(providerId: string, given: Given): Promise<OpenedExtension> {
    const slot = declare(providerId, given);
    await lifecycle.settled(slot.id);
    return { tools: await toolsOf(lifecycle, slot.id), problems: problemsOf(lifecycle, slot) };
  }

  /** As the provider declares it when the opening ends: what changed meanwhile is opened again. */
  async function openCurrent(providerId: string, id: string): Promise<OpenedExtension> {
    const key = `${providerId} ${id}`;
    for (let rounds = 1; ; rounds += 1) {
      overtaken.delete(key);
      const [result] = await Promise.allSettled([openDeclared(providerId, id)]);
      if (overtaken.delete(key) && rounds < MOST_ROUNDS) continue;
      openings.delete(key);
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    }
  }

  async function openDeclared(providerId: string, id: string): Promise<OpenedExtension> {
    const given = await askFor(providerId, id);
    if (given !== undefined) return open(providerId, given);
    withdraw(providerId, id);
    throw unavailable(id, `'${providerId}' does not declare it at the moment`);
  }

  function withdraw(providerId: string, id: string): void {
    if (idsOf(providerId).includes(id)) lifecycle.withdraw(id);
  }

  /** Takes what the provider declares now, and stops what it declares no more. One that it cannot tell stays as it is. */
  async function follow(providerId: string): Promise<void> {
    await lifecycle.settled(providerId);
    for (const key of openings.keys()) if (key.startsWith(`${providerId} `)) overtaken.add(key);
    for (const id of lifecycle.stopped ? [] : idsOf(providerId)) {
      if (openings.has(`${providerId} ${id}`)) continue;
      const given = slots.get(providerId)?.current ? await askFor(providerId, id).catch(() => null) : undefined; // null: it may not run as it is now
      if (given === undefined) withdraw(providerId, id);
      else if (given && slots.has(id)) declare(providerId, given);
    }
  }

  const followLater = (providerId: string): void =>
    void follow(providerId).catch((error: unknown) =>
      runtime.logger('host').error('what an extension declares cannot be followed', { extensionId: providerId, reason: messageOf(error) }),
    );
  runtime.services.events.handle('provider.changed', ({ extensionId, protocol }) => {
    if (protocol === 'declarations') followLater(extensionId);
  });
  onChange((ids) => [...ids].filter((id) => idsOf(id).length > 0).forEach(followLater));

  return {
    bundler: (user) => ({
      async inspect(declaration) {
        const digest = await runtime.loader.digestOf(dynamicDeclaration(user, declaration));
        const found = (await processes?.confinement()) ?? null;
        return { digest, unconfined: found === null || found.available ? null : { why: found.why, cure: found.cure } };
      },
    }),
    open(providerId, id) {
      const key = `${providerId} ${id}`;
      const known = openings.get(key);
      if (known) return known;
      const opened = openCurrent(providerId, id);
      opened.catch(recorded);
      const opening = { since: runtime.clock.now(), opened };
      openings.set(key, opening);
      return opening;
    },
    async openAll() {
      for (const { id: providerId } of [...slots.values()].filter(({ declaration }) =>
        declaration.manifest?.provides.includes('declarations'),
      )) {
        const wanted = [...((await ask(providerId, null).catch(recorded)) ?? [])];
        const isMany = wanted.length > MOST_OPEN;
        const worker = async (): Promise<void> => {
          for (let next = wanted.shift(); next; next = wanted.shift()) {
            await open(providerId, next).catch(recorded);
            const slot = slots.get(next.manifest.id);
            if (slot === undefined) continue;
            const { number } = (await lifecycle.ready(slot).catch(recorded)) ?? {};
            if (isMany && number !== undefined) lifecycle.post(slot.id, { type: 'idle', number });
          }
        };
        await Promise.all(Array.from({ length: WORKERS }, worker));
      }
    },
  };
}

/** A provider that says at each question that something changed must not keep a turn waiting. */
const MOST_ROUNDS = 5;
const WORKERS = 4;
/** Of more, each process ends when it has been looked at. */
const MOST_OPEN = 16;

/** What was found wrong when it was loaded, or why what runs is not what is written. */
function problemsOf({ runtime }: Lifecycle, { id, notes }: Slot): OpenedExtension['problems'] {
  const last = runtime.failures.last(id);
  return [...ownNotes(notes), ...(last?.phase === 'reload' ? [last] : [])];
}
