import { skillTokens } from '../parts/tokens.ts';
import { useSignal } from '@preact/signals';
import type { ComponentType, VNode } from 'preact';
import { Awaited } from '../parts/awaited.tsx';
import { Said } from '../parts/said.tsx';
import { Problem } from '../parts/problem.tsx';
import { ForAdmins } from '../parts/for-admins.tsx';
import { CureView } from '../parts/cure.tsx';
import { Lazy } from '../parts/lazy.tsx';
import { More } from '../parts/more.tsx';
import { address, followLink, goTo, parts } from '../router.ts';
import { useList } from '../server/list.ts';
import { useLoaded } from '../server/loaded.ts';
import { isAdministrator } from '../server/session.ts';
import { changesProposals } from './proposal.ts';
import { changesSkills, type Skill } from './skill.ts';
import { SkillPage } from './skill-page.tsx';

const FOR_ADMINS: ReadonlyMap<string, () => Promise<ComponentType>> = new Map([
  ['proposals', async () => (await import('./proposals.tsx')).Proposals],
  ['install', async () => (await import('./install.tsx')).Install],
]);

/** Skills, and what is to be decided about them. */
export function Skills(): VNode {
  const [, part, ...rest] = parts.value;
  const id = rest.join('/');
  const load = part === undefined ? undefined : FOR_ADMINS.get(part);
  if (load !== undefined)
    return (
      <ForAdmins key={part}>
        <Lazy load={load} />
      </ForAdmins>
    );
  return id === '' ? <SkillList /> : <SkillPage key={id} id={id} />;
}

interface Count {
  readonly name: string;
  readonly count: number;
}

interface Counts {
  readonly total: number;
  readonly states: readonly Count[];
  readonly sources: readonly Count[];
  readonly tags: readonly Count[];
}

const COUNTS = '/api/all-skills/counts?all=true';

function SkillList(): VNode {
  const isAdmin = isAdministrator();
  const [text, state, source, tag] = [useSignal(''), useSignal(''), useSignal(''), useSignal('')];
  const chosen = Object.entries({ text: text.value.trim(), state: state.value, source: source.value, tag: tag.value })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `&${name}=${encodeURIComponent(value)}`)
    .join('');
  const list = useList<Skill>(`/api/skills?all=true${chosen}`, 'skills', changesSkills);
  const [counts] = useLoaded<Counts>(COUNTS, changesSkills);
  const [chosenCounts] = useLoaded<Counts>(chosen === '' ? null : `${COUNTS}${chosen}`, changesSkills);
  const [proposals] = useLoaded<{ readonly waiting: number }>(isAdmin ? '/api/all-proposals/counts' : null, changesProposals());
  const { total = 0, states = [], sources = [], tags = [] } = counts.value.value ?? {};
  const found = (chosen === '' ? counts : chosenCounts).value.value?.total;
  const waiting = proposals.value.value?.waiting ?? 0;
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
      <Said />
      <Problem error={counts.value.error} />
      <div class="row filters">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search skills"
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
        <Filter name="State" chosen={state} counts={states} />
        <Filter name="Source" chosen={source} counts={sources} />
        <Filter name="Tag" chosen={tag} counts={tags} />
        <span class="muted" role="status">
          {found !== undefined && `${found.toLocaleString()} of ${total.toLocaleString()}`}
        </span>
      </div>
      <Awaited of={list} />
      <ul class="cards">
        {list.rows.map((skill) => (
          <li key={`${skill.source}/${skill.id}`}>
            <a href={address('skills/skill', skill.source, skill.id)} onClick={followLink}>
              {skill.name}
            </a>
            <span class={`chip ${skill.state === 'offered' ? 'good' : 'warn'}`}>{skill.state}</span>
            <span class="muted">
              {skill.source} · {skillTokens(skill)}
              {skill.version !== undefined && ` · ${skill.version}`}
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
                <CureView cure={skill.cure} />
              </p>
            )}
          </li>
        ))}
      </ul>
      <More list={list} />
      {counts.value.value?.total === 0 && (
        <p>There are no skills. {isAdmin && <button onClick={() => goTo('/skills/install')}>Install some</button>}</p>
      )}
    </main>
  );
}

interface FilterProps {
  readonly name: string;
  readonly chosen: { value: string };
  readonly counts: readonly Count[];
}

function Filter({ name, chosen, counts }: FilterProps): VNode {
  return (
    <select aria-label={name} value={chosen.value} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
      <option value="">{name}: all</option>
      {counts.map(({ name: value, count }) => (
        <option key={value} value={value}>
          {value} ({count.toLocaleString()})
        </option>
      ))}
    </select>
  );
}
