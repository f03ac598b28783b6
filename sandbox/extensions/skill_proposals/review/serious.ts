import { messageOf } from 'pith';
import { keepNewest } from '@pith/plain-data';
import { type SkillFinding, SkillInspector, SkillLibrary, type SkillRecord } from 'pith/skill_registry';
import type { Context } from '../config.ts';
import type { Candidates } from '../proposal/fit.ts';
import { contentDigest, type Entry, type Proposal } from '../proposal/proposal.ts';
import { isWaiting } from '../proposal/states.ts';
import { newOnes } from './folder-facts.ts';

const MOST_KEPT = 500;

/** What the scan finds in proposals that wait, and may do harm: for a list. The same change of the same skill is scanned once. */
export class Serious {
  readonly #found = new Map<string, Promise<readonly SkillFinding[]>>();

  constructor(
    private readonly context: Pick<Context, 'find' | 'logger' | 'use'>,
    private readonly candidates: Pick<Candidates, 'fit' | 'presentDigest' | 'skills'>,
  ) {}

  /** Lines by the ids of the proposals. One that does not wait, does not fit or cannot be scanned is left out: its review says why. */
  async of(entries: readonly Entry[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const waiting = entries.flatMap(({ state, proposal }) => (proposal !== null && isWaiting(state) ? [proposal] : []));
    const lines = new Map<string, readonly string[]>();
    const skills = waiting.length === 0 ? new Map<string, SkillRecord>() : await this.candidates.skills();
    for (const proposal of waiting) {
      const skill = skills.get(proposal.skill);
      if (skill === undefined) continue;
      try {
        lines.set(proposal.id, seriousLines(await this.#foundIn(proposal, skill)));
      } catch (error) {
        this.context.logger.debug('a proposal was not scanned for the list', { id: proposal.id, reason: messageOf(error) });
      }
    }
    return lines;
  }

  async #foundIn(proposal: Proposal, skill: SkillRecord): Promise<readonly SkillFinding[]> {
    const scanners = this.context.find(SkillInspector).map(({ extensionId }) => extensionId);
    const key = JSON.stringify([contentDigest(proposal), await this.candidates.presentDigest(skill), scanners]);
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const found = this.#scanned(proposal, skill);
    keepNewest(this.#found, key, found, MOST_KEPT);
    const isLasting = await found.then(
      (findings) => !findings.some(({ code }) => code === 'not_scanned'),
      () => false,
    );
    if (!isLasting) this.#found.delete(key);
    return found;
  }

  async #scanned(proposal: Proposal, skill: SkillRecord): Promise<readonly SkillFinding[]> {
    const fit = await this.candidates.fit(proposal, skill);
    if ('conflicts' in fit) return [];
    const library = this.context.use(SkillLibrary);
    const [before, after] = [await library.scan(fit.present.directory), await library.scan(fit.after.directory)];
    return newOnes(before ?? [], after ?? []);
  }
}

export function seriousLines(found: readonly SkillFinding[]): readonly string[] {
  return found.filter(({ severity }) => severity === 'high').map(({ file, line, message }) => `${file}:${line}: ${message}`);
}
