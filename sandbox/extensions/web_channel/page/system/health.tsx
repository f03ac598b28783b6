import type { VNode } from 'preact';
import { Awaited } from '../parts/awaited.tsx';
import { CureView } from '../parts/cure.tsx';
import type { Cure } from '../server/cure.ts';
import { concerns, useLoaded } from '../server/loaded.ts';

interface Note {
  readonly severity: string;
  readonly message: string;
  readonly cure?: Cure;
}

interface Part {
  readonly id: string;
  readonly state: string;
  readonly degraded?: boolean;
  readonly message?: string;
  readonly cure?: Cure;
  readonly notes: readonly Note[];
}

interface Report {
  readonly ok: boolean;
  readonly model: { readonly ref: string; readonly why: string };
  readonly skills: Readonly<Record<string, number>>;
  readonly extensions: readonly Part[];
  readonly agents: readonly Part[];
  readonly notes: readonly Note[];
}

/** As `pith doctor`. */
export function Health(): VNode {
  const [loaded, again] = useLoaded<Report>('/api/doctor', concerns('extension'));
  const report = loaded.value.value;
  if (report === null) return <Awaited of={loaded.value} />;
  const parts = [...report.extensions, ...report.agents];
  const notes = [...report.notes, ...parts.flatMap((part) => part.notes)];
  const failed = parts.filter(({ message }) => message !== undefined);
  return (
    <>
      <p class={report.ok ? 'good' : 'bad'} role="status">
        {report.ok ? 'All is well.' : 'Something needs you.'}{' '}
        <button type="button" class="quiet" onClick={again}>
          Refresh
        </button>
      </p>
      <p>
        Model: <code>{report.model.ref}</code> <span class="muted">{report.model.why}</span>
      </p>
      <p class="muted">
        Skills:{' '}
        {Object.entries(report.skills)
          .map(([state, count]) => `${count} ${state}`)
          .join(', ')}
      </p>
      <ul>
        {failed.map(({ id, message, cure }) => (
          <li key={id} class="bad">
            {id}: {message}
            <CureView cure={cure} done={again} />
          </li>
        ))}
        {notes.map(({ severity, message, cure }, at) => (
          <li key={at} class={severity === 'error' ? 'bad' : severity === 'warning' ? 'warn' : ''}>
            {message}
            <CureView cure={cure} done={again} />
          </li>
        ))}
      </ul>
    </>
  );
}
