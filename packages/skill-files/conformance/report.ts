import { renderTable, textColumns } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import { AREAS, type Case, type Verdict } from './case.ts';
import type { Mark, Result } from './result.ts';

/** How many verdicts were met, of those that are not open. */
export interface Score {
  readonly right: number;
  readonly checked: number;
}

const TITLES = ['CASE', 'ODD IS', 'LOADER', 'SPECIFICATION', 'LENIENT'];

/** `wanted`, and whether it was met. */
const WORDS: Readonly<Record<Mark, (verdict: Verdict) => string>> = {
  right: (verdict) => `ok (${verdict})`,
  wrong: (verdict) => (verdict === 'open' ? 'WRONG' : `WRONG (${verdict})`),
  open: () => 'open',
  'not run': () => '',
};

/** A table for each area with what was wrong below it, then the totals. */
export function reportText(results: readonly Result[], width: number): string {
  const areas = AREAS.flatMap((area) => {
    const own = results.filter((result) => result.case.area === area);
    if (own.length === 0) return [];
    const rows = own.map(({ case: { id, title, strict, lenient }, outcome, ...marks }) => [
      id,
      title,
      outcome,
      WORDS[marks.strict](strict),
      WORDS[marks.lenient](lenient),
    ]);
    return [[area, renderTable(rows, textColumns(TITLES), width), ...own.flatMap(whatIsWrong)].join('\n')];
  });
  const totals = AREAS.flatMap((area) => {
    const own = results.filter((result) => result.case.area === area);
    return own.length === 0 ? [] : [[area, scoreText(scoreOf(own, 'strict')), scoreText(scoreOf(own, 'lenient'))]];
  });
  const all = ['all', scoreText(scoreOf(results, 'strict')), scoreText(scoreOf(results, 'lenient'))];
  const table = renderTable([...totals, all], textColumns(['AREA', 'SPECIFICATION', 'LENIENT']), width);
  const skipped = results.filter(({ outcome }) => outcome === 'not run').length;
  const counts = `${results.length} cases${skipped === 0 ? '' : `, of which ${skipped} could not be run here`}.`;
  return [...areas, table, counts].join('\n\n');
}

/** The same as data. */
export function reportJson(results: readonly Result[]) {
  return {
    totals: {
      cases: results.length,
      notRun: results.filter(({ outcome }) => outcome === 'not run').length,
      specification: scoreOf(results, 'strict'),
      lenient: scoreOf(results, 'lenient'),
    },
    cases: results.map(({ case: { id, area, title, why, ...verdicts }, outcome, skill, strict, lenient, notes, ms }) => ({
      id,
      area,
      title,
      why,
      outcome,
      ...(skill === null ? {} : { skill: { ...skill } }),
      specification: { verdict: verdicts.strict, mark: strict },
      lenient: { verdict: verdicts.lenient, mark: lenient },
      notes: [...notes],
      ms,
    })),
  };
}

/** The cases and their verdicts, for who wants to know before a loader is there. */
export function casesText(cases: readonly Case[], width: number): string {
  const rows = cases.map(({ area, id, title, strict, lenient, why }) => [area, id, title, strict, lenient, why]);
  return renderTable(rows, textColumns(['AREA', 'CASE', 'ODD IS', 'SPECIFICATION', 'LENIENT', 'WHY']), width);
}

export function scoreOf(results: readonly Result[], mode: 'strict' | 'lenient'): Score {
  const checked = results.filter((result) => result[mode] === 'right' || result[mode] === 'wrong');
  return { right: checked.filter((result) => result[mode] === 'right').length, checked: checked.length };
}

function scoreText({ right, checked }: Score): string {
  return `${right} of ${checked}`;
}

function whatIsWrong({ case: one, strict, lenient, notes }: Result): readonly string[] {
  if (strict === 'not run') return [`  ${one.id} was not run: ${printableLine(notes.join('; '))}.`];
  if (strict !== 'wrong' && lenient !== 'wrong') return [];
  return [`  ${one.id}: ${notes.map((note) => `${printableLine(note)}. `).join('')}${one.why}`];
}
