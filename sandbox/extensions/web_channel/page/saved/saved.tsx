import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Awaited } from '../parts/awaited.tsx';
import { Section } from '../parts/section.tsx';
import { address, followLink, parts } from '../router.ts';
import { never, useLoaded } from '../server/loaded.ts';
import { Editor } from './editor.tsx';
import { Lanes } from './lanes.tsx';
import { RunPage } from './run-page.tsx';
import { SavedPage } from './saved-page.tsx';
import { referenceOf, type SavedSkill } from './saved-skill.ts';

/** Saved skills: what they do, their forms, and their runs. */
export function Saved(): VNode {
  const [, part, ...rest] = parts.value;
  const id = rest.join('/');
  if (part === 'new') return <Editor key="new" reference={null} />;
  if (id === '') return <SavedList />;
  if (part === 'runs') return <RunPage key={id} id={id} />;
  return part === 'edit' ? <Editor key={id} reference={id} /> : <SavedPage key={id} reference={id} />;
}

function SavedList(): VNode {
  const isRetired = useSignal(false);
  const [loaded] = useLoaded<readonly SavedSkill[]>(`/api/saved${isRetired.value ? '?deprecated=true' : ''}`, never);
  const tag = useSignal('');
  const all = loaded.value.value ?? [];
  const tags = [...new Set(all.flatMap((skill) => skill.tags))].toSorted();
  const shown = all.filter((skill) => tag.value === '' || skill.tags.includes(tag.value));
  return (
    <main class="view">
      <div class="row">
        <h1>Saved skills</h1>
        <a class="button" href="/saved/new" onClick={followLink}>
          New
        </a>
        <label>
          <input
            type="checkbox"
            checked={isRetired.value}
            onChange={({ currentTarget }) => {
              isRetired.value = currentTarget.checked;
              tag.value = '';
            }}
          />{' '}
          Retired
        </label>
      </div>
      <Awaited of={loaded.value} />
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
      {loaded.value.value?.length === 0 && <p class="muted">{isRetired.value ? 'None is retired.' : 'No skill was saved yet.'}</p>}
      <ul class="cards">
        {shown.map((skill) => (
          <li key={skill.id}>
            <a href={address('saved/skill', referenceOf(skill))} onClick={followLink}>
              {referenceOf(skill)}
            </a>
            <span class="chip">{skill.visibility}</span>
            {skill.pinned_version_id !== null && <span class="chip good">pinned</span>}
            {skill.tags.map((each) => (
              <span key={each} class="chip">
                {each}
              </span>
            ))}
            {skill.next_run_at !== null && <span class="muted">next {new Date(skill.next_run_at).toLocaleString()}</span>}
            <p>{skill.description}</p>
            {skill.successor !== null && <p class="warn">Retired: use {skill.successor}</p>}
          </li>
        ))}
      </ul>
      <Section title="Lanes">{() => <Lanes />}</Section>
    </main>
  );
}
