import { messageOf, type TopicMap } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { Context } from './config.ts';
import type { Entry, Proposal } from './proposal/proposal.ts';

const LONGEST_WHY = 120;

/** Notifies people of proposals: in every channel, and later where nobody is there. */
export class Notices {
  constructor(private readonly context: Context) {}

  /** A new one waits. */
  opened(proposal: Proposal): Promise<void> {
    const { id, author, skill, justification, sources } = proposal;
    const from = sources.length === 0 ? '' : ' It was written after text from outside.';
    const why = sentence(justification);
    return this.#notify(
      proposal,
      `The agent ${author} proposes a change to the skill ${skill}: ${why}${from} See: ${command(`show ${id}`)}`,
    );
  }

  /** A reviewing agent has said something of it. */
  recommended(proposal: Proposal): Promise<void> {
    const { id, skill, recommendation } = proposal;
    if (recommendation === null) return Promise.resolve();
    const said = recommendation.verdict === 'approve' ? 'recommends' : 'advises against';
    const why = sentence(recommendation.reason);
    return this.#notify(
      proposal,
      `The agent ${recommendation.by} ${said} the change to the skill ${skill}: ${why} See: ${command(`show ${id}`)}`,
    );
  }

  /** An agent decided in the place of a person. */
  decided(proposal: Proposal): Promise<void> {
    const { id, skill, status, decided_by: by, reason } = proposal;
    const why = reason === null ? '.' : `: ${sentence(reason)}`;
    return this.#notify(proposal, `The agent ${by} ${status} the change to the skill ${skill}${why} See: ${command(`show ${id}`)}`);
  }

  expired({ proposal }: Entry): Promise<void> {
    if (proposal === null) return Promise.resolve();
    const { id, skill } = proposal;
    const days = this.context.config.expire_days;
    return this.#notify(
      proposal,
      `A change to the skill ${skill} expired, because nobody decided in ${days} days. Open it again: ${command(`reopen ${id}`)}`,
    );
  }

  /** What was told of it so far is out of date. */
  async settled({ id }: Pick<Entry, 'id'>): Promise<void> {
    await this.#publish('notice.settled', { v: 1, about: { kind: 'proposal', id } });
  }

  #notify({ id, user }: Proposal, text: string): Promise<void> {
    const about = { kind: 'proposal', id };
    return this.#publish('notify', {
      v: 1,
      text: printableLine(text),
      kind: 'proposal',
      about,
      target: null,
      threadId: null,
      userId: user,
    });
  }

  async #publish<T extends 'notify' | 'notice.settled'>(
    topic: T,
    payload: TopicMap[T] & { readonly about: { readonly id: string } },
  ): Promise<void> {
    const { id } = payload.about;
    try {
      await this.context.events.publish(topic, payload, { key: `skill_proposals/${id}` });
    } catch (error) {
      this.context.logger.warn('people could not be notified of a proposal', { id, reason: messageOf(error) });
    }
  }
}

/** What an agent said, shortened, with an end. */
function sentence(text: string): string {
  const line = printableLine(text, LONGEST_WHY).trimEnd();
  return /[.!?…。]$/u.test(line) ? line : `${line}.`;
}

/** A channel in which commands begin with a slash writes it so. */
function command(what: string): string {
  return `pith skills proposals ${what}`;
}
