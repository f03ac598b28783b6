import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { change } from '../parts/confirm.tsx';
import { Difference } from '../parts/difference.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { useLoaded } from '../server/loaded.ts';
import { isAdministrator } from '../server/session.ts';
import { changesSkills } from './skill.ts';

interface Version {
  readonly number: number;
  readonly version: string;
  readonly at: string;
  readonly by: string;
  readonly how: string;
  readonly reason?: string;
  readonly proposal?: string;
}

interface Changes {
  readonly changes: readonly { readonly path: string; readonly change: string; readonly patch: string | null }[];
}

interface HistoryProps {
  /** Of the skill, and its tag. */
  readonly path: string;
  readonly tag: string | null;
  changed(): Promise<void>;
}

/** The accepted versions of a skill: what changed, and the way back. */
export function History({ path, tag, changed }: HistoryProps): VNode {
  const [loaded, again] = useLoaded<readonly Version[]>(`${path}/history`, changesSkills);
  const [compared, setCompared] = useState<number | null>(null);
  const { error, isBusy, attempt } = useAttempt(() => Promise.all([again(), changed()]));
  const versions = loaded.value.value ?? [];
  const newest = versions[0]?.number;
  const goBack = (number: number) => (): void =>
    void attempt(() => change('POST', `${path}/rollback`, { version: String(number) }, { match: tag }));
  return (
    <>
      <Problem error={error} />
      <Awaited of={loaded.value} />
      {loaded.value.value?.length === 0 && <p class="muted">No change was recorded.</p>}
      {versions.length > 0 && (
        <Table label="Versions" columns={['Number', 'Version', 'When', 'How', 'By', 'Why']} action="What can be done">
          {versions.map(({ number, version, at, how, by, reason, proposal }) => (
            <tr key={number}>
              <td>{number}</td>
              <td>{version}</td>
              <td>{new Date(at).toLocaleString()}</td>
              <td>{how.replace('_', ' ')}</td>
              <td>{by}</td>
              <td>{[proposal === undefined ? '' : `proposal ${proposal}`, reason ?? ''].filter((part) => part !== '').join(': ')}</td>
              <td>
                {number !== newest && (
                  <button
                    type="button"
                    class="quiet"
                    aria-pressed={compared === number}
                    onClick={() => setCompared(compared === number ? null : number)}
                  >
                    Compare {number} with now
                  </button>
                )}
                {number !== newest && isAdministrator() && (
                  <button type="button" class="quiet" disabled={isBusy} onClick={goBack(number)}>
                    Go back to {number}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {compared !== null && <Compared key={compared} path={path} from={compared} />}
    </>
  );
}

function Compared({ path, from }: { readonly path: string; readonly from: number }): VNode {
  const [loaded] = useLoaded<Changes>(`${path}/diff?from=${from}`, changesSkills);
  const { value } = loaded.value;
  return (
    <>
      <Awaited of={loaded.value} />
      {value?.changes.length === 0 && <p>They are identical.</p>}
      {value?.changes.map(({ path: file, change: how, patch }) => (
        <section key={file}>
          <h3>
            {file} <span class="muted">{how}</span>
          </h3>
          {patch === null ? <p class="warn">This file is not text.</p> : <Difference patch={patch} titles={[`Version ${from}`, 'Now']} />}
        </section>
      ))}
    </>
  );
}
