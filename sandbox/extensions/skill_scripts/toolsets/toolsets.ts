import path from 'node:path';
import {
  Bundler,
  type DeclarationProvider,
  type Diagnostic,
  type DynamicDeclaration,
  type ExtensionContext,
  messageOf,
  PithError,
  Places,
} from 'pith';
import { isBelow } from '@pith/safe-files';
import { entryText } from './module-place.ts';
import { type SkillLibrary, type SkillRecord, TOOLSET } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import { hasToolset, skillsWithToolsets, toolsetOf } from './skill-toolset.ts';

/** A toolset that waits until a person agrees to these very bytes. */
export interface Waiting {
  readonly digest: string;
  readonly diagnostic: Diagnostic;
}

type Declared = Awaited<ReturnType<DeclarationProvider['declarations']>>[number];

/** The toolsets of skills, as extensions that this one declares. */
export class Toolsets {
  readonly #waiting = new Map<string, Waiting>();
  /** Somebody has asked for one, so it may be open. */
  #isUsed = false;

  constructor(
    private readonly context: ExtensionContext,
    private readonly library: Pick<SkillLibrary, 'records' | 'named'>,
  ) {}

  /** Those that may not run because nothing would confine them, by the skill's id. */
  get waiting(): ReadonlyMap<string, Waiting> {
    return this.#waiting;
  }

  /** That of one skill, if it has one now. Rejects where that may not run. */
  async one(extensionId: string): Promise<readonly Declared[]> {
    this.#isUsed = true;
    const skill = await this.#skillOf(extensionId.slice(TOOLSET.length));
    return skill === null ? [] : [await this.#declared(skill)];
  }

  /** Of every skill that is offered, as far as they may run. */
  async all(): Promise<readonly Declared[]> {
    this.#isUsed = true;
    const found: Declared[] = [];
    for (const skill of skillsWithToolsets(await this.library.records())) {
      const declared = await this.#declared(skill).catch((error: unknown) =>
        this.context.logger.warn('a toolset cannot run', { toolsetId: toolsetOf(skill), reason: messageOf(error) }),
      );
      if (declared) found.push(declared);
    }
    return found;
  }

  /** Skills or settings have changed: what is open may be gone. */
  async follow(): Promise<void> {
    const { id: extensionId, events } = this.context;
    for (const id of this.#waiting.keys()) if ((await this.#skillOf(id)) === null) this.#waiting.delete(id);
    if (this.#isUsed) await events.publish('provider.changed', { extensionId, protocol: 'declarations' });
  }

  /** A person agreed that it runs where nothing confines it. */
  async agree({ digest }: Waiting): Promise<void> {
    await this.context.kv.set(agreementOf(digest), true);
  }

  async #skillOf(id: string): Promise<SkillRecord | null> {
    const present = (await this.library.records()).skills.find((each) => each.id === id);
    const skill = present ?? (await this.library.named(id).catch(() => null));
    return skill !== null && hasToolset(skill) && toolsetOf(skill) === id ? skill : null;
  }

  async #declared(skill: SkillRecord): Promise<Declared> {
    const declaration = this.#declarationOf(skill);
    const { digest, unconfined } = await this.context.use(Bundler).inspect(declaration);
    this.#waiting.delete(toolsetOf(skill));
    if (unconfined !== null && !this.#isShipped(skill) && (await this.context.kv.get(agreementOf(digest))) !== true)
      throw this.#wait(skill, digest, unconfined);
    return { ...declaration, digest };
  }

  /** Code that came with a skill would run as the person does. To run everything without a sandbox is their choice too. */
  #wait(skill: SkillRecord, digest: string, { why, cure: install }: { readonly why: string; readonly cure: string }): PithError {
    const { realDirectory } = skill;
    const id = toolsetOf(skill);
    const code = 'sandbox_unavailable';
    const message = `the toolset of skill '${printableLine(id)}' cannot run: this system has no sandbox, and you have not allowed it to run without one (digest ${digest}): ${why}`;
    const cure = `${install}; or allow it once: pith skills allow ${printableLine(id)}`;
    this.#waiting.set(id, { digest, diagnostic: { severity: 'warning', code, message, file: realDirectory, cure } });
    return new PithError(code, message, { cure });
  }

  /** What ships in Pith's own folder is Pith's. */
  #isShipped({ realDirectory }: SkillRecord): boolean {
    const { sandbox, shippedSandbox } = this.context.use(Places);
    return shippedSandbox !== sandbox && isBelow(realDirectory, path.join(shippedSandbox, 'skills'));
  }

  #declarationOf(skill: SkillRecord): DynamicDeclaration {
    const { realDirectory: folder, toolsets, id, description } = skill;
    return {
      folder,
      file: path.join(folder, 'SKILL.md'),
      manifest: { id: TOOLSET + toolsetOf(skill), description },
      main: entryText(this.context.id, id, folder, toolsets),
    };
  }
}

function agreementOf(digest: string): string {
  return `unconfined ${digest}`;
}
