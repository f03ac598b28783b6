import { type Command, type CommandIO, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import { SkillHistory } from 'pith/skill_registry';
import type { Context } from '../config.ts';
import type { Decisions } from '../decisions.ts';
import type { Entry } from '../proposal/proposal.ts';
import type { Shown } from '../proposal/shown.ts';
import type { Review } from '../review/review.ts';
import { entryJson, printMisfit, printReview } from '../review/screen.ts';

/** So much of a digest is enough to mean one. */
const LEAST_DIGEST = 12;

interface Asked {
  readonly digest: string | null;
  readonly despiteEvals: boolean;
  readonly yes: boolean;
}

export function approve(context: Context, decisions: Decisions): Command {
  const applied = async (entry: Entry, asked: Asked, io: CommandIO, signal?: AbortSignal) => {
    if (entry.state !== 'malformed') decisions.proposals.requireMove(entry, 'apply');
    const review = await decisions.review(entry);
    if ('problems' in review) {
      printMisfit(review, io, context.clock.now());
      throw new PithError(
        'proposal_conflict',
        printableLine(`'${entry.id}' does not fit the skill as it is now: ${review.problems[0]?.split('\n', 1)[0]}`),
        {
          cure: `change the skill by hand, or reject it with: pith skills proposals reject ${entry.id}`,
        },
      );
    }
    if (review.fit.isDone) return superseded(await decisions.supersede(entry.id), io);
    requireMeasured(review, asked);
    const isAgreed = await agreed(review, asked, { io, shown: decisions.proposals.shown, now: context.clock.now() });
    if (!isAgreed) {
      io.json(entryJson(entry));
      io.print('Nothing was changed.');
      return 1;
    }
    const done = await decisions.approve(review, io.userId, signal);
    const now = await decisions.proposals.find(entry.id);
    if (done === 'already') return already(now, io);
    io.json(entryJson(now));
    const { to } = review.fit.version;
    const skill = printableLine(review.proposal.skill);
    const undo = await undoOf(context, review);
    io.print(`Applied to ${skill}${to === null ? '' : `, version ${printableLine(to)}`}. Undo it with: pith skills ${undo}`);
    return 0;
  };
  return {
    path: 'skills proposals approve',
    needsTrust: true,
    description: 'Put a proposed change in place, after showing it',
    arguments: [{ name: 'id', description: 'id of the proposal, its beginning, or the id of its skill', required: true }],
    options: [
      {
        name: 'digest',
        type: 'string',
        description: 'what is agreed to, as show --json says; without a terminal, instead of a show before',
      },
      { name: 'despite-evals', type: 'boolean', description: 'also where it breaks a case of the skill' },
      { name: 'yes', short: 'y', type: 'boolean', description: 'do not ask about what was shown before' },
    ],
    async run({ arguments: { id }, options }, io, signal) {
      const asked = {
        digest: typeof options['digest'] === 'string' ? options['digest'].replace(/^sha256:/u, '') : null,
        despiteEvals: options['despite-evals'] === true,
        yes: options['yes'] === true,
      };
      const entry = await decisions.proposals.find(String(id));
      try {
        return await applied(entry, asked, io, signal);
      } catch (error) {
        const now = await decisions.proposals.find(entry.id);
        if (now.state === 'approved') return already(now, io); // another process did it meanwhile
        throw error;
      }
    },
  };
}

/** The command that puts back what was there before: by its number in the history of the skill, or what the new copy hides. */
async function undoOf(context: Context, { entry, proposal: { skill }, fit }: Review): Promise<string> {
  if (fit.target.isOwnCopy) return `remove ${printableLine(skill)}`;
  const versions = (await context.find(SkillHistory)[0]?.of(skill)) ?? [];
  const applied = versions.findLastIndex(({ proposal }) => proposal === entry.id); // what a person did since comes after it
  const before = versions.slice(0, Math.max(applied, 0)).findLast(({ digest }) => digest !== null);
  return before === undefined ? `history ${printableLine(skill)}` : `rollback ${printableLine(skill)} ${before.number}`;
}

function already(entry: Entry, io: CommandIO): number {
  io.json(entryJson(entry));
  io.print(`${printableLine(entry.id)} is already approved.`);
  return 0;
}

function superseded(entry: Entry, io: CommandIO): number {
  io.json(entryJson(entry));
  io.print('The skill has this change already: the proposal is superseded.');
  return 0;
}

function requireMeasured({ comparison, entry }: Review, { despiteEvals }: Asked): void {
  if (comparison?.verdict !== 'worse' || despiteEvals) return;
  throw new PithError(
    'proposal_worse',
    printableLine(`'${entry.id}' breaks cases of the skill: ${comparison.broken[0] ?? comparison.lines[0] ?? ''}`),
    {
      cure: `see pith skills proposals show ${entry.id}; to take it all the same: --despite-evals`,
    },
  );
}

/** A person on a terminal sees all of it and is asked; elsewhere they must have seen these very bytes. */
async function agreed(
  review: Review,
  { digest, yes }: Asked,
  { io, shown, now }: { readonly io: CommandIO; readonly shown: Shown; readonly now: number },
): Promise<boolean> {
  const { entry } = review;
  const seen = digest ?? (await shown.digest(entry.id, io));
  const isSeen = seen !== null && seen.length >= LEAST_DIGEST && review.digest.startsWith(seen);
  const [serious] = review.newScan.filter(({ severity }) => severity === 'high');
  if (io.interactive) {
    if (!(yes && isSeen)) {
      if (seen !== null && !isSeen) io.print('The proposal or the skill was changed since it was shown:\n');
      printReview(review, io, now);
      await shown.keep(entry.id, review.digest, io);
      io.print('');
      if (!(await isYes(io, `Apply this change to '${printableLine(review.proposal.skill)}'?`))) return false;
    }
    if (serious === undefined) return true;
    const { file, line, message } = serious;
    return isYes(io, printableLine(`The scan found something serious: ${file}:${line}: ${message}. Apply it all the same?`));
  }
  if (seen === null)
    throw new PithError('proposal_not_shown', printableLine(`you have not looked at '${entry.id}' yet`), {
      cure: `look at it first with: pith skills proposals show ${entry.id}; a program gives its digest`,
    });
  if (!isSeen)
    throw new PithError(
      'proposal_changed',
      printableLine(`nothing was applied: the proposal '${entry.id}' or the skill was changed since it was shown`),
      {
        cure: `look at it again with: pith skills proposals show ${entry.id}`,
      },
    );
  if (serious !== undefined)
    throw new PithError('scan_blocked', printableLine(`the scan found something serious in '${entry.id}': ${serious.message}`), {
      where: printableLine(`${serious.file}:${serious.line}`),
      cure: 'look at the findings and answer on a terminal',
    });
  return true;
}

async function isYes(io: CommandIO, question: string): Promise<boolean> {
  return (await io.ask(question, { choices: ['yes', 'no'] })) === 'yes';
}
