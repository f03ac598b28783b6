import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Bars as DrawnBars, PlotData } from './bars.tsx';
import { Table } from './table.tsx';

/** Loaded with the first plot. */
const drawing = signal<typeof DrawnBars | null>(null);

/** Stacked bars, and the same numbers as a table. Colours are those of the stylesheet. */
export function Plot(data: PlotData): VNode {
  useEffect(() => {
    if (drawing.value === null) void import('./bars.tsx').then(({ Bars }) => (drawing.value = Bars));
  }, []);
  const Bars = drawing.value;
  const { title, axis, series, bars } = data;
  const hasLimits = bars.some(({ limit }) => limit !== undefined);
  return (
    <figure class="plot">
      <figcaption>
        {title}
        {series.map((name, at) => (
          <span key={name} class="legend">
            <svg width="10" height="10" aria-hidden="true">
              <rect class={`series-${at}`} width="10" height="10" />
            </svg>{' '}
            {name}
          </span>
        ))}
      </figcaption>
      <div class="drawn">{Bars !== null && <Bars {...data} />}</div>
      <details>
        <summary>As a table</summary>
        <Table label={title} columns={[axis, ...series, ...(hasLimits ? ['Limit'] : [])]}>
          {bars.map(({ label, values, limit }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {values.map((value, at) => (
                <td key={series[at]} class="right">
                  {value.toLocaleString()}
                </td>
              ))}
              {hasLimits && <td class="right">{limit?.toLocaleString()}</td>}
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  );
}
