import type { Series } from './growth.ts';

const [WIDTH, HEIGHT, COLUMNS] = [300, 200, 3];
/** Room for the legend above the panels. */
const LEGEND = 24;
const BOX = { left: 56, right: 28, top: 40, bottom: 28 };

const STYLE = `text { font: 11px system-ui, sans-serif; fill: #57606a; } .name { font-weight: 600; fill: #24292f; }
.grid { stroke: #d0d7de; } .measured { stroke: #0969da; fill: none; stroke-width: 2; } .dot { fill: #0969da; }
.floor { stroke: #8c959f; fill: none; stroke-width: 1.5; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) { text { fill: #9198a1; } .name { fill: #f0f6fc; } .grid { stroke: #3d444d; }
.measured { stroke: #4493f8; } .dot { fill: #4493f8; } .floor { stroke: #6e7681; } }`;

/** Each figure over its sizes, both axes logarithmic, with its floor as a dashed line. For light and dark pages. */
export function growthPlot(all: readonly Series[]): string {
  const rows = Math.ceil(all.length / COLUMNS);
  const [width, height] = [WIDTH * COLUMNS, LEGEND + HEIGHT * rows];
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const panels = all.map((series, at) => {
    const place = `translate(${(at % COLUMNS) * WIDTH} ${LEGEND + Math.floor(at / COLUMNS) * HEIGHT})`;
    return `<g transform="${place}">\n${panel(series)}\n</g>`;
  });
  const title = '<title>How each figure grows with N; dashed: its floor</title>';
  const legend = `<g class="legend"><path class="measured" d="M8,12 H32"/><text x="38" y="16">measured</text>
<path class="floor" d="M108,12 H132"/><text x="138" y="16">its floor: the cheapest program that does the same</text></g>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">\n${title}\n<style>${STYLE}</style>\n${legend}\n${panels.join('\n')}\n</svg>\n`;
}

function panel({ name, unit, points }: Series): string {
  const values = points.flatMap(({ median, floor }) => (floor === null ? [median] : [median, floor])).filter((value) => value > 0);
  const sizes = points.map((point) => point.size);
  const across = scale(Math.min(...sizes), Math.max(...sizes), BOX.left, WIDTH - BOX.right);
  const [low, high] = [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values) * 1.001))];
  const up = scale(low, high, HEIGHT - BOX.bottom, BOX.top);
  const path = (given: readonly (readonly [number, number | null])[]) =>
    given
      .flatMap(([size, value]) => (value === null || value <= 0 ? [] : [`${across(size)},${up(value)}`]))
      .map((point, at) => `${at === 0 ? 'M' : 'L'}${point}`)
      .join(' ');
  const lines = [];
  for (let value = low; value <= high * 1.001; value *= 10)
    lines.push(
      `<path class="grid" d="M${BOX.left},${up(value)} H${WIDTH - BOX.right}"/><text x="${BOX.left - 6}" y="${up(value) + 4}" text-anchor="end">${label(value)}</text>`,
    );
  const ticks = sizes.map(
    (size) => `<text x="${across(size)}" y="${HEIGHT - 10}" text-anchor="middle">${size.toLocaleString('en')}</text>`,
  );
  return [
    ...heading(name, unit),
    ...lines,
    ...ticks,
    `<path class="floor" d="${path(points.map(({ size, floor }) => [size, floor]))}"/>`,
    `<path class="measured" d="${path(points.map(({ size, median }) => [size, median]))}"/>`,
    ...points.map(({ size, median }) => `<circle class="dot" cx="${across(size)}" cy="${up(median)}" r="3"/>`),
  ].join('\n');
}

/** In two lines where it is long. */
function heading(name: string, unit: string): readonly string[] {
  const full = unit === '' ? name : `${name} (${unit})`;
  const cut = full.length > 46 ? full.lastIndexOf(' ', 46) : full.length;
  const line = (text: string, y: number) => `<text class="name" x="8" y="${y}">${escaped(text)}</text>`;
  return cut === full.length ? [line(full, 16)] : [line(full.slice(0, cut), 16), line(full.slice(cut + 1), 30)];
}

function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  const width = Math.log(to / from) || 1;
  return (value) => Math.round((start + ((end - start) * Math.log(value / from)) / width) * 10) / 10;
}

function label(value: number): string {
  return value >= 1 ? value.toLocaleString('en') : String(Number(value.toPrecision(1)));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
