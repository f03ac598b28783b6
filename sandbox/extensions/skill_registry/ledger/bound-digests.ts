import type { SkillProvider, TurnInfo } from 'pith';
import type { Ledger } from './ledger.ts';

const LIMIT = 10_000;

/** Which text of each skill the kernel was last given for `uses_skills`: it asks just before the turn's context is made. */
export class BoundDigests {
  readonly #digests = new Map<string, string>();

  delivered({ id, sha256 }: Awaited<ReturnType<SkillProvider['getSkillContent']>>): void {
    if (this.#digests.size >= LIMIT) this.#digests.clear();
    this.#digests.set(id, sha256);
  }

  record(ledger: Ledger, turn: TurnInfo, bound: Iterable<string>): void {
    for (const skillId of bound) {
      const sha256 = this.#digests.get(skillId);
      if (sha256 !== undefined) ledger.record(turn, { skillId, state: 'loaded', how: 'uses_skills', sha256 });
    }
  }
}
