import { codeOf, messageOf, type Remote, toolError, toolResult, type ToolResult, type TurnInfo } from 'pith';
import { counted } from '@pith/plain-text';
import { isCaseOfSkill } from '@pith/safe-files';
import { SkillEvaluator, SkillLibrary, type SkillRecord } from 'pith/skill_registry';
import type { Context } from '../config.ts';
import { plannedChange } from '../change/planned-change.ts';
import { readSkillTree } from '../change/skill-tree.ts';
import type { Notices } from '../notices.ts';
import type { OutsideSources } from '../outside-sources.ts';
import type { KeptFolder } from '../proposal/fit.ts';
import { changeDigest, type Entry, type Proposal } from '../proposal/proposal.ts';
import type { Proposals } from '../proposal/proposals.ts';
import { isWaiting } from '../proposal/states.ts';
import { changedFiles, unifiedDiff } from '../review/changed-files.ts';
import { lintOfDiff } from '../review/diff-lint.ts';
import { folderFacts, newOnes } from '../review/folder-facts.ts';

const DAY_MS = 86_400_000;
const SHOWN_REJECTIONS = 10;

export interface ProposePorts {
  readonly context: Context;
  readonly proposals: Proposals;
  readonly sources: OutsideSources;
  readonly notices: Notices;
}

/** What an agent says. */
export interface ProposalInput {
  readonly skill_id: string;
  readonly diff: string;
  readonly justification: string;
  readonly evidence: string;
}

/** A checked change. */
interface Checked {
  readonly skill: SkillRecord;
  readonly base: KeptFolder;
  readonly after: KeptFolder;
  /** As Pith writes it, so that equal changes have equal diffs. */
  readonly diff: string;
  readonly warnings: readonly string[];
}

/** Checks a change and stores it. All that is wrong is for the model to correct. */
export async function propose(ports: ProposePorts, given: ProposalInput, turn: TurnInfo, signal: AbortSignal): Promise<ToolResult> {
  const { context, proposals, sources, notices } = ports;
  const library: Remote<SkillLibrary> = context.use(SkillLibrary);
  const found = await library.find(given.skill_id, turn);
  if ('error' in found) return toolError(found.error.code, found.error.message);
  const draft = `draft-${turn.id}`;
  try {
    const checked = await check(ports, found.skill, given.diff, draft);
    if ('problems' in checked) return invalid(checked.problems);
    const { skill, base, after, diff, warnings } = checked;
    const forAuthor = await measured(context, skill.id, base, after);
    const read = await sources.of(turn.threadId);
    const answer = await proposals.change(async (entries) => {
      const its = entries.filter(({ proposal }) => proposal?.skill === skill.id);
      const refusal = refused(its, diff, context);
      if (refusal !== null) return refusal;
      const proposal: Proposal = {
        ...idFor(skill.id, entries, context),
        skill: skill.id,
        status: 'open',
        base: base.digest,
        result: after.digest,
        author: turn.agent.id,
        thread: turn.threadId,
        user: turn.userId,
        sources: [...read],
        decided_by: null,
        decided: null,
        reason: null,
        target: null,
        reopened: null,
        recommendation: null,
        diff,
        justification: given.justification,
        evidence: given.evidence,
      };
      await proposals.add(proposal);
      return { proposal, its };
    }, signal);
    if ('ok' in answer) return answer;
    await notices.opened(answer.proposal);
    const { reviewer } = context.config;
    if (reviewer !== undefined && reviewer !== turn.agent.id)
      await context.jobs.add('review', { id: answer.proposal.id }, { unique: answer.proposal.id });
    const output = {
      proposal: answer.proposal.id,
      status: 'open',
      next: 'A person was notified and decides. Go on with the skill as it is; do not propose the same again.',
      ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
      ...(forAuthor.length === 0 ? {} : { failed_training_cases: [...forAuthor] }),
      ...rejections(answer.its),
    };
    return toolResult(output, { title: `Proposed a change to ${skill.id}` });
  } catch (error) {
    if (codeOf(error, '') === '') throw error;
    return toolError(codeOf(error, 'tool_failed'), messageOf(error));
  } finally {
    proposals.candidates.forget(draft);
  }
}

/** Applies the diff to a copy and looks at what comes of it. All that is wrong is said at once. */
async function check(
  { context, proposals }: ProposePorts,
  { id }: SkillRecord,
  diff: string,
  draft: string,
): Promise<Checked | { readonly problems: readonly string[] }> {
  const { candidates } = proposals;
  const { skill, kept: base } = await candidates.present(id);
  const target = await candidates.targetOf(skill);
  const name = target.folder.slice(target.folder.lastIndexOf('/') + 1);
  const before = await readSkillTree(base.directory);
  const planned = plannedChange(before, diff, name);
  if ('problems' in planned) return planned;
  const after = await candidates.make(draft, planned.tree, { key: 'after', name });
  const files = changedFiles(before, planned.tree);
  if (files.length === 0) return { problems: ['the diff changes nothing: the skill has this text already'] };
  const [old, next] = [await folderFacts(context, base.directory, skill.id), await folderFacts(context, after.directory, skill.id)];
  const errors = newOnes(old.lint, next.lint).filter(({ severity }) => severity === 'error');
  const problems = errors.map(
    ({ message, line, cure }) => `SKILL.md${line === undefined ? '' : `:${line}`} ${message}${cure === undefined ? '' : `; ${cure}`}`,
  );
  if (!next.isValid && problems.length === 0)
    problems.push('the result is not a skill that can be loaded: keep SKILL.md with its frontmatter');
  if (problems.length > 0) return { problems };
  const own = unifiedDiff(files);
  const again = plannedChange(before, own, name);
  if ('problems' in again || changedFiles(planned.tree, again.tree).length > 0)
    return { problems: ['the diff cannot be kept exactly: change texts only, without odd line ends'] };
  const scan = newOnes(old.scan ?? [], next.scan ?? []).filter(({ file }) => !isCaseOfSkill(file));
  const warnings = [
    ...lintOfDiff(unifiedDiff(files.filter((file) => !isCaseOfSkill(file.path)))), // what is in cases is no agent's business
    ...scan.map(({ severity, file, line, message }) => `scan, ${severity}: ${file}:${line} ${message}`),
  ];
  return { skill, base, after, diff: own, warnings };
}

function invalid(problems: readonly string[]): ToolResult {
  const list = problems.map((problem) => `- ${problem}`).join('\n');
  return toolError('proposal_invalid', `Nothing was proposed; correct the diff and call again:\n${list}`);
}

/** null: it may be proposed. The answer to one that is there already, was rejected, or is one too many. */
function refused(its: readonly Entry[], diff: string, { clock, config }: Context): ToolResult | null {
  const key = changeDigest(diff);
  const alike = its.filter(({ proposal }) => proposal !== null && changeDigest(proposal.diff) === key);
  const waiting = alike.find(({ state }) => isWaiting(state));
  if (waiting !== undefined)
    return toolResult(
      { proposal: waiting.id, status: 'open', next: 'The same change waits already; a person decides. Nothing was added.' },
      { title: `Proposed before: ${waiting.id}` },
    );
  const isRecent = ({ proposal }: Entry) => clock.now() - Date.parse(proposal?.decided ?? '') < config.refuse_days * DAY_MS;
  const rejected = alike.findLast((entry) => entry.state === 'rejected' && isRecent(entry));
  if (rejected !== undefined)
    return toolError(
      'proposal_rejected',
      `This change was rejected (${rejected.id}): ${reasonOf(rejected)}. It is refused for ${counted(config.refuse_days, 'day')}; propose something else, or go on without`,
    );
  const open = its.filter(({ state }) => isWaiting(state));
  if (open.length < config.most_open) return null;
  return toolError(
    'proposals_full',
    `${counted(open.length, 'proposal')} for this skill ${open.length === 1 ? 'waits' : 'wait'} for a person already (${open.map(({ id }) => id).join(', ')}); wait until one is decided`,
  );
}

/** What was rejected before, so that nobody proposes it in other words. */
function rejections(its: readonly Entry[]): { readonly rejected_before?: { readonly change: string; readonly reason: string }[] } {
  const rejected = its.filter(({ state, proposal }) => state === 'rejected' && proposal !== null).slice(-SHOWN_REJECTIONS);
  if (rejected.length === 0) return {};
  return { rejected_before: rejected.map((entry) => ({ change: entry.proposal?.justification ?? '', reason: reasonOf(entry) })) };
}

function reasonOf({ proposal }: Entry): string {
  return proposal?.reason ?? 'no reason was given';
}

function idFor(skill: string, entries: readonly Entry[], { clock }: Context): Pick<Proposal, 'id' | 'created'> {
  for (let at = clock.now(); ; at += 1) {
    const created = new Date(at).toISOString();
    const id = `${skill.replaceAll(/[^\p{L}\p{N}._-]/gu, '_')}-${created.replaceAll(/[-:.]/gu, '')}`;
    if (!entries.some((entry) => entry.id === id)) return { id, created };
  }
}

/** Sentences of failed training cases: nothing else of cases is for an agent. */
async function measured(context: Context, id: string, before: KeptFolder, after: KeptFolder): Promise<readonly string[]> {
  try {
    const comparison = await context.find(SkillEvaluator)[0]?.compare({ id, before: before.directory, after: after.directory });
    return comparison?.forAuthor ?? [];
  } catch (error) {
    context.logger.warn('a proposal could not be measured', { skill: id, reason: messageOf(error) });
    return [];
  }
}
