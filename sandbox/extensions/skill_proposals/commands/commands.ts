import { type Command, type CommandIO, PithError } from 'pith';
import { needsPerson } from '@pith/command-line';
import { PAGE_OPTIONS, pageOf, textColumns, renderTable, widthOf, localTime } from '@pith/command-line';
import { counted, printableLine } from '@pith/plain-text';
import type { Context } from '../config.ts';
import type { Decisions } from '../decisions.ts';
import type { Entry } from '../proposal/proposal.ts';
import { isWaiting, moved, type State } from '../proposal/states.ts';
import { diffText } from '../review/changed-files.ts';
import { entryJson, printDiff, printMalformed, printMisfit, printReview, reviewJson } from '../review/screen.ts';
import { approve } from './approve.ts';

const ID = { name: 'id', description: 'id of the proposal, its beginning, or the id of its skill', required: true } as const;

export function proposalCommands(context: Context, decisions: Decisions): readonly Command[] {
  const needed = (message: string, options: { readonly cure: string }) => new PithError('confirmation_needed', message, options);
  const asking = [approve(context, decisions), reject(context, decisions), reopen(decisions)];
  return [
    { ...list(context, decisions), path: 'skills proposals' },
    list(context, decisions),
    count(decisions),
    show(context, decisions),
    diff(decisions),
    ...asking.map((command) => needsPerson<CommandIO, Command>(command, needed)),
  ];
}

function list(context: Context, decisions: Decisions): Command {
  const { proposals } = decisions;
  return {
    path: 'skills proposals list',
    description: 'List the changes of skills that agents propose',
    options: [{ name: 'all', type: 'boolean', description: 'also those that were decided' }, ...PAGE_OPTIONS],
    async run(input, io) {
      const all = await proposals.list();
      const isAll = io.wantsJson || input.options['all'] === true;
      const chosen = isAll ? all : all.filter(({ state }) => isWaiting(state) || state === 'malformed' || state === 'applying');
      const entries = pageOf(
        chosen,
        input,
        (name) =>
          ({ id }) =>
            id === name,
      );
      const serious = await decisions.serious.of(entries);
      io.json(entries.map((entry) => ({ ...entryJson(entry), ...(serious.has(entry.id) && { serious: [...serious.get(entry.id)!] }) })));
      if (io.wantsJson) return;
      if (entries.length === 0) {
        io.print(all.length === 0 ? 'Nothing was proposed.' : 'Nothing waits for you. With --all, those that were decided are listed too.');
        return;
      }
      io.print(
        renderTable(
          entries.map((entry) => row(entry, (serious.get(entry.id) ?? []).length > 0, context)),
          textColumns(['ID', 'STATUS', 'SKILL', 'BY', 'WHEN', 'WHY']),
          widthOf(io),
        ),
      );
      if (!io.quiet && entries.some(({ state }) => isWaiting(state))) io.print('\nLook at one with: pith skills proposals show ID');
    },
  };
}

function count({ proposals }: Decisions): Command {
  return {
    path: 'skills proposals count',
    description: 'Count the changes of skills that agents propose, and those that wait for you',
    async run(_, io) {
      const all = await proposals.list();
      const waiting = all.filter(({ state }) => isWaiting(state)).length;
      io.json({ total: all.length, waiting });
      io.print(`${counted(waiting, 'proposal')} of ${all.length} ${waiting === 1 ? 'waits' : 'wait'} for you.`);
    },
  };
}

function row({ id, state, proposal, problem }: Entry, isSerious: boolean, { clock }: Context): readonly string[] {
  if (proposal === null) return [id, state, '', '', '', problem ?? ''];
  const { skill, author, created, justification, sources } = proposal;
  const from = `${isSerious ? 'SERIOUS: ' : ''}${sources.length === 0 ? '' : 'FROM OUTSIDE: '}`;
  return [id, state, skill, author, localTime(Date.parse(created), clock.now()), printableLine(`${from}${justification}`)];
}

function show(context: Context, decisions: Decisions): Command {
  return {
    path: 'skills proposals show',
    description: 'Show a proposed change with its reason, its evidence and what it does',
    arguments: [ID],
    async run({ arguments: { id } }, io) {
      const entry = await decisions.proposals.find(String(id));
      if (entry.proposal === null) {
        io.json(entryJson(entry));
        printMalformed(entry, io);
        return;
      }
      if (!isWaiting(entry.state)) return showDecided(entry, io);
      const review = await decisions.review(entry);
      if ('problems' in review) {
        io.json({ ...entryJson(entry), conflicts: [...review.problems] });
        printMisfit(review, io, context.clock.now());
        return;
      }
      io.json(reviewJson(review));
      printReview(review, io, context.clock.now());
      if (!io.wantsJson) await decisions.proposals.shown.keep(entry.id, review.digest, io); // a program has read the digest, and gives it
      if (!io.quiet)
        io.print(
          `\nApprove it with: pith skills proposals approve ${entry.id}\nReject it with: pith skills proposals reject ${entry.id} WHY`,
        );
    },
  };
}

function showDecided(entry: Entry, io: CommandIO): void {
  const { proposal, state } = entry;
  io.json({
    ...entryJson(entry),
    evidence: proposal?.evidence ?? '',
    diff: proposal?.diff ?? '',
  });
  const { decided_by: by, decided, reason, justification, evidence, diff: text } = proposal!;
  const when = decided === null ? '' : `, ${localTime(Date.parse(decided))}`;
  io.print(printableLine(`${entry.id}: ${state}${by === null ? '' : ` by ${by}`}${when}${reason === null ? '' : `: ${reason}`}`));
  io.print(printableLine(`why: ${justification}`));
  if (evidence !== '') io.print(printableLine(`evidence: ${evidence}`));
  printDiff(text, io);
}

function diff(decisions: Decisions): Command {
  return {
    path: 'skills proposals diff',
    description: 'Print the difference that a proposal makes to the skill as it is',
    arguments: [ID],
    async run({ arguments: { id } }, io) {
      const entry = await decisions.proposals.find(String(id));
      const review = isWaiting(entry.state) ? await decisions.review(entry) : null;
      const text = review === null || 'problems' in review ? (entry.proposal?.diff ?? entry.file.text) : diffText(review.files);
      io.json({ id: entry.id, diff: text });
      printDiff(text, io);
    },
  };
}

function reject(context: Context, decisions: Decisions): Command {
  return {
    path: 'skills proposals reject',
    needsTrust: true,
    description: 'Reject a proposed change; the reason is given to the agent',
    arguments: [ID, { name: 'why', description: 'the reason', variadic: true }],
    async run({ arguments: { id, why } }, io) {
      const entry = await decisions.proposals.find(String(id));
      const given = [why ?? []].flat().join(' ').trim();
      const asked = given === '' && io.interactive ? ((await io.ask('Why? The agent reads it; Enter for no reason.')) ?? '').trim() : given;
      const rejected = await decisions.reject(entry.id, io.userId, asked === '' ? null : asked.slice(0, 2000));
      io.json(entryJson(rejected));
      io.print(
        rejected.proposal === null
          ? `Rejected: its file is kept in the folder 'removed' beside it.`
          : `Rejected. The same change is refused for ${counted(context.config.refuse_days, 'day')}${asked === '' ? '' : '; agents read your reason'}.`,
      );
    },
  };
}

const canReopen = (state: State) => moved(state, 'reopen') !== null;

function reopen(decisions: Decisions): Command {
  return {
    path: 'skills proposals reopen',
    needsTrust: true,
    description: 'Open a proposal again that was rejected or superseded, or has expired',
    arguments: [ID],
    async run({ arguments: { id } }, io) {
      const entry = await decisions.reopen((await decisions.proposals.find(String(id), canReopen)).id);
      io.json(entryJson(entry));
      io.print(`Open again. Look at it with: pith skills proposals show ${printableLine(entry.id)}`);
    },
  };
}
