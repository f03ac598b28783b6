import path from 'node:path';
import { BroughtExtensions, codeOf, type Diagnostic, type ExtensionContext, messageOf, PithError, Places } from 'pith';
import { isBelow } from '@pith/safe-files';
import { placeOfModule } from './module-place.ts';
import { toolsetLoaded, type ToolsetLoaded } from '../contract.ts';
import { type SkillLibrary, type SkillRecord, TOOLSET } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import { hasToolset, keepOutcome, skillsWithToolsets, toolsetOf } from './skill-toolset.ts';

/** A toolset for which nobody has asked for so long is closed; its process has ended long before. */
const CLOSED_AFTER_MS = 30 * 60_000;
/** So many are opened at once when all are. */
const WORKERS = 4;

/** A toolset that waits until a person agrees to these very bytes. */
export interface Waiting {
  readonly digest: string;
  readonly diagnostic: Diagnostic;
}

/** The toolsets of skills, as extensions that this one brings. */
export class Toolsets {
  /** When each that is open was asked for, by its id: the skill's, or `id@…` of a kept version. */
  readonly #open = new Map<string, number>();
  readonly #published = new Map<string, string>();
  readonly #waiting = new Map<string, Waiting>();

  constructor(
    private readonly context: ExtensionContext,
    private readonly library: Pick<SkillLibrary, 'records' | 'named'>,
  ) {}

  /** Those that were not opened because nothing would confine them, by the skill's id. */
  get waiting(): ReadonlyMap<string, Waiting> {
    return this.#waiting;
  }

  /** Findings of severity `error`: it is not open. */
  async bring(extensionId: string): Promise<readonly Diagnostic[]> {
    const id = extensionId.slice(TOOLSET.length);
    const present = (await this.library.records()).skills.find((each) => each.id === id);
    const skill = present ?? (await this.library.named(id).catch(() => null));
    if (skill === null || !hasToolset(skill) || toolsetOf(skill) !== id)
      return [{ severity: 'error', code: 'provider_unavailable', message: `the skill '${printableLine(id)}' has no tools at the moment` }];
    const { clock } = this.context;
    this.#open.set(id, clock.now());
    this.#sweep(clock.now());
    try {
      const { tools, findings: found } = await this.#opened(skill);
      const findings = found.map((each) => ({ ...each, message: printableLine(each.message) })); // names of the skill are in it
      this.#publish({ toolsetId: id, tools, problems: findings.map(({ message }) => message) });
      return findings;
    } catch (error) {
      const cure = error instanceof PithError ? error.cure : undefined;
      const message = printableLine(messageOf(error));
      if (!this.#waiting.has(id)) this.#publish({ toolsetId: id, tools: [], problems: [message] });
      return [{ severity: 'error', code: codeOf(error, 'provider_unavailable'), message, ...(cure === undefined ? {} : { cure }) }];
    }
  }

  /** Of every skill that is offered, a few at a time. */
  async bringAll(): Promise<void> {
    const wanted = [...skillsWithToolsets(await this.library.records())];
    const worker = async (): Promise<void> => {
      for (let next = wanted.shift(); next; next = wanted.shift()) await this.bring(TOOLSET + next.id);
    };
    await Promise.all(Array.from({ length: WORKERS }, worker));
  }

  /** Those of skills that are gone are closed: a call of one of their tools says so. */
  async follow(): Promise<void> {
    if (this.#open.size === 0) return;
    const offered = new Set(skillsWithToolsets(await this.library.records()).map(({ id }) => id));
    for (const id of this.#open.keys()) if (!offered.has(id) && !(await this.#isKept(id))) this.#close(id);
  }

  /** A person agreed that it runs where nothing confines it. */
  async agree({ digest }: Waiting): Promise<void> {
    await this.context.kv.set(agreementOf(digest), true);
  }

  async #isKept(id: string): Promise<boolean> {
    const skill = await this.library.named(id).catch(() => null);
    return skill !== null && skill.id !== id && toolsetOf(skill) === id;
  }

  async #opened(skill: SkillRecord): Promise<Awaited<ReturnType<BroughtExtensions['open']>>> {
    const brought = this.context.use(BroughtExtensions);
    const extension = this.#extensionOf(skill);
    const { digest, unconfined } = await brought.prepare(extension);
    this.#waiting.delete(toolsetOf(skill));
    if (unconfined !== null && !this.#isShipped(skill) && (await this.context.kv.get(agreementOf(digest))) !== true)
      throw this.#wait(skill, digest, unconfined);
    return brought.open(extension, digest);
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

  #extensionOf(skill: SkillRecord): Parameters<BroughtExtensions['open']>[0] {
    const { realDirectory, toolsets } = skill;
    return {
      id: TOOLSET + toolsetOf(skill),
      directory: realDirectory,
      file: path.join(realDirectory, 'SKILL.md'),
      entry: path.join(this.context.directory, 'toolsets/make-toolset.ts'),
      modules: toolsets.map((spec) => placeOfModule(realDirectory, spec)),
    };
  }

  #publish(outcome: ToolsetLoaded): void {
    const text = JSON.stringify(outcome);
    if (this.#published.get(outcome.toolsetId) === text) return;
    this.#published.set(outcome.toolsetId, text);
    keepOutcome(this.context, outcome);
    void this.context.events.publish(toolsetLoaded, outcome);
  }

  #sweep(now: number): void {
    for (const [id, askedAt] of this.#open) {
      if (now < askedAt) this.#open.set(id, now); // the clock was set back
      else if (now - askedAt > CLOSED_AFTER_MS) this.#close(id);
    }
  }

  #close(id: string): void {
    this.#open.delete(id);
    this.#published.delete(id);
    this.#waiting.delete(id);
    void this.context.use(BroughtExtensions).close(TOOLSET + id);
  }
}

function agreementOf(digest: string): string {
  return `unconfined ${digest}`;
}
