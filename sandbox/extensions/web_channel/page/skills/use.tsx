import type { VNode } from 'preact';
import { Plot } from '../parts/plot.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Table } from '../parts/table.tsx';
import { never, useLoaded } from '../server/loaded.ts';

interface Day {
  readonly day: string;
  readonly suggested: number;
  readonly loaded: number;
  readonly resources: number;
  readonly scripts: number;
}

interface Stats {
  readonly turns: number;
  readonly suggested: number;
  readonly lastUsed: string | null;
  readonly days: readonly Day[];
  readonly uses: readonly {
    readonly at: string;
    readonly agent: string;
    readonly state: string;
    readonly how?: string;
    readonly path?: string;
  }[];
}

const DAYS = 30;
const DAY_MS = 86_400_000;

/** How often it was used, day by day, and its last uses. */
export function Use({ path }: { readonly path: string }): VNode {
  const [loaded] = useLoaded<Stats>(`${path}/stats?days=${DAYS}`, never);
  const { value } = loaded.value;
  if (value === null) return <Awaited of={loaded.value} />;
  const byDay = new Map(value.days.map((day) => [day.day, day]));
  const bars = Array.from({ length: DAYS }, (_, at) => {
    const day = new Date(Date.now() - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    const { loaded: loads = 0, resources = 0, scripts = 0 } = byDay.get(day) ?? {};
    return { label: day.slice(5), values: [loads, resources, scripts] };
  });
  return (
    <>
      <p class="muted">
        In the last {DAYS} days, with {value.turns.toLocaleString()} turns: suggested {value.suggested.toLocaleString()} times
        {value.lastUsed === null ? ', never used' : `, used last ${new Date(value.lastUsed).toLocaleString()}`}
      </p>
      <Plot title="Use by day" axis="Day" series={['loaded', 'resources read', 'scripts run']} bars={bars} />
      {value.uses.length > 0 && (
        <Table label="Last uses" columns={['When', 'Agent', 'What']}>
          {value.uses.map(({ at, agent, state, how, path: file }, index) => (
            <tr key={index}>
              <td>{new Date(at).toLocaleString()}</td>
              <td>{agent}</td>
              <td>{[state.replace('_', ' '), how === undefined ? '' : `by ${how}`, file ?? ''].filter((part) => part !== '').join(' ')}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
