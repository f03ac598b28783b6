import { messageOf, PithError, type TurnSeal } from 'pith';
import type { RunSealing } from '../contract.ts';
import type { Run } from './run.ts';

/** Begins a text of a run that is sealed. */
const MARK = 'pith:sealed:';

/** What is written down of runs of encrypted skills: their conversations, their results. */
export class RunSeal {
  /** `provider`: whoever seals; null: nobody does. */
  constructor(private readonly provider: () => RunSealing | null) {}

  /** Rejects `key_unavailable` where it cannot be sealed. */
  async of(skillId: string): Promise<TurnSeal> {
    const provider = this.#provider();
    await provider.seal(skillId, ''); // before anything is asked of the model
    return { seal: (text) => provider.seal(skillId, text), open: (sealed) => provider.open(skillId, sealed) };
  }

  async sealed(skillId: string, text: string | null): Promise<string | null> {
    return text === null ? null : `${MARK}${await this.#provider().seal(skillId, text)}`;
  }

  /** With its result, or why that cannot be read. */
  async opened(run: Run): Promise<Run> {
    if (run.output === null || !run.output.startsWith(MARK)) return run;
    try {
      return { ...run, output: await this.#provider().open(run.skillId, run.output.slice(MARK.length)) };
    } catch (error) {
      return { ...run, output: null, sealed: messageOf(error) };
    }
  }

  #provider(): RunSealing {
    const found = this.provider();
    if (found !== null) return found;
    throw new PithError('key_unavailable', 'what runs of this skill keep is encrypted, and nothing decrypts it', {
      cure: 'switch skill_vault on',
    });
  }
}
