import { scaleBand, scaleLinear } from 'd3-scale';
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { useWidth } from './measured.ts';

/** What a plot shows: for each place on its axis a count of each series. */
export interface PlotData {
  readonly title: string;
  /** What the places on the axis are, such as `Day`. */
  readonly axis: string;
  /** At most four, in the order of the colours. */
  readonly series: readonly string[];
  readonly bars: readonly PlotBar[];
}

export interface PlotBar {
  readonly label: string;
  /** As many as there are series. */
  readonly values: readonly number[];
  /** A limit that is drawn across the bar. */
  readonly limit?: number;
}

const HEIGHT = 160;
const MARGIN = { top: 8, right: 8, bottom: 24, left: 44 };
/** Room that a label below the axis takes. */
const LABEL_WIDTH = 84;

/** Stacked bars as wide as there is room. */
export function Bars({ title, series, bars }: PlotData): VNode {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const most = Math.max(1, ...bars.map(({ values, limit = 0 }) => Math.max(limit, sum(values))));
  const x = scaleBand(
    bars.map(({ label }) => label),
    [MARGIN.left, Math.max(MARGIN.left + 1, width - MARGIN.right)],
  ).padding(0.25);
  const y = scaleLinear([0, most], [HEIGHT - MARGIN.bottom, MARGIN.top]).nice(4);
  const every = Math.max(1, Math.ceil((bars.length * LABEL_WIDTH) / Math.max(1, width - MARGIN.left - MARGIN.right)));
  const thickness = Math.min(x.bandwidth(), 48);
  return (
    <div ref={place}>
      <svg role="img" aria-label={`${title}: ${totals(series, bars)}`} width={width} height={HEIGHT}>
        {y
          .ticks(4)
          .filter(Number.isInteger)
          .map((tick) => (
            <g key={tick}>
              <line class="grid" x1={MARGIN.left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} />
              <text class="tick" x={MARGIN.left - 6} y={y(tick)} dy="0.32em" text-anchor="end">
                {tick.toLocaleString()}
              </text>
            </g>
          ))}
        {bars.map(({ label, values, limit }, at) => {
          const middle = (x(label) ?? 0) + x.bandwidth() / 2;
          return (
            <g key={label} class="bar-of">
              <title>{`${label}: ${values.map((value, of) => `${value.toLocaleString()} ${series[of]}`).join(', ')}`}</title>
              {values.map((value, of) => {
                const below = sum(values.slice(0, of));
                const shape = { x: middle - thickness / 2, width: thickness, y: y(below + value), height: y(below) - y(below + value) };
                return value > 0 && <rect key={series[of]} class={`series-${of}`} {...shape} />;
              })}
              {limit !== undefined && (
                <line class="limit" x1={middle - x.bandwidth() / 2} x2={middle + x.bandwidth() / 2} y1={y(limit)} y2={y(limit)} />
              )}
              {at % every === 0 && (
                <text class="tick" x={middle} y={HEIGHT - 8} text-anchor="middle">
                  {label}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** For who does not see it; the numbers are in the table beside it. */
function totals(series: PlotData['series'], bars: PlotData['bars']): string {
  return series.map((name, at) => `${sum(bars.map(({ values }) => values[at] ?? 0)).toLocaleString()} ${name}`).join(', ');
}
