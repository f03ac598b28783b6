import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { CodeBlock } from '../parts/code-block.tsx';
import { useOften } from '../parts/often.ts';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { followLink, goTo, place } from '../router.ts';
import { ask } from '../server/api.ts';
import { useLoaded } from '../server/loaded.ts';
import { InputForm } from './input-form.tsx';
import { RunPage } from './run-page.tsx';
import { hasEnded, referenceOf, type Run, type SavedSkill } from './saved-skill.ts';

const never = (): boolean => false;

/** Saved skills: what they do, their forms, and their runs. */
export function Saved(): VNode {
  const [, , first = '', second = ''] = place.value.split('/');
  if (first === 'runs') return <RunPage key={second} id={decodeURIComponent(second)} />;
  return first === '' ? <SavedList /> : <SavedPage key={first} reference={decodeURIComponent(first)} />;
}

function SavedList(): VNode {
  const [loaded] = useLoaded<readonly SavedSkill[]>('/api/saved', never);
  const tag = useSignal('');
  const all = loaded.value.value ?? [];
  const tags = [...new Set(all.flatMap((skill) => skill.tags))].toSorted();
  const shown = all.filter((skill) => tag.value === '' || skill.tags.includes(tag.value));
  return (
    <main class="view">
      <h1>Saved skills</h1>
      <Problem error={loaded.value.error} />
      {tags.length > 0 && (
        <div class="row" role="group" aria-label="Tags">
          {tags.map((each) => (
            <button
              key={each}
              type="button"
              class="chip"
              aria-pressed={tag.value === each}
              onClick={() => (tag.value = tag.value === each ? '' : each)}
            >
              {each}
            </button>
          ))}
        </div>
      )}
      {loaded.value.value?.length === 0 && <p class="muted">No skill was saved yet.</p>}
      <ul class="cards">
        {shown.map((skill) => (
          <li key={skill.id}>
            <a href={`/saved/${encodeURIComponent(referenceOf(skill))}`} onClick={followLink}>
              {referenceOf(skill)}
            </a>
            <span class="chip">{skill.visibility}</span>
            {skill.tags.map((each) => (
              <span key={each} class="chip">
                {each}
              </span>
            ))}
            {skill.next_run_at !== null && <span class="muted">next {new Date(skill.next_run_at).toLocaleString()}</span>}
            <p>{skill.description}</p>
          </li>
        ))}
      </ul>
    </main>
  );
}

function SavedPage({ reference }: { readonly reference: string }): VNode {
  const path = `/api/saved/${encodeURIComponent(reference)}`;
  const [loaded] = useLoaded<SavedSkill>(path, never);
  const [runs, again] = useLoaded<readonly Run[]>(`/api/runs?skill=${encodeURIComponent(reference)}`, never);
  const list = runs.value.value ?? [];
  useOften(
    again,
    list.some((run) => !hasEnded(run)),
  );
  const skill = loaded.value.value;
  if (skill === null)
    return (
      <main class="view">
        <Problem error={loaded.value.error} />
      </main>
    );
  const run = async (inputs: Readonly<Record<string, string>>): Promise<void> => {
    const { id } = await ask<Run>('POST', `${path}/runs`, { inputs });
    goTo(`/saved/runs/${encodeURIComponent(id)}`);
  };
  return (
    <main class="view">
      <p>
        <a href="/saved" onClick={followLink}>
          Saved skills
        </a>
      </p>
      <div class="row">
        <h1>{referenceOf(skill)}</h1>
        <span class="chip">{skill.visibility}</span>
        <span class="muted">
          {skill.version}
          {skill.pinned_version_id !== null && ' · pinned'}
          {skill.webhook_enabled && ' · webhook'}
          {skill.schedule !== null && ` · ${skill.schedule}${skill.time_zone === null ? '' : ` ${skill.time_zone}`}`}
        </span>
      </div>
      <p>{skill.description}</p>
      {skill.deprecated_by_agent_id !== null && <p class="warn">Retired: {skill.deprecated_by_agent_id} takes its place.</p>}
      <InputForm fields={skill.input_schema} run={run} />
      <h2>Runs</h2>
      <RunTable runs={list} />
      <details>
        <summary>What it tells the model</summary>
        <CodeBlock code={skill.system_prompt} language="markdown" />
      </details>
    </main>
  );
}

export function RunTable({ runs }: { readonly runs: readonly Run[] }): VNode {
  if (runs.length === 0) return <p class="muted">None yet.</p>;
  return (
    <Table label="Runs" columns={['When', 'State', 'By', 'Result']}>
      {runs.map((run) => (
        <tr key={run.id}>
          <td>
            <a href={`/saved/runs/${encodeURIComponent(run.id)}`} onClick={followLink}>
              {new Date(run.queued_at).toLocaleString()}
            </a>
          </td>
          <td>{run.state}</td>
          <td>{run.user}</td>
          <td>{run.error?.message ?? run.output?.slice(0, 120) ?? run.status}</td>
        </tr>
      ))}
    </Table>
  );
}
