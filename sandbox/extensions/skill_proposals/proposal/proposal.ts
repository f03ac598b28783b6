import { z } from 'pith';
import { sha256 } from '@pith/plain-data';
import { STATES, type State } from './states.ts';

const text = z.string().max(4000);
const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** The frontmatter of a proposal's file. */
export const headSchema = z.strictObject({
  id: z.string().min(1).max(200),
  /** Id of the skill. */
  skill: z.string().min(1).max(200),
  status: z.enum(STATES).exclude(['stale', 'malformed']),
  /** Of the skill's folder for which it was made. */
  base: digest,
  /** Of the folder as the diff makes it. */
  result: digest,
  /** Id of the agent. */
  author: text,
  thread: text,
  user: text,
  /** What the conversation had read from outside. */
  sources: z.array(text).max(50),
  created: z.iso.datetime(),
  /** Who decided, when, and why. */
  decided_by: text.nullable().default(null),
  decided: z.iso.datetime().nullable().default(null),
  reason: text.nullable().default(null),
  /** The folder that is being written, or was. */
  target: digest.nullable().default(null),
  /** When a person opened it again: it then has as much time as a new one. */
  reopened: z.iso.datetime().nullable().default(null),
  /** What a reviewing agent says. */
  recommendation: z
    .strictObject({ by: text, verdict: z.enum(['approve', 'reject']), reason: text })
    .nullable()
    .default(null),
});

/** A change of one skill that waits for a person, or was decided. */
export interface Proposal extends Readonly<z.output<typeof headSchema>> {
  /** Unified, over files of the skill. */
  readonly diff: string;
  readonly justification: string;
  readonly evidence: string;
}

/** What a person agrees to: everything but its state. */
export function contentDigest(proposal: Proposal): string {
  const { id, skill, base, result, author, thread, user, sources, created, diff, justification, evidence } = proposal;
  return sha256(JSON.stringify([id, skill, base, result, author, thread, user, sources, created, diff, justification, evidence]));
}

/** The same for diffs that change the same lines in the same way, wherever they are. */
export function changeDigest(diff: string): string {
  return sha256(diff.replaceAll(/^@@ [^\n]*$/gmu, '@@'));
}

/** A file of the folder of proposals. */
export interface Entry {
  readonly id: string;
  readonly state: State;
  /** null: it is malformed, and `problem` says why. */
  readonly proposal: Proposal | null;
  readonly problem: string | null;
  readonly file: { readonly name: string; readonly path: string; readonly text: string };
}
