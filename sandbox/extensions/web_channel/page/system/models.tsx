import type { VNode } from 'preact';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { concerns, never, useLoaded } from '../server/loaded.ts';

interface Model {
  readonly id?: string;
  readonly server: string;
  readonly problem?: string;
}

/** Which model answers and why, and what the connected servers have: each look asks them. */
export function Models(): VNode {
  const [chosen] = useLoaded<{ readonly ref: string; readonly why: string }>('/api/models/chosen', concerns('extension'));
  const [loaded, again] = useLoaded<readonly Model[]>('/api/models?refresh=true', never);
  const rows = loaded.value.value ?? [];
  return (
    <>
      <Problem error={chosen.value.error} />
      {chosen.value.value !== null && (
        <p>
          <code>{chosen.value.value.ref}</code> answers <span class="muted">({chosen.value.value.why})</span>
        </p>
      )}
      {chosen.value.value?.ref.startsWith('offline/') === true && (
        <p>
          Without a model Pith only finds skills and quotes them. To connect one, run <code>npx pith setup</code> in a terminal of this
          machine.
        </p>
      )}
      <p>
        <button type="button" onClick={again}>
          Refresh
        </button>
      </p>
      <Awaited of={loaded.value} />
      {loaded.value.value !== null && rows.length === 0 && <p class="muted">No connected server lists a model.</p>}
      {rows.length > 0 && (
        <Table label="Models" columns={['Server', 'Model']}>
          {rows.map(({ id, server, problem }) => (
            <tr key={id ?? server}>
              <td>{server}</td>
              <td class={problem === undefined ? '' : 'bad'}>{problem ?? id}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
