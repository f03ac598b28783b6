import { renderTable, textColumns } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { Case } from './case.ts';
import type { Result } from './result.ts';

type Column = 'specification' | 'lenient';

/** A table for each area with its failures below it, then the totals. */
export function reportText(results: readonly Result[], width: number): string {
  const areas = [...new Set(results.map((result) => result.case.area))].map(
    (area) => [area, results.filter((result) => result.case.area === area)] as const,
  );
  const tables = areas.map(([area, own]) => {
    const rows = own.map((result) => [
      result.case.id,
      result.case.what,
      result.outcome,
      markText(result, 'specification'),
      markText(result, 'lenient'),
    ]);
    const columns = textColumns(['CASE', 'ODD IS', 'LOADER', 'SPECIFICATION', 'LENIENT']);
    return [area, renderTable(rows, columns, width), ...own.flatMap(whatIsWrong)].join('\n');
  });
  const totals = [...areas, ['all', results] as const].map(([name, own]) => [
    name,
    ...(['specification', 'lenient'] as const).map((column) => `${scoreOf(own, column).right} of ${scoreOf(own, column).checked}`),
  ]);
  const skipped = notRunOf(results);
  const counts = `${results.length} ${results.length === 1 ? 'case' : 'cases'}${skipped === 0 ? '' : `, of which ${skipped} could not be run here`}.`;
  return [...tables, renderTable(totals, textColumns(['AREA', 'SPECIFICATION', 'LENIENT']), width), counts].join('\n\n');
}

/** The same as data. */
export function reportJson(results: readonly Result[]) {
  return {
    totals: {
      cases: results.length,
      notRun: notRunOf(results),
      specification: scoreOf(results, 'specification'),
      lenient: scoreOf(results, 'lenient'),
    },
    cases: results.map(({ case: { id, area, what, why, expect }, outcome, skill, specification, lenient, notes, ms }) => ({
      id,
      area,
      title: what,
      why,
      outcome,
      ...(skill === null ? {} : { skill }),
      specification: { verdict: expect.specification, mark: specification },
      lenient: { verdict: expect.lenient, mark: lenient },
      notes,
      ms,
    })),
  };
}

/** The cases and their verdicts, for a person who has no loader yet. */
export function casesText(cases: readonly Case[], width: number): string {
  const rows = cases.map(({ area, id, what, expect, why }) => [area, id, what, expect.specification, expect.lenient, why]);
  return renderTable(rows, textColumns(['AREA', 'CASE', 'ODD IS', 'SPECIFICATION', 'LENIENT', 'WHY']), width);
}

/** How many verdicts were met, without the open ones. */
export function scoreOf(results: readonly Result[], column: Column) {
  const checked = results.filter((result) => result[column] === 'right' || result[column] === 'wrong');
  return { right: checked.filter((result) => result[column] === 'right').length, checked: checked.length };
}

/** The expected verdict, and whether it was met. */
function markText(result: Result, column: Column): string {
  const verdict = result.case.expect[column];
  if (result[column] === 'right') return `ok (${verdict})`;
  if (result[column] === 'wrong') return verdict === 'open' ? 'WRONG' : `WRONG (${verdict})`;
  return result[column] === 'open' ? 'open' : '';
}

function notRunOf(results: readonly Result[]): number {
  return results.filter(({ outcome }) => outcome === 'not run').length;
}

function whatIsWrong({ case: { id, why }, outcome, specification, lenient, notes }: Result): readonly string[] {
  if (outcome === 'not run') return [`  ${id} was not run: ${printableLine(notes.join('; '))}.`];
  if (specification !== 'wrong' && lenient !== 'wrong') return [];
  return [`  ${id}: ${notes.map((note) => `${printableLine(note)}. `).join('')}${why}`];
}
