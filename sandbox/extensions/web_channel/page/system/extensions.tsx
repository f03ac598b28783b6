import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { address, followLink, parts } from '../router.ts';
import { type ApiError, ask } from '../server/api.ts';
import { concerns, useLoaded } from '../server/loaded.ts';
import type { Extension } from './extension.ts';
import { ExtensionPage } from './extension-page.tsx';

/** All of them, or the one that the address names. */
export function Extensions(): VNode {
  const id = parts.value[2] ?? '';
  return id === '' ? <List /> : <ExtensionPage key={id} id={id} />;
}

function List(): VNode {
  const [loaded, again] = useLoaded<readonly Extension[]>('/api/extensions', concerns('extension'));
  const [error, setError] = useState<ApiError | null>(null);
  const reload = async (id: string): Promise<void> => {
    setError(null);
    await ask('POST', `/api/extensions/${encodeURIComponent(id)}/reload`).catch((wrong: unknown) => setError(wrong as ApiError));
    again();
  };
  return (
    <>
      <Problem error={error} />
      <Awaited of={loaded.value} />
      <Table label="Extensions" columns={['Extension', 'State', 'Runs', 'Provides']} action="Reload">
        {(loaded.value.value ?? []).map(({ id, state, shipped, tier, version, provides }) => (
          <tr key={id}>
            <td>
              <a href={address('system/extensions', id)} onClick={followLink}>
                {id}
              </a>{' '}
              <span class="muted">{version}</span> {!shipped && <span class="chip">yours</span>}
            </td>
            <td class={state === 'failed' ? 'bad' : ''}>{state}</td>
            <td class="nowrap">{tier === 'in_process' ? 'in the kernel' : 'in a process'}</td>
            <td class="muted">{provides.join(', ')}</td>
            <td>
              <button type="button" class="quiet" aria-label={`Reload ${id}`} onClick={() => void reload(id)}>
                Reload
              </button>
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
