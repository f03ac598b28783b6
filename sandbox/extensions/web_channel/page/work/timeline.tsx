import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { lengthOf } from '../parts/length.ts';
import { usePolling } from '../parts/polling.ts';
import { Awaited } from '../parts/awaited.tsx';
import { Table } from '../parts/table.tsx';
import { useLoaded } from '../server/loaded.ts';
import { person } from '../server/session.ts';
import { inThread } from './changes.ts';
import { type Bar, barsOf, type BarKind, type Scale, scaleOf, type Turn, type TurnHead } from './trace.ts';

/** What the turns of a thread did and when: each line of the table has its bar. */
export function Timeline({ threadId }: { readonly threadId: string }): VNode {
  const turnId = useSignal('');
  const withoutWaits = useSignal(false);
  const path = `/api/threads/${encodeURIComponent(threadId)}/trace?last=200${person.value?.may === 'admin' ? '&all=true' : ''}`;
  const changes = inThread(threadId);
  const [newest, again] = useLoaded<Turn>(path, changes);
  const [chosen, againChosen] = useLoaded<Turn>(turnId.value === '' ? null : `${path}&turn=${encodeURIComponent(turnId.value)}`, changes);
  const loaded = turnId.value === '' ? newest : chosen;
  const turn = loaded.value.value;
  // That a call began, and that time passes, tells no event.
  usePolling(turnId.value === '' ? again : againChosen, turn?.state === 'running');
  if (turn === null)
    return loaded.value.error?.code === 'thread_unknown' ? <p class="muted">Nothing was done here yet.</p> : <Awaited of={loaded.value} />;
  const now = Date.now();
  const bars = barsOf(turn);
  const waits = bars.some(({ kind }) => kind === 'waiting');
  return (
    <>
      <div class="row">
        <TurnChoice newest={newest.value.value} chosen={turnId.value} choose={(id) => (turnId.value = id)} />
        {waits && (
          <label>
            <input
              type="checkbox"
              checked={withoutWaits.value}
              onChange={({ currentTarget }) => (withoutWaits.value = currentTarget.checked)}
            />{' '}
            Hide waiting
          </label>
        )}
        <Sums bars={bars} now={now} />
      </div>
      <Bars bars={bars} now={now} scale={scaleOf(bars, now, withoutWaits.value)} />
    </>
  );
}

interface Choice {
  readonly newest: Turn | null;
  readonly chosen: string;
  choose(id: string): void;
}

function TurnChoice({ newest, chosen, choose }: Choice): VNode | null {
  const earlier = newest?.earlier ?? [];
  if (newest === null || earlier.length === 0) return null;
  return (
    <label>
      Turn{' '}
      <select value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">{headText(newest)}</option>
        {earlier.toReversed().map((head) => (
          <option key={head.id} value={head.id}>
            {headText(head)}
          </option>
        ))}
      </select>
    </label>
  );
}

function headText({ began, agentId, state }: TurnHead): string {
  return `${new Date(began).toLocaleString()}, ${agentId}, ${state}`;
}

/** How long each kind took together; what ran side by side counts twice. */
function Sums({ bars, now }: { readonly bars: readonly Bar[]; readonly now: number }): VNode {
  const sumOf = (wanted: BarKind): number =>
    bars.reduce((sum, { kind, began, ended }) => (kind === wanted ? sum + (ended ?? now) - began : sum), 0);
  return (
    <ul class="legend" aria-label="Times together">
      {(['model', 'tool', 'waiting'] as const).map((kind) => (
        <li key={kind}>
          <svg width="12" height="12" aria-hidden="true">
            <rect class={`bar-${kind}`} width="12" height="12" rx="2" />
          </svg>{' '}
          {kind} {lengthOf(sumOf(kind))}
        </li>
      ))}
    </ul>
  );
}

function Bars({ bars, now, scale }: { readonly bars: readonly Bar[]; readonly now: number; readonly scale: Scale }): VNode {
  const [first] = bars;
  return (
    <Table label="Timeline" columns={['What', 'Kind', 'When', 'After', 'Took', 'Outcome']}>
      {bars.map((bar, at) => {
        const { kind, name, depth, began, ended, note, failed } = bar;
        return (
          <tr key={at}>
            <th scope="row" class={`bar-name depth-${Math.min(depth, 6)}`}>
              {name}
            </th>
            <td>{kind}</td>
            <td class="bar-cell">
              <BarView bar={bar} now={now} scale={scale} />
            </td>
            <td class="right">{lengthOf(began - (first?.began ?? began))}</td>
            <td class="right">{ended === null ? `${lengthOf(now - began)} …` : lengthOf(ended - began)}</td>
            <td class={failed ? 'bad' : 'muted'}>{note}</td>
          </tr>
        );
      })}
    </Table>
  );
}

/** Drawn for the eye: its line says the same in numbers. */
function BarView({ bar, now, scale }: { readonly bar: Bar; readonly now: number; readonly scale: Scale }): VNode {
  const from = scale.at(bar.began);
  const to = scale.at(bar.ended ?? now);
  const percent = (part: number): string => `${(part * 100).toFixed(2)}%`;
  return (
    <svg class="bar-line" aria-hidden="true">
      <rect
        class={bar.failed ? 'bar-failed' : `bar-${bar.kind}`}
        x={percent(Math.min(from, 0.995))}
        width={percent(Math.max(to - from, 0.005))}
        y="15%"
        height="70%"
        rx="2"
      />
    </svg>
  );
}
