import type { VNode } from 'preact';
import { Plot } from '../parts/plot.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { useLoaded } from '../server/loaded.ts';
import { isAdministrator } from '../server/session.ts';
import { ofJobs } from '../work/changes.ts';

interface Lane {
  readonly lane: string;
  readonly slots: number;
  readonly running: number;
  readonly queued: number;
}

/** How many runs have a slot or wait for one, lane by lane. */
export function Lanes(): VNode {
  const [loaded] = useLoaded<readonly Lane[]>('/api/lanes', ofJobs);
  const { value } = loaded.value;
  if (value === null) return <Awaited of={loaded.value} />;
  const bars = value.map(({ lane, slots, running, queued }) => ({ label: lane, values: [running, queued], limit: slots }));
  const whose = isAdministrator() ? 'Runs' : 'Your runs';
  return <Plot title={`${whose} by lane; the line is its slots`} axis="Lane" series={['running', 'queued']} bars={bars} />;
}
