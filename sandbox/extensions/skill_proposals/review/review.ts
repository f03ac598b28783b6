import { codeOf, messageOf, PithError } from 'pith';
import { isUtf8 } from 'node:buffer';
import { sha256 } from '@pith/plain-data';
import {
  SkillEvaluator,
  type SkillComparison,
  type SkillFinding,
  SkillHistory,
  SkillLibrary,
  type SkillVersion,
} from 'pith/skill_registry';
import { countTokens } from '@pith/token-count';
import type { Context } from '../config.ts';
import { readSkillTree, type SkillTree } from '../change/skill-tree.ts';
import type { Candidates, Fit, Fitted } from '../proposal/fit.ts';
import { contentDigest, type Entry, type Proposal } from '../proposal/proposal.ts';
import { type ChangedFile, changedFiles, type ChangedLines, linesOf } from './changed-files.ts';
import { lintOfDiff } from './diff-lint.ts';
import { folderFacts, type FolderFacts, newOnes } from './folder-facts.ts';

/** All that a person needs to decide. */
export interface Review {
  readonly entry: Entry;
  readonly proposal: Proposal;
  /** What they agree to: this proposal, on these bytes, giving those. */
  readonly digest: string;
  readonly fit: Fitted;
  readonly files: readonly ChangedFile[];
  readonly lines: ChangedLines;
  readonly before: FolderFacts;
  readonly after: FolderFacts;
  readonly isRewrite: boolean;
  readonly newLint: readonly string[];
  readonly newScan: readonly SkillFinding[];
  /** Tools that it may use from now on; `all`: it is restricted no more. */
  readonly weakened: readonly string[] | 'all';
  readonly newHosts: readonly string[];
  readonly warnings: readonly string[];
  /** null: nothing measured it. */
  readonly comparison: SkillComparison | null;
  /** Why there is no comparison; null: there is one. */
  readonly notMeasured: string | null;
  /** Ids of the agents that carry the skill. */
  readonly boundBy: readonly string[];
  /** Since the last version that a person wrote; null: there is none. */
  readonly growth: { readonly tokens: number; readonly version: SkillVersion } | null;
}

/** A proposal that does not fit the skill as it is, and why. */
export interface Misfit {
  readonly entry: Entry;
  readonly proposal: Proposal;
  readonly problems: readonly string[];
}

export async function reviewOf(
  context: Context,
  candidates: Candidates,
  entry: Entry & { readonly proposal: Proposal },
): Promise<Review | Misfit> {
  const { proposal } = entry;
  let fit: Fit;
  try {
    fit = await candidates.fit(proposal);
  } catch (error) {
    if (codeOf(error, '') === '') throw error;
    return { entry, proposal, problems: [messageOf(error)] };
  }
  if ('conflicts' in fit) return { entry, proposal, problems: fit.conflicts };
  const { present, after, skill } = fit;
  const [old, next] = [await folderFacts(context, present.directory, skill.id), await folderFacts(context, after.directory, skill.id)];
  const files = changedFiles(old.tree, next.tree);
  const lines = linesOf(files);
  const growth = next.tokens.all - old.tokens.all;
  const { rewrite } = context.config;
  return {
    entry,
    proposal,
    digest: reviewDigest(proposal, fit),
    fit,
    files,
    lines,
    before: old,
    after: next,
    isRewrite: lines.added + lines.removed > rewrite.lines || growth > rewrite.tokens,
    newLint: newOnes(old.lint, next.lint).map(
      ({ severity, message, line }) => `${severity}: ${message}${line === undefined ? '' : ` (line ${line})`}`,
    ),
    newScan: newOnes(old.scan ?? [], next.scan ?? []),
    weakened: weakened(old.fields.allowedTools, next.fields.allowedTools),
    newHosts: [...next.hosts].filter((host) => !old.hosts.has(host)),
    warnings: lintOfDiff(files.map(({ patch }) => patch ?? '').join('\n')),
    ...(await measured(context, { id: skill.id, before: present.directory, after: after.directory })),
    boundBy: await boundBy(context, skill.id, skill.name),
    growth: await growthOf(context, skill.id, next.tokens.all),
  };
}

/** Of everything that an approval covers. */
export function reviewDigest(proposal: Proposal, { present, after }: Fitted): string {
  return sha256(JSON.stringify([contentDigest(proposal), present.digest, after.digest]));
}

function weakened(before: readonly string[] | null, after: readonly string[] | null): Review['weakened'] {
  if (before === null) return [];
  return after === null ? 'all' : after.filter((tool) => !before.includes(tool));
}

async function boundBy(context: Context, id: string, name: string): Promise<readonly string[]> {
  const agents = await context.agents.list();
  const isMeant = (reference: string) =>
    [id, name].some((each) => reference === each || reference.startsWith(`${each}@`) || reference.endsWith(`/${each}`));
  return agents.filter(({ usesSkills }) => usesSkills.some(isMeant)).map((agent) => agent.id);
}

const WRITTEN_BY_PERSON: ReadonlySet<SkillVersion['how']> = new Set(['found', 'by_hand', 'new', 'install', 'update', 'accepted']);

async function growthOf(context: Context, id: string, tokens: number): Promise<Review['growth']> {
  try {
    const versions = (await context.find(SkillHistory)[0]?.of(id)) ?? [];
    const version = versions.findLast(({ how, by, digest }) => by === 'person' && digest !== null && WRITTEN_BY_PERSON.has(how));
    if (version === undefined) return null;
    const { realDirectory } = await context.use(SkillLibrary).named(`${id}@${version.digest}`);
    return { version, tokens: tokens - textTokens(await readSkillTree(realDirectory)) };
  } catch (error) {
    context.logger.debug('the growth of a skill is not known', { skill: id, reason: messageOf(error) });
    return null;
  }
}

function textTokens({ files }: SkillTree): number {
  const texts = [...files.values()].filter(({ bytes }) => isUtf8(bytes) && !bytes.includes(0));
  return texts.reduce((sum, { bytes }) => sum + countTokens(bytes.toString()), 0);
}

/** The whole new text of each changed file, for a rewrite. */
export function wholeTexts(review: Review): readonly { readonly path: string; readonly text: string }[] {
  return review.files.flatMap(({ path, change, patch }) => {
    const file = review.after.tree.files.get(path);
    return change === 'changed' && patch !== null && patch !== '' && file !== undefined ? [{ path, text: file.bytes.toString() }] : [];
  });
}

/** What its cases say. One that cannot be measured can still be decided. */
async function measured(
  context: Context,
  versions: Parameters<SkillEvaluator['compare']>[0],
): Promise<Pick<Review, 'comparison' | 'notMeasured'>> {
  const [evaluator] = context.find(SkillEvaluator);
  if (evaluator === undefined) return { comparison: null, notMeasured: 'no extension that measures skills is on' };
  try {
    const comparison = await evaluator.compare(versions);
    return { comparison, notMeasured: comparison === null ? 'the skill has no cases; write some in its evals/evals.yaml' : null };
  } catch (error) {
    const where = error instanceof PithError && error.where !== undefined ? `${error.where}: ` : '';
    return { comparison: null, notMeasured: `${where}${messageOf(error)}` };
  }
}
