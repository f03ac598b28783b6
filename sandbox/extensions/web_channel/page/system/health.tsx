import { counted } from '@pith/plain-text';
import type { VNode } from 'preact';
import { Awaited } from '../parts/awaited.tsx';
import { CureView } from '../parts/cure.tsx';
import type { Cure } from '../server/cure.ts';
import { concerns, useLoaded } from '../server/loaded.ts';

interface Finding {
  readonly severity: string;
  readonly message: string;
  /** Extensions or agents; none: it is said of Pith. */
  readonly of: readonly string[];
  readonly file?: string;
  readonly line?: number;
  readonly cure?: Cure;
  readonly isAlarm?: boolean;
}

/** As `pith doctor` says it. */
interface Report {
  readonly verdict: { readonly level: string; readonly text: string };
  readonly findings: readonly Finding[];
  readonly model: { readonly ref: string; readonly why: string };
  readonly sandbox: { readonly trust: string; readonly why: string | null };
  readonly skills: Readonly<Record<string, number>>;
  readonly extensions: readonly unknown[];
  readonly agents: readonly unknown[];
}

/** What `pith doctor` finds, with its cures. */
export function Health(): VNode {
  const [loaded, again] = useLoaded<Report>('/api/doctor', concerns('extension'));
  const report = loaded.value.value;
  if (report === null) return <Awaited of={loaded.value} />;
  const { verdict, findings, model, sandbox, skills, extensions, agents } = report;
  return (
    <>
      <p class={verdict.level} role="status">
        {verdict.text}.{' '}
        <button type="button" class="quiet" onClick={again}>
          Refresh
        </button>
      </p>
      <dl class="facts">
        {sandbox.trust === 'restricted' && (
          <>
            <dt>Restricted</dt>
            <dd class="warn">{sandbox.why}</dd>
          </>
        )}
        <dt>Model</dt>
        <dd>
          <code>{model.ref}</code> <span class="muted">{model.why}</span>
        </dd>
        <dt>Skills</dt>
        <dd>
          {Object.entries(skills)
            .map(([state, count]) => `${count} ${state}`)
            .join(', ')}
        </dd>
        <dt>Examined</dt>
        <dd>
          {counted(extensions.length, 'extension')} and {counted(agents.length, 'agent')}
        </dd>
      </dl>
      <ul class="findings">
        {findings.map((finding, at) => (
          <FindingView key={at} finding={finding} done={again} />
        ))}
      </ul>
    </>
  );
}

function FindingView({
  finding: { of, severity, message, file, line, cure, isAlarm },
  done,
}: {
  readonly finding: Finding;
  done(): void;
}): VNode {
  const place = file === undefined || message.includes(file) ? null : `${file}${line === undefined ? '' : `:${line}`}`;
  return (
    <li class={severity === 'error' || isAlarm === true ? 'bad' : severity === 'warning' ? 'warn' : ''}>
      {of.length > 0 && `${of.join(', ')}: `}
      {message}
      {place !== null && <span class="muted place">{place}</span>}
      <CureView cure={cure} done={done} />
    </li>
  );
}
