/** One row of a table as it stands in Markdown. */
export interface Figure {
  readonly figure: string;
  readonly unit: string;
  readonly median: number;
  readonly floor: number | null;
}

/** One figure at several sizes, the smallest first. */
export interface Series {
  /** The figure with `N` in place of the size. */
  readonly name: string;
  readonly unit: string;
  readonly points: readonly { readonly size: number; readonly median: number; readonly floor: number | null }[];
}

/** Above this, a figure grows faster than its floor by more than measuring explains. */
const TOLERANCE = 0.25;
const SIZE = /\d[\d,]*(?= (?:skills|in-memory|extension|paced|steps|streams)\b)|(?<=\bof )\d[\d,]*(?=,|$| \()/u;

/** The figures of the tables in a text. */
export function figuresIn(markdown: string): readonly Figure[] {
  return markdown.split('\n').flatMap((line) => {
    const [, figure = '', measured = '', floor = ''] = line.split('|').map((cell) => cell.trim());
    const [, median, unit = ''] = /^(\d[\d.]*) ?([a-zµ%]*)[^(]* \(/iu.exec(measured) ?? [];
    if (median === undefined) return [];
    return [{ figure: figure.replace(/ \((?!N)[^)]*\)$/u, ''), unit, median: Number(median), floor: numberOf(floor) }];
  });
}

/** What was measured at two sizes or more. */
export function seriesOf(figures: readonly Figure[]): readonly Series[] {
  const found = new Map<string, { name: string; unit: string; points: { size: number; median: number; floor: number | null }[] }>();
  for (const { figure, unit, median, floor } of figures) {
    const [size] = SIZE.exec(figure) ?? [];
    if (size === undefined) continue;
    const name = figure.replace(SIZE, 'N');
    const series = found.get(name) ?? { name, unit, points: [] };
    series.points.push({ size: Number(size.replaceAll(',', '')), median, floor });
    found.set(name, series);
  }
  const several = [...found.values()].filter(({ points }) => points.length > 1);
  return several.map(({ points, ...series }) => ({ ...series, points: points.sort((a, b) => a.size - b.size) }));
}

/** The power of the size by which a figure grows from its smallest size to its largest, and that of its work: the floor's. */
export function growthOf({ points }: Series): { readonly measured: number; readonly work: number | null } {
  const [first, last] = [points[0]!, points.at(-1)!];
  const power = (a: number, b: number) => Math.log(b / a) / Math.log(last.size / first.size);
  const floors = first.floor !== null && last.floor !== null && first.floor > 0 && last.floor > 0;
  return { measured: power(first.median, last.median), work: floors ? power(first.floor, last.floor) : null };
}

/** A sentence for each figure that grows faster than its work. */
export function tooFast(all: readonly Series[]): readonly string[] {
  return all.flatMap((series) => {
    const { measured, work } = growthOf(series);
    if (work === null || measured <= Math.max(work, 0) + TOLERANCE) return [];
    return [`${series.name}: grows with the ${measured.toFixed(2)}th power of N, its floor with the ${work.toFixed(2)}th`];
  });
}

function numberOf(cell: string): number | null {
  const found = /^\d[\d.]*/u.exec(cell);
  return found === null ? null : Number(found[0]);
}
