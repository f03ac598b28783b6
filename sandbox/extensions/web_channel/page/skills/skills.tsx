import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Problem } from '../parts/problem.tsx';
import { Lazy } from '../parts/lazy.tsx';
import { followLink, goTo, place } from '../router.ts';
import { useLoaded } from '../server/loaded.ts';
import { isAdministrator } from '../server/session.ts';
import { changesSkills, type Skill } from './skill.ts';
import { SkillPage } from './skill-page.tsx';

interface Proposal {
  readonly id: string;
  readonly status: string;
}

/** Skills, and what is to be decided about them. */
export function Skills(): VNode {
  const [, , first = '', second] = place.value.split('/');
  if (first === 'proposals') return <Lazy key="proposals" load={async () => (await import('./proposals.tsx')).Proposals} />;
  if (first === 'install') return <Lazy key="install" load={async () => (await import('./install.tsx')).Install} />;
  return first === '' ? (
    <SkillList />
  ) : (
    <SkillPage key={first} id={decodeURIComponent(second === undefined ? first : `${first}/${second}`)} />
  );
}

function SkillList(): VNode {
  const isAdmin = isAdministrator();
  const [skills] = useLoaded<readonly Skill[]>('/api/skills?all=true', changesSkills);
  const [proposals] = useLoaded<readonly Proposal[]>(isAdmin ? '/api/proposals' : null, changesSkills);
  const words = useSignal('');
  const state = useSignal('');
  const source = useSignal('');
  const tag = useSignal('');
  const all = skills.value.value ?? [];
  const shown = all.filter(
    (skill) =>
      (state.value === '' || skill.state === state.value) &&
      (source.value === '' || skill.source === source.value) &&
      (tag.value === '' || skill.tags?.includes(tag.value) === true) &&
      `${skill.id} ${skill.name} ${skill.description}`.toLowerCase().includes(words.value.trim().toLowerCase()),
  );
  const waiting = (proposals.value.value ?? []).filter(({ status }) => status === 'open').length;
  return (
    <main class="view">
      <div class="row">
        <h1>Skills</h1>
        {isAdmin && (
          <>
            <a class="button" href="/skills/install" onClick={followLink}>
              Install
            </a>
            <a class="button" href="/skills/proposals" onClick={followLink}>
              Proposals{waiting > 0 && ` (${waiting})`}
            </a>
          </>
        )}
      </div>
      <Problem error={skills.value.error} />
      <div class="row filters">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search skills"
          value={words.value}
          onInput={({ currentTarget }) => (words.value = currentTarget.value)}
        />
        <Filter name="State" chosen={state} values={all.map((skill) => skill.state)} />
        <Filter name="Source" chosen={source} values={all.map((skill) => skill.source)} />
        <Filter name="Tag" chosen={tag} values={all.flatMap((skill) => skill.tags ?? [])} />
        <span class="muted" role="status">
          {shown.length} of {all.length}
        </span>
      </div>
      <ul class="cards">
        {shown.slice(0, MOST).map((skill) => (
          <li key={`${skill.source}/${skill.id}`}>
            <a href={`/skills/${encodeURIComponent(`${skill.source}/${skill.id}`)}`} onClick={followLink}>
              {skill.name}
            </a>
            <span class={`chip ${skill.state === 'offered' ? 'good' : 'warn'}`}>{skill.state}</span>
            <span class="muted">
              {skill.source} · {skill.tokens.toLocaleString()} tokens{skill.version !== undefined && ` · ${skill.version}`}
            </span>
            <p>{skill.description}</p>
            {skill.tags?.map((each) => (
              <button key={each} type="button" class="chip" aria-label={`Only ${each}`} onClick={() => (tag.value = each)}>
                {each}
              </button>
            ))}
            {skill.reason !== undefined && (
              <p class="warn">
                {skill.reason}
                {skill.cure !== undefined && <span class="muted"> — {skill.cure}</span>}
              </p>
            )}
          </li>
        ))}
      </ul>
      {shown.length > MOST && <p class="muted">Search for the other {shown.length - MOST}.</p>}
      {all.length === 0 && skills.value.value !== null && (
        <p>
          There are no skills. <button onClick={() => goTo('/skills/install')}>Install some</button>
        </p>
      )}
    </main>
  );
}

const MOST = 200;

function Filter({
  name,
  chosen,
  values,
}: {
  readonly name: string;
  readonly chosen: { value: string };
  readonly values: readonly string[];
}): VNode {
  return (
    <select aria-label={name} value={chosen.value} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
      <option value="">{name}: all</option>
      {[...new Set(values)].toSorted().map((value) => (
        <option key={value}>{value}</option>
      ))}
    </select>
  );
}
