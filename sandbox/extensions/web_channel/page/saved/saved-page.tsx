import type { VNode } from 'preact';
import { CodeBlock } from '../parts/code-block.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { change } from '../parts/confirm.tsx';
import { More } from '../parts/more.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Section } from '../parts/section.tsx';
import { Table } from '../parts/table.tsx';
import { address, followLink, goTo } from '../router.ts';
import { ask } from '../server/api.ts';
import { useList } from '../server/list.ts';
import { never, useLoaded } from '../server/loaded.ts';
import { person } from '../server/session.ts';
import { Governance, type OfSavedSkill } from './governance.tsx';
import { InputForm } from './input-form.tsx';
import { ofWorkIn } from '../work/changes.ts';
import { isGovernedBy, referenceOf, type Run, type WholeSavedSkill } from './saved-skill.ts';
import { Webhook } from './webhook.tsx';

/** One saved skill: its form, its runs, and for who owns it how others reach it. */
export function SavedPage({ reference }: { readonly reference: string }): VNode {
  const path = `/api/saved/${encodeURIComponent(reference)}`;
  const loading = useLoaded<WholeSavedSkill>(path, never);
  const [loaded] = loading;
  const runs = useList<Run>(`/api/runs?skill=${encodeURIComponent(reference)}`, 'runs', ofWorkIn('runs'));
  const skill = loaded.value.value;
  if (skill === null)
    return (
      <main class="view">
        <Awaited of={loaded.value} />
      </main>
    );
  const run = async (inputs: Readonly<Record<string, string>>): Promise<void> => {
    const { id } = await ask<Run>('POST', `${path}/runs`, { inputs });
    goTo(address('saved/runs', id));
  };
  const isMine = isGovernedBy(skill, person.value);
  const parts: OfSavedSkill = {
    skill,
    loading,
    change: (method, place, body, tag = loaded.value.tag) => change(method, `${path}${place}`, body, { match: tag }),
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
        {skill.tags.map((tag) => (
          <span key={tag} class="chip">
            {tag}
          </span>
        ))}
        <span class="muted">
          {skill.version}
          {skill.pinned_version_id !== null && ` · pinned: ${pinnedVersion(skill)}`}
          {skill.webhook_enabled && ' · webhook'}
        </span>
        {isMine && skill.owner_id !== null && (
          <a class="button" href={address('saved/edit', reference)} onClick={followLink}>
            Edit
          </a>
        )}
      </div>
      <p>{skill.description}</p>
      {skill.successor !== null && <p class="warn">Retired: use {skill.successor}</p>}
      {skill.schedule !== null && <Timetable skill={skill} />}
      {skill.run_inputs === null ? (
        <p class="muted">You cannot run it{skill.pinned_version_id === null && ': no version of it is pinned'}.</p>
      ) : (
        <InputForm fields={skill.run_inputs} run={run} />
      )}
      {skill.output_target.kind === 'webui_only' && <LatestResult runs={runs.rows} />}
      <h2>Runs</h2>
      <RunTable runs={runs.rows} />
      <More list={runs} />
      <Section title="History">{() => <History skill={skill} />}</Section>
      {isMine && (
        <>
          <Section title="Who runs it, and when">{() => <Governance {...parts} />}</Section>
          <Section title="Webhook">{() => <Webhook {...parts} />}</Section>
        </>
      )}
      <Section title="What it tells the model">{() => <CodeBlock code={skill.system_prompt} language="markdown" />}</Section>
    </main>
  );
}

function pinnedVersion({ versions, pinned_version_id: pinned }: WholeSavedSkill): string {
  return versions.find(({ id }) => id === pinned)?.version ?? 'a version that is gone';
}

function Timetable({ skill: { schedule, time_zone: zone, next_runs: next } }: { readonly skill: WholeSavedSkill }): VNode {
  return (
    <p>
      Timetable: <code>{schedule}</code> {zone}
      {next.length > 0 && <span class="muted"> — next {next.map((at) => new Date(at).toLocaleString()).join('; ')}</span>}
    </p>
  );
}

/** Its versions, the newest first. */
function History({ skill: { versions, pinned_version_id: pinned } }: { readonly skill: WholeSavedSkill }): VNode {
  return (
    <Table label="History" columns={['Version', 'Number', 'Saved', 'By', 'For others']}>
      {versions.map(({ id, number, version, created_at: at, authored_by: by }) => (
        <tr key={id}>
          <td>{version}</td>
          <td>{number}</td>
          <td>{new Date(at).toLocaleString()}</td>
          <td>{by ?? 'Pith'}</td>
          <td>{id === pinned && 'pinned'}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Nothing else shows it. */
function LatestResult({ runs }: { readonly runs: readonly Run[] }): VNode | null {
  const latest = runs.find(({ output }) => output !== null);
  if (latest === undefined || latest.output === null) return null;
  return (
    <section aria-label="Latest result" class="result">
      <h2>
        Latest result <span class="muted">{new Date(latest.queued_at).toLocaleString()}</span>
      </h2>
      <Markdown text={latest.output} />
    </section>
  );
}

function RunTable({ runs }: { readonly runs: readonly Run[] }): VNode {
  if (runs.length === 0) return <p class="muted">None yet.</p>;
  return (
    <Table label="Runs" columns={['When', 'State', 'By', 'Result']}>
      {runs.map((run) => (
        <tr key={run.id}>
          <td>
            <a href={address('saved/runs', run.id)} onClick={followLink}>
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
