import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Awaited } from '../parts/awaited.tsx';
import { Table } from '../parts/table.tsx';
import { never, useLoaded } from '../server/loaded.ts';

interface LogRecord {
  readonly time: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly name: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const TONES = { debug: 'muted', info: '', warn: 'warn', error: 'bad' } as const;

/** The end of the log; null: of all. The newest is first. */
export function LogView({ extension }: { readonly extension: string | null }): VNode {
  const level = useSignal<string>('debug');
  const path = extension === null ? '/api/logs' : `/api/extensions/${encodeURIComponent(extension)}/logs`;
  const [loaded, again] = useLoaded<readonly LogRecord[]>(`${path}?last=200&level=${level.value}`, never);
  const records = loaded.value.value;
  return (
    <>
      <div class="row">
        <label>
          From level{' '}
          <select value={level.value} onChange={({ currentTarget }) => (level.value = currentTarget.value)}>
            {LEVELS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <button type="button" onClick={again}>
          Refresh
        </button>
      </div>
      <Awaited of={loaded.value} />
      {records !== null && records.length === 0 && <p class="muted">The log has no such records.</p>}
      {records !== null && records.length > 0 && (
        <Table label="Log" columns={['When', 'Level', ...(extension === null ? ['Of'] : []), 'What']}>
          {records.toReversed().map(({ time, level: of, name, message, fields }, at) => (
            <tr key={at}>
              <td class="nowrap">{new Date(time).toLocaleString()}</td>
              <td class={TONES[of]}>{of}</td>
              {extension === null && <td>{name}</td>}
              <td>
                {message} {Object.keys(fields).length > 0 && <code class="muted long">{JSON.stringify(fields)}</code>}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
