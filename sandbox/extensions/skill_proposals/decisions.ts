import path from 'node:path';
import { PithError, type Remote } from 'pith';
import { printableLine } from '@pith/plain-text';
import { treeDigest } from '@pith/skill-files';
import { SkillWriter } from 'pith/skill_registry';
import { readSkillTree, writeSkillTree } from './change/skill-tree.ts';
import type { Context } from './config.ts';
import type { Fitted } from './proposal/fit.ts';
import type { Entry, Proposal } from './proposal/proposal.ts';
import type { Proposals } from './proposal/proposals.ts';
import { type Misfit, reviewDigest, type Review, reviewOf } from './review/review.ts';
import { Serious } from './review/serious.ts';

/** Who decides: the id of a user, or of an agent. */
type By = string;

/** What people and reviewing agents do with proposals. */
export class Decisions {
  /** What a person should see first of those that wait. */
  readonly serious: Serious;
  readonly #writer: Remote<SkillWriter>;

  constructor(
    private readonly context: Context,
    readonly proposals: Proposals,
  ) {
    this.serious = new Serious(context, proposals.candidates);
    this.#writer = context.use(SkillWriter);
  }

  /** All that there is to see of a proposal. `proposal_malformed`: its file cannot be read. */
  async review(entry: Entry): Promise<Review | Misfit> {
    const { proposal, problem, file } = entry;
    if (proposal === null)
      throw new PithError('proposal_malformed', printableLine(`the proposal '${entry.id}' cannot be read: ${problem}`), {
        where: file.path,
        cure: 'correct the file, or reject the proposal',
      });
    return reviewOf(this.context, this.proposals.candidates, { ...entry, proposal });
  }

  /** Puts in place what was shown. Rejects `proposal_changed` where the proposal or the skill is not what it was then: nothing was changed. */
  async approve(shown: Review, by: By, signal?: AbortSignal): Promise<'applied' | 'already'> {
    const { proposals } = this;
    const { id } = shown.entry;
    const done = await proposals.change(async (entries) => {
      const entry = entries.find((each) => each.id === id);
      if (entry?.state === 'approved') return 'already';
      if (entry === undefined || entry.proposal === null) throw changed(id, 'was changed');
      const fit = await proposals.candidates.fit(entry.proposal);
      if ('conflicts' in fit || reviewDigest(entry.proposal, fit) !== shown.digest) throw changed(id, 'or the skill was changed');
      signal?.throwIfAborted();
      const applying = await proposals.move(entry, 'apply', { ...proposals.decided(by), target: fit.after.digest });
      try {
        await this.#write(entry.proposal, fit);
      } catch (error) {
        await proposals.move(applying, 'release', UNDECIDED);
        throw error;
      }
      await proposals.move(applying, 'finish');
      return 'applied';
    }, signal);
    proposals.candidates.forget(id);
    return done;
  }

  reject(id: string, by: By, reason: string | null): Promise<Entry> {
    return this.#move(id, (entry) => this.proposals.move(entry, 'reject', this.proposals.decided(by, reason)));
  }

  reopen(id: string): Promise<Entry> {
    const reopened = new Date(this.context.clock.now()).toISOString();
    return this.#move(id, (entry) => this.proposals.move(entry, 'reopen', { ...UNDECIDED, reopened }));
  }

  /** The skill has this change already. */
  supersede(id: string): Promise<Entry> {
    return this.#move(id, (entry) => this.proposals.move(entry, 'supersede', this.proposals.decided('pith')));
  }

  recommend(id: string, recommendation: NonNullable<Proposal['recommendation']>): Promise<Entry> {
    return this.#move(id, (entry) => this.proposals.note(entry, { recommendation }));
  }

  #move(id: string, work: (entry: Entry) => Promise<Entry>): Promise<Entry> {
    return this.proposals.change(async (entries) => {
      const entry = entries.find((each) => each.id === id);
      if (entry === undefined) throw changed(id, 'was removed');
      return work(entry);
    });
  }

  /** The whole folder, or nothing of it. */
  async #write({ id, author, justification }: Proposal, { after, present, target }: Fitted): Promise<void> {
    const staged = await this.#writer.stage(target.place.source);
    try {
      const from = path.posix.basename(target.folder);
      await writeSkillTree(await readSkillTree(after.directory), path.join(staged, from));
      if ((await treeDigest(path.join(staged, from))) !== after.digest) throw changed(id, 'or its copy was changed');
      const expects = target.isOwnCopy ? null : present.digest;
      const note = { how: 'proposal', by: author, reason: justification, proposal: id } as const;
      await this.#writer.change(staged, [{ folder: target.folder, id: '', from, entry: null, expects }], note);
    } finally {
      await this.#writer.unstage(staged);
    }
  }
}

const UNDECIDED = { decided_by: null, decided: null, reason: null, target: null } as const;

function changed(id: string, why: string): PithError {
  return new PithError('proposal_changed', printableLine(`nothing was applied: the proposal '${id}' ${why} since it was shown`), {
    cure: `look at it again with: pith skills proposals show ${printableLine(id)}`,
  });
}
