/** A module on the map: rows count from the top, columns are those of the widest row. */
export interface Box {
  readonly name: string;
  /** The modules that it imports. */
  readonly uses: ReadonlySet<string>;
  readonly row: number;
  readonly rows: number;
  readonly first: number;
  /** Exclusive. */
  readonly last: number;
  /** Words below the name, each with what is at the right edge of its line. */
  readonly lines: readonly (readonly [text: string, figure?: string])[];
}

const COLUMN = 190;
const ROW = 86;
const HEIGHT = 48;
const MARGIN = 20;

/** The map as SVG. An arrow stands for imports. One that others imply, or that a box would hide, is left out; one that runs up is red. */
export function drawMap(boxes: readonly Box[]): string {
  const width = Math.max(...boxes.map(({ last }) => last)) * COLUMN + MARGIN;
  const height = Math.max(...boxes.map(({ row, rows }) => row + rows)) * ROW + MARGIN;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description" text-anchor="middle" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif">
  <title id="title">The modules of Pith</title>
  <desc id="description">${boxes.map(({ name, uses }) => `${name} imports ${[...uses].sort().join(', ') || 'nothing'}.`).join(' ')}</desc>
  <defs>
    <marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker>
    <style>
      .core { fill: #dce9f7; stroke: #4f7cac; }
      .packages { fill: #f0ebe0; stroke: #a08c5b; }
      .extensions { fill: #e8f1e4; stroke: #7fa36b; }
      .arrow { fill: none; stroke: #57606a; stroke-width: 1.6; marker-end: url(#end); }
      .up { stroke: #cf222e; stroke-dasharray: 4 3; }
      .tip { fill: #57606a; }
      text { fill: #1f2328; font-size: 15px; font-weight: 600; }
      .small { fill: #57606a; font-size: 12px; font-weight: 400; }
      @media (prefers-color-scheme: dark) {
        .core { fill: #16304a; stroke: #5b8fc7; }
        .packages { fill: #3a3322; stroke: #b39f6c; }
        .extensions { fill: #20331a; stroke: #7fa36b; }
        .arrow { stroke: #9aa4af; }
        .tip { fill: #9aa4af; }
        text { fill: #e6edf3; }
        .small { fill: #b1bac4; }
      }
    </style>
  </defs>
${[...boxes.flatMap((box) => arrowsOf(box, boxes)), ...boxes.map(drawBox)].map((line) => `  ${line}`).join('\n')}
</svg>
`;
}

function drawBox({ name, row, rows, first, last, lines }: Box): string {
  const [x, y, width, height] = [left(first), top(row), (last - first) * COLUMN - MARGIN, (rows - 1) * ROW + HEIGHT];
  const middle = x + width / 2;
  const small = lines.map(([text, figure], index) => {
    const line = `class="small" y="${y + 40 + index * 22 + (figure === undefined ? 0 : 10)}"`;
    if (figure === undefined) return `<text ${line} x="${middle}">${text}</text>`;
    const ends = `<text ${line} x="${x + 12}" text-anchor="start">${text}</text>`;
    return `${ends}<text ${line} x="${x + width - 12}" text-anchor="end">${figure}</text>`;
  });
  const kind = name.split('/')[0];
  return `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/><text x="${middle}" y="${y + 21}">${name}</text>${small.join('')}`;
}

function arrowsOf(box: Box, boxes: readonly Box[]): readonly string[] {
  const byName = new Map(boxes.map((each) => [each.name, each]));
  const direct = [...box.uses].flatMap((name) => byName.get(name) ?? []);
  const implied = (target: Box): boolean =>
    direct.some((step) => step !== target && step.row > box.row && reaches(step, target, byName, new Set([box.name])));
  return direct
    .filter(({ name, row }) => row !== box.row || !name.startsWith('packages/')) // one that uses another is beside it
    .filter((target) => target.row <= box.row || (!implied(target) && !boxes.some((other) => isBetween(other, box, target))))
    .sort((a, b) => a.first - b.first || a.row - b.row)
    .map((target) => arrow(box, target));
}

function isBetween(other: Box, from: Box, to: Box): boolean {
  const x = (Math.max(from.first, to.first) + Math.min(from.last, to.last)) / 2;
  return other.row > from.row + from.rows - 1 && other.row < to.row && other.first < x && x < other.last;
}

function reaches(from: Box, to: Box, byName: ReadonlyMap<string, Box>, seen: Set<string>): boolean {
  if (seen.has(from.name)) return false;
  seen.add(from.name);
  const steps = [...from.uses].flatMap((name) => byName.get(name) ?? []).filter(({ row }) => row > from.row);
  return steps.some((step) => step === to || reaches(step, to, byName, seen));
}

/** Straight down where one is above the other. */
function arrow(from: Box, to: Box): string {
  const [first, last] = [Math.max(from.first, to.first), Math.min(from.last, to.last)];
  const above = first < last;
  const [x1, x2] = above ? [middleOf(first, last), middleOf(first, last)] : [middleOf(from.first, from.last), middleOf(to.first, to.last)];
  const down = to.row > from.row;
  const y1 = down ? top(from.row + from.rows - 1) + HEIGHT : top(from.row);
  const y2 = down ? top(to.row) - 2 : top(to.row) + HEIGHT + 2;
  return `<path class="arrow${down ? '' : ' up'}" d="M${x1} ${y1} L${x2} ${y2}"/>`;
}

function left(column: number): number {
  return Math.round(MARGIN + column * COLUMN);
}

function top(row: number): number {
  return MARGIN + row * ROW;
}

function middleOf(first: number, last: number): number {
  return Math.round(left(first) + ((last - first) * COLUMN - MARGIN) / 2);
}
