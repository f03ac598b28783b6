import { codeOf, PithError, type Remote } from 'pith';
import { exclusively } from '@pith/folder-changes';
import { counted, enumerated, printableLine } from '@pith/plain-text';
import { stateFolder } from '@pith/safe-files';
import { SkillHistory, type SkillRecord, SkillWriter } from 'pith/skill_registry';
import type { Context } from '../config.ts';
import { proposalChanged } from '../contract.ts';
import type { Notices } from '../notices.ts';
import { Candidates } from './fit.ts';
import { type Entry, type Proposal } from './proposal.ts';
import { entryOf, fileText } from './proposal-file.ts';
import { Shown } from './shown.ts';
import { isWaiting, type Move, moved, type State } from './states.ts';

const DAY_MS = 86_400_000;

type Change = Partial<Omit<Proposal, 'id' | 'status' | 'diff' | 'justification' | 'evidence'>>;

/** It may move by itself. */
const isUnsettled = ({ state }: Pick<Entry, 'state'>): boolean => isWaiting(state) || state === 'applying';

/** The proposals of this sandbox, with what became of them. Changes are made by one process at a time. */
export class Proposals {
  readonly candidates: Candidates;
  readonly shown: Shown;
  readonly #writer: Remote<SkillWriter>;

  constructor(
    private readonly context: Context,
    private readonly notices: Notices,
  ) {
    this.candidates = new Candidates(context);
    this.shown = new Shown(context);
    this.#writer = context.use(SkillWriter);
  }

  /** All of them, oldest first, each in its present state: what a killed process began is settled, and what nobody decided in time expires. */
  async list(): Promise<readonly Entry[]> {
    const entries = await this.#read();
    const settled = await this.#settled(entries, false);
    if (settled !== null) return settled;
    return this.change(async (all) => all);
  }

  /**
   * The one with that id; else that of the skill with that id, or whose id begins so: one in a state that is meant comes before others.
   * Rejects `proposal_not_found` and `proposal_ambiguous`.
   */
  async find(beginning: string, isMeant: (state: State) => boolean = isWaiting): Promise<Entry> {
    const entries = await this.list();
    const begins = ({ id }: Entry) => beginning !== '' && id.startsWith(beginning);
    const ways: readonly ((entry: Entry) => boolean)[] = [
      ({ id }) => id === beginning,
      ({ state, proposal }) => isMeant(state) && proposal?.skill === beginning,
      (entry) => isMeant(entry.state) && begins(entry),
      begins,
    ];
    const found = ways.map((is) => entries.filter(is)).find(({ length }) => length > 0) ?? [];
    const [first] = found;
    if (first !== undefined && found.length === 1) return first;
    if (first === undefined)
      throw new PithError('proposal_not_found', `there is no proposal '${printableLine(beginning, 100)}'`, {
        cure: 'see pith skills proposals list',
      });
    throw new PithError('proposal_ambiguous', `${counted(found.length, 'proposal')} begin with '${printableLine(beginning, 100)}'`, {
      cure: `write one of ${enumerated(found.slice(0, 5).map(({ id }) => printableLine(id)))}`,
    });
  }

  /** Runs `work` with all proposals, settled, while no other process changes one. */
  change<T>(work: (entries: readonly Entry[]) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const busy = (where: string) =>
      new PithError('proposals_busy', 'another process is changing the proposals', { where, cure: 'try again when it has ended' });
    const settled = async () => work((await this.#settled(await this.#read(), true)) ?? []);
    return exclusively({ folder: stateFolder(this.context.dataDirectory), name: '.busy', busy }, this.context.clock, settled, signal);
  }

  /** Stores a new one. Only within `change`. */
  async add(proposal: Proposal): Promise<Entry> {
    const name = `${proposal.id}.md`;
    await this.#writer.writeProposal(name, fileText(proposal), null);
    return this.#again(name);
  }

  /** Rejects `proposal_decided` for a move that its state does not have, and `proposal_changed` where its file is not what was read. Only within `change`. */
  async move(entry: Entry, move: Move, change: Change = {}): Promise<Entry> {
    const status = moved(entry.state, move);
    if (status === null) throw refusedMove(entry, move);
    const { proposal, file } = entry;
    const hasSettled = status !== 'applying' && move !== 'release';
    if (proposal === null) {
      await this.#writer.writeProposal(file.name, null, file.text); // it is rejected: its file is kept beside the others
      await this.notices.settled(entry);
      await this.context.events.publish(proposalChanged, { v: 1, proposalId: entry.id });
      return { ...entry, state: status };
    }
    const next = { ...proposal, ...change, status: status as Proposal['status'] };
    await this.#writer.writeProposal(file.name, fileText(next), file.text);
    if (!isWaiting(status) && status !== 'applying') await this.shown.forget(entry.id);
    if (hasSettled) await this.notices.settled(entry);
    return this.#again(file.name);
  }

  /** Rejects `proposal_decided` where its state does not have that move. */
  requireMove(entry: Entry, move: Move): void {
    if (moved(entry.state, move) === null) throw refusedMove(entry, move);
  }

  /** Changes what a proposal says besides its state. Only within `change`. */
  async note(entry: Entry, change: Change): Promise<Entry> {
    if (entry.proposal === null) throw refusedMove(entry, 'apply');
    await this.#writer.writeProposal(entry.file.name, fileText({ ...entry.proposal, ...change }), entry.file.text);
    return this.#again(entry.file.name);
  }

  /** As it was written. */
  async #again(name: string): Promise<Entry> {
    const file = (await this.#writer.proposals()).find((each) => each.name === name);
    if (file === undefined)
      throw new PithError('proposal_changed', `the proposal '${name}' is gone`, { cure: 'see pith skills proposals list' });
    const entry = entryOf(file);
    await this.context.events.publish(proposalChanged, { v: 1, proposalId: entry.id });
    return entry;
  }

  async #read(): Promise<readonly Entry[]> {
    const entries = (await this.#writer.proposals()).map(entryOf);
    return entries.sort((a, b) => (a.proposal?.created ?? '').localeCompare(b.proposal?.created ?? '') || (a.id < b.id ? -1 : 1));
  }

  /** null: something is to be written, which only the owner of the lock may do. */
  async #settled(entries: readonly Entry[], isOwner: boolean): Promise<readonly Entry[] | null> {
    const digests = new Map<string, Promise<string | null>>();
    if (isOwner && entries.some(({ state }) => state === 'applying')) await this.#recover();
    const skills = entries.some(isUnsettled) ? await this.candidates.skills('now') : new Map<string, SkillRecord>();
    const digestOf = async (id: string): Promise<string | null> => {
      const skill = skills.get(id);
      if (skill === undefined) return null;
      const digest = digests.get(id) ?? this.candidates.presentDigest(skill);
      digests.set(id, digest);
      return digest;
    };
    const settled: Entry[] = [];
    for (const entry of entries) {
      const { proposal } = entry;
      if (proposal === null || !isUnsettled(entry)) {
        settled.push(entry);
        continue;
      }
      const due = await this.#due(entry, proposal, await digestOf(proposal.skill));
      if (due !== null && !isOwner) return null;
      const next = due === null ? entry : await this.move(entry, due, due === 'expire' || due === 'supersede' ? this.decided('pith') : {});
      if (due === 'expire') await this.notices.expired(next);
      const isStale = next.state === 'open' && (await digestOf(proposal.skill)) !== proposal.base;
      settled.push(isStale ? { ...next, state: 'stale' } : next);
    }
    return settled;
  }

  /** What a killed process was writing is undone, or was done, before anybody decides by what lies there. */
  async #recover(): Promise<void> {
    for (const { source } of await this.#writer.places()) await this.#writer.unstage(await this.#writer.stage(source));
  }

  /** The move that happens by itself. */
  async #due(entry: Entry, proposal: Proposal, present: string | null): Promise<Move | null> {
    const { clock, config } = this.context;
    if (entry.state === 'applying') {
      const isDone = present === proposal.target || (await this.#isRecorded(proposal));
      return isDone ? 'finish' : 'release';
    }
    if (present === proposal.result) return 'supersede';
    const since = Date.parse(proposal.reopened ?? proposal.created);
    return clock.now() - since > config.expire_days * DAY_MS ? 'expire' : null;
  }

  /** A person may have edited the skill after the change: its history says that it was made. */
  async #isRecorded({ id, skill }: Proposal): Promise<boolean> {
    const history = this.context.find(SkillHistory)[0];
    const versions = await history?.of(skill).catch((error: unknown) => {
      if (codeOf(error, '') !== 'skill_not_found') throw error;
      return [];
    });
    return versions?.some(({ proposal }) => proposal === id) === true;
  }

  /** Who decided, and when. */
  decided(by: string, reason: string | null = null): Change {
    return { decided_by: by, decided: new Date(this.context.clock.now()).toISOString(), reason };
  }
}

const SAID: Readonly<Record<Entry['state'], string>> = {
  open: 'is open',
  stale: 'is open',
  applying: 'is being applied',
  approved: 'is already approved',
  rejected: 'is already rejected',
  superseded: 'is superseded: the skill has this change already',
  expired: 'has expired',
  malformed: 'cannot be read',
};

function refusedMove({ id, state, proposal, problem }: Entry, move: Move): PithError {
  const cure =
    state === 'approved'
      ? `undo it with: pith skills rollback ${proposal?.skill ?? 'ID'} VERSION`
      : state === 'malformed'
        ? 'correct its file, or reject it'
        : isWaiting(state)
          ? `look at it with: pith skills proposals show ${id}`
          : moved(state, 'reopen') !== null && move !== 'reopen'
            ? `open it again with: pith skills proposals reopen ${id}`
            : 'see pith skills proposals list';
  return new PithError('proposal_decided', printableLine(`the proposal '${id}' ${SAID[state]}${problem === null ? '' : `: ${problem}`}`), {
    cure,
  });
}
