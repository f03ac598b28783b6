import pc from 'picocolors';
import type { CommandIO, JsonValue } from 'pith';
import { localTime, widthOf } from '@pith/command-line';
import { counted, enumerated, printable, printableLine, someOf, wrapLines } from '@pith/plain-text';
import type { Entry, Proposal } from '../proposal/proposal.ts';
import { changeIn, diffText } from './changed-files.ts';
import { type Misfit, type Review, wholeTexts } from './review.ts';
import { seriousLines } from './serious.ts';

const SHOWN_FINDINGS = 10;
/** A row has so many columns at least, however narrow the terminal is. */
const LEAST_ROOM = 24;

type Row = readonly [name: string, value: string, paint?: (text: string) => string];

/** What a person decides upon, on one screen: what is dangerous first, then the change itself. */
export function printReview(review: Review, io: CommandIO, now: number): void {
  const { proposal, entry, fit, files, lines, before, after, isRewrite } = review;
  const colour = pc.createColors(io.colour);
  const size = `${counted(files.length, 'file')}, +${lines.added} −${lines.removed} lines`;
  const rows: Row[] = [
    ...outsideRows(review, io),
    ['skill', `${proposal.skill}${versionText(review)}, in ${fit.skill.source}`],
    ['by', `the agent ${proposal.author}, ${localTime(Date.parse(proposal.created), now)}, in the conversation ${proposal.thread}`],
    ['why', proposal.justification],
    ['evidence', proposal.evidence === '' ? 'none' : proposal.evidence],
    ['change', `${isRewrite ? 'REWRITE: ' : ''}${size}; ${tokenText(review)}`, isRewrite ? colour.yellow : undefined],
    ...(before.catalogLine === after.catalogLine
      ? []
      : [['catalog', `now  ${before.catalogLine}\nthen ${after.catalogLine}`, colour.yellow] as const]),
    ...dangerRows(review, io),
    ['lint', lintText(review)],
    ['measured', measuredText(review), review.comparison?.verdict === 'worse' ? colour.red : undefined],
    ['bound by', review.boundBy.length === 0 ? 'no agent; whoever finds it reads it' : someOf(review.boundBy, 8)],
    ...(review.growth === null || review.growth.version.digest === fit.present.digest ? [] : [['growth', growthText(review)] as const]),
    ...(fit.isMerged
      ? [['merged', 'the skill changed since this was proposed: both changes are in what follows', colour.yellow] as const]
      : []),
    ...(fit.target.isOwnCopy
      ? [
          [
            'copy',
            `${fit.skill.source} is not changed: the change is made in a copy in ${fit.target.place.label}, which wins from then on`,
            colour.yellow,
          ] as const,
        ]
      : []),
    ...(proposal.recommendation === null
      ? []
      : [
          [
            'reviewer',
            `the agent ${proposal.recommendation.by} says ${proposal.recommendation.verdict}: ${proposal.recommendation.reason}`,
          ] as const,
        ]),
  ];
  io.print(colour.bold(printableLine(`${entry.id} (${entry.state})`)));
  printRows(rows, io);
  io.print('');
  printDiff(diffText(files), io);
  if (isRewrite)
    for (const { path, text } of wholeTexts(review)) {
      io.print('');
      io.print(colour.bold(`The whole of ${printableLine(path)} as it would be:`));
      for (const line of text.replace(/\n$/u, '').split('\n'))
        io.print(`│ ${printableLine(line.replaceAll('\t', '  ').replace(/\r$/u, ''))}`);
    }
}

/** A proposal that does not fit: told, with what lies in the way. */
export function printMisfit({ entry, proposal, problems }: Misfit, io: CommandIO, now: number): void {
  const colour = pc.createColors(io.colour);
  io.print(colour.bold(printableLine(`${entry.id} (${entry.state})`)));
  printRows(
    [
      ...sourceRows(proposal.sources, io),
      ['skill', proposal.skill],
      ['by', `the agent ${proposal.author}, ${localTime(Date.parse(proposal.created), now)}`],
      ['why', proposal.justification],
      ['does not fit', problems.join('\n'), colour.red],
    ],
    io,
  );
  io.print('');
  printDiff(proposal.diff, io);
}

export function printMalformed({ id, problem, file }: Entry, io: CommandIO): void {
  io.print(printableLine(`${id} (malformed)`));
  printRows(
    [
      ['why', problem ?? ''],
      ['file', file.path],
      ['cure', `correct the file, or reject it with: pith skills proposals reject ${id}`],
    ],
    io,
  );
}

/** A unified diff with colours, and with invisible characters made visible. */
export function printDiff(diff: string, io: CommandIO): void {
  const { green, red, dim } = pc.createColors(io.colour);
  const lines = diff.replace(/\n$/u, '').split('\n');
  for (const [at, line] of lines.entries()) {
    const isHead = (line.startsWith('--- ') && lines[at + 1]?.startsWith('+++ ') === true) || lines[at - 1]?.startsWith('--- ') === true;
    const paint = isHead || /^(?:@@|\\ )/u.test(line) ? dim : line.startsWith('+') ? green : line.startsWith('-') ? red : String;
    io.print(paint(printableLine(line.replaceAll('\t', '  ').replace(/\r$/u, ''))));
  }
}

function outsideRows({ proposal }: Review, io: CommandIO): readonly Row[] {
  return sourceRows(proposal.sources, io);
}

function sourceRows(sources: readonly string[], io: CommandIO): readonly Row[] {
  const { red } = pc.createColors(io.colour);
  return sources.length === 0 ? [] : [['OUTSIDE', `written after reading text from outside: ${sources.join('\n')}`, red]];
}

/** Only what there is: a row that says nothing hides the one that does. */
function dangerRows(review: Review, io: CommandIO): readonly Row[] {
  const { red, yellow } = pc.createColors(io.colour);
  const { newScan, weakened, newHosts, files, after } = review;
  const programs = files.filter(({ mode }) => mode !== null).map(({ path, mode }) => `${path} ${mode}`);
  const declared = newDeclarations(review);
  const hidden = files.reduce((sum, { patch }) => sum + hiddenIn(patch ?? ''), 0);
  const scan = newScan.slice(0, SHOWN_FINDINGS).map(({ severity, file, line, message }) => `${severity}: ${file}:${line}: ${message}`);
  const more = newScan.length > SHOWN_FINDINGS ? [`and ${newScan.length - SHOWN_FINDINGS} more`] : [];
  return [
    ...(weakened === 'all' ? [['tools', 'allowed-tools is removed: it may use every tool', red] as const] : []),
    ...(weakened !== 'all' && weakened.length > 0 ? [['tools', `allowed-tools is wider: ${enumerated(weakened)}`, red] as const] : []),
    ...(newHosts.length === 0 ? [] : [['addresses', `new: ${enumerated(newHosts)}`, red] as const]),
    ...(hidden === 0
      ? []
      : [['invisible', `${counted(hidden, 'line')} with invisible characters, shown below as \\x… and \\u{…}`, red] as const]),
    ...(declared === '' ? [] : [['declares', declared, yellow] as const]),
    ...(programs.length === 0 ? [] : [['programs', programs.join('\n'), yellow] as const]),
    [
      'scan',
      after.scan === null
        ? 'not scanned: no extension that scans is on'
        : newScan.length === 0
          ? 'nothing new'
          : [...scan, ...more].join('\n'),
      newScan.length === 0 ? undefined : red,
    ],
  ];
}

/** Code that its frontmatter names and did not name before. */
function newDeclarations({ before, after }: Review): string {
  const named = ({ fields: { toolsets, scripts } }: Review['before']) => [...toolsets, ...scripts.map(({ path }) => path)];
  const old = named(before);
  return enumerated(named(after).filter((each) => !old.includes(each)));
}

function hiddenIn(patch: string): number {
  return patch.split('\n').filter((line) => line.startsWith('+') && printable(line.replace(/\r$/u, '')) !== line.replace(/\r$/u, ''))
    .length;
}

function versionText({ fit: { version } }: Review): string {
  const { from, to, step } = version;
  if (from === null && to === null) return '';
  if (from === to) return ` ${to}`;
  return ` ${from ?? 'without a version'} → ${to ?? 'none'} (${step === 'stated' ? 'as proposed' : step})`;
}

function tokenText({ before, after, isRewrite }: Review): string {
  const [ofBody, ofAll] = [after.tokens.body - before.tokens.body, after.tokens.all - before.tokens.all];
  const isMore = after.tree.files.size + before.tree.files.size > 2 && ofAll !== ofBody;
  const more = isMore ? `, ${signed(ofAll)} with all its files` : '';
  const body = `${signed(ofBody)} tokens (${before.tokens.body} → ${after.tokens.body})`;
  return `${body}${more}${isRewrite ? '; shown whole below' : ''}`;
}

function lintText({ before, after, newLint, warnings }: Review): string {
  const fewer = before.lint.length - after.lint.length + newLint.length;
  const counts = `${before.lint.length} before, ${after.lint.length} after`;
  return [`${counts}${fewer > 0 ? `, ${fewer} cured` : ''}`, ...newLint.map((line) => `new ${line}`), ...warnings].join('\n');
}

function measuredText({ comparison, notMeasured, proposal }: Review): string {
  if (comparison === null) return `not measured: ${notMeasured}`;
  const { verdict, lines } = comparison;
  return [
    ...(verdict === 'same' ? [] : [verdict === 'worse' ? 'WORSE: it cannot be approved without --despite-evals' : 'better']),
    ...lines,
    `to measure more: pith skills eval --proposal ${proposal.id}`,
  ].join('\n');
}

function growthText({ growth }: Review): string {
  if (growth === null) return '';
  const { tokens, version } = growth;
  return `${signed(tokens)} tokens since version ${version.version ?? version.number}, the last that a person wrote`;
}

function signed(count: number): string {
  return count < 0 ? `−${-count}` : `+${count}`;
}

function printRows(rows: readonly Row[], io: CommandIO): void {
  const { dim } = pc.createColors(io.colour);
  const width = Math.max(...rows.map(([name]) => name.length));
  const room = widthOf(io) === 0 ? Infinity : Math.max(LEAST_ROOM, widthOf(io) - width - 2);
  for (const [name, value, paint = String] of rows) {
    const text = printable(value);
    const [first = '', ...more] = (room === Infinity ? text : wrapLines(text, room)).split('\n');
    io.print(`${dim(name.padEnd(width))}  ${paint(first)}`);
    for (const line of more) io.print(`${' '.repeat(width)}  ${paint(line)}`);
  }
}

/** The same as `--json` has it. */
export function reviewJson(review: Review): { [key: string]: JsonValue } {
  const { proposal, digest, fit, files, lines, before, after } = review;
  const { comparison } = review;
  return {
    ...entryJson(review.entry),
    digest,
    sources: [...proposal.sources],
    evidence: proposal.evidence,
    version: { from: fit.version.from, to: fit.version.to, step: fit.version.step },
    files: files.map((file) => ({ ...file })),
    lines: { ...lines },
    tokens: { before: { ...before.tokens }, after: { ...after.tokens } },
    rewrite: review.isRewrite,
    merged: fit.isMerged,
    copy: fit.target.isOwnCopy,
    catalog: { before: before.catalogLine, after: after.catalogLine },
    lint: [...review.newLint],
    warnings: [...review.warnings],
    serious: [...seriousLines(review.newScan)],
    scan: review.newScan.map((finding) => ({ ...finding })),
    tools: review.weakened === 'all' ? 'all' : [...review.weakened],
    addresses: [...review.newHosts],
    evaluation: comparison === null ? null : { verdict: comparison.verdict, lines: [...comparison.lines], broken: [...comparison.broken] },
    boundBy: [...review.boundBy],
    growth: review.growth === null ? null : { tokens: review.growth.tokens, since: review.growth.version.number },
  };
}

/** As it was proposed. */
function changeJson({ diff }: Proposal): { [key: string]: JsonValue } {
  const change = changeIn(diff);
  return change === null ? {} : { change: { ...change, files: change.files.map((file) => ({ ...file })) } };
}

export function entryJson({ id, state, proposal, problem, file }: Entry): { [key: string]: JsonValue } {
  return {
    id,
    skill: proposal?.skill ?? null,
    status: state,
    author: proposal?.author ?? null,
    createdAt: proposal?.created ?? null,
    ...(proposal === null ? {} : { justification: proposal.justification, ...changeJson(proposal) }),
    ...(problem === null ? {} : { problem, path: file.path }),
    ...(proposal?.reason ? { reason: proposal.reason } : {}),
  };
}
