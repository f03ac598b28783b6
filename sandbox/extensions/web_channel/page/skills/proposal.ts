import type { ServerEvent } from '../server/events.ts';
import { concerns } from '../server/loaded.ts';
import { changesSkills } from './skill.ts';

/** What the server says of proposals. */

interface ChangedFile {
  readonly path: string;
  readonly change: string;
}

interface Lines {
  readonly added: number;
  readonly removed: number;
}

export interface ProposalEntry {
  readonly id: string;
  readonly skill: string | null;
  readonly status: string;
  readonly author: string | null;
  readonly createdAt: string | null;
  readonly justification?: string;
  /** As it was proposed. */
  readonly change?: Lines & { readonly files: readonly ChangedFile[] };
  /** What the scan found in it that may do harm, as lines. */
  readonly serious?: readonly string[];
  /** Why it was rejected. */
  readonly reason?: string;
  /** Why it cannot be read. */
  readonly problem?: string;
}

/** Tokens of its instructions, and of all its texts. */
type Counts = Readonly<Record<'body' | 'all', number>>;

/** Why it is proposed, and from where. */
interface ProposalReason {
  readonly evidence?: string;
  readonly sources?: readonly string[];
}

/** What it changes. */
interface ProposedChange {
  /** Of what is shown: an approval is of this. */
  readonly digest?: string;
  readonly version?: { readonly from: string | null; readonly to: string | null };
  readonly files?: readonly (ChangedFile & { readonly patch: string | null; readonly mode: string | null })[];
  readonly lines?: Lines;
  readonly tokens?: { readonly before: Counts; readonly after: Counts };
  readonly catalog?: { readonly before: string | null; readonly after: string | null };
  readonly boundBy?: readonly string[];
  /** Of one that was decided. */
  readonly diff?: string;
}

/** What a person must know before they approve it. */
export interface ProposalWarnings {
  readonly rewrite?: boolean;
  readonly merged?: boolean;
  readonly copy?: boolean;
  readonly lint?: readonly string[];
  readonly warnings?: readonly string[];
  readonly scan?: readonly { readonly severity: string; readonly file: string; readonly line: number; readonly message: string }[];
  /** Tools that it may use from now on. */
  readonly tools?: readonly string[] | 'all';
  readonly addresses?: readonly string[];
  readonly conflicts?: readonly string[];
}

/** What is missing is not known, because the proposal does not fit, was decided, or cannot be read. */
export interface ProposalReview extends ProposalEntry, ProposalReason, ProposedChange, ProposalWarnings {
  /** null: there is nothing to measure. */
  readonly evaluation?: { readonly verdict: string; readonly lines: readonly string[] } | null;
}

/** Events that proposals, or that with `id`, have changed: a changed skill changes what is proposed for it. */
export const changesProposals = (id?: string): ((event: ServerEvent) => boolean) => {
  const changes = concerns('proposal', id);
  return (event) => changes(event) || changesSkills(event);
};

export const SERIOUS = 'The scan found something serious';

export const isSerious = ({ serious = [] }: Pick<ProposalEntry, 'serious'>): boolean => serious.length > 0;

export const isWaiting = ({ status }: Pick<ProposalEntry, 'status'>): boolean => status === 'open' || status === 'stale';

/** Files and lines that it changes, in a few words. */
export function changeText({ files, ...lines }: NonNullable<ProposalEntry['change']>): string {
  const names = files.map(({ path, change }) => (change === 'changed' ? path : `${path} (${change})`));
  const shown = names.length > SHOWN ? [...names.slice(0, SHOWN), `${names.length - SHOWN} more`] : names;
  return `${shown.join(', ')}: ${linesText(lines)}`;
}

export function linesText({ added, removed }: Lines): string {
  return `+${added} −${removed} lines`;
}

const SHOWN = 3;
