import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { type ChangeMethod, confirmed } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { goTo } from '../router.ts';
import { never, useLoaded, type Loading } from '../server/loaded.ts';
import { isAdministrator } from '../server/session.ts';
import { referenceOf, type SavedSkill, type WholeSavedSkill } from './saved-skill.ts';

export interface OfSavedSkill {
  readonly skill: WholeSavedSkill;
  readonly loading: Loading<WholeSavedSkill>;
  /** Changes what is at this place below it, unless the skill has another tag now than the one that is shown; null: the person said no. */
  change<T>(method: ChangeMethod, place: string, body?: object, tag?: string | null): Promise<T | null>;
}

/** Who may see and run a saved skill, which version others run, when it runs by itself, and how it goes. */
export function Governance({ skill, change, loading: [, again] }: OfSavedSkill): VNode {
  const { error, isBusy, attempt } = useAttempt(again);
  const [visibility, setVisibility] = useState(skill.visibility);
  const act = (work: () => Promise<unknown>): void => void attempt(work);
  const submit = (work: (form: FormData) => Promise<unknown>) => (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    act(() => work(form));
  };
  const said = (form: FormData, name: string): string => String(form.get(name) ?? '').trim();
  const remove = async (): Promise<void> => {
    if (!(await confirmed(`Delete ${referenceOf(skill)} with all its versions?`))) return;
    await change('DELETE', '');
    goTo('/saved');
  };
  const isAdmin = isAdministrator();
  return (
    <div class="governance">
      <Problem error={error} />
      <form
        class="row"
        onSubmit={submit((form) =>
          change('PUT', '/visibility', { visibility, ...(visibility === 'shared' ? withUsers(said(form, 'with')) : {}) }),
        )}
      >
        <label for="visibility">Seen and run by</label>
        <select id="visibility" value={visibility} onChange={({ currentTarget }) => setVisibility(currentTarget.value)}>
          <option value="private">its owner (private)</option>
          <option value="shared">some people (shared)</option>
          <option value="public">everybody (public)</option>
        </select>
        {visibility === 'shared' && (
          <input name="with" aria-label="Shared with" placeholder="ann, bob" defaultValue={skill.shared_with.join(', ')} />
        )}
        <button type="submit" disabled={isBusy}>
          Set
        </button>
      </form>
      {isAdmin && (
        <form class="row" onSubmit={submit((form) => change('PUT', '/pin', { version: said(form, 'version') }))}>
          <label for="version">Version for others</label>
          <select id="version" name="version">
            {skill.versions.map(({ id, number, version }) => (
              <option key={id} value={id} selected={id === skill.pinned_version_id}>
                {version} (number {number}){id === skill.pinned_version_id && ', pinned'}
              </option>
            ))}
          </select>
          <button type="submit" disabled={isBusy}>
            Pin
          </button>
          {skill.pinned_version_id !== null && (
            <button type="button" disabled={isBusy} onClick={() => act(() => change('DELETE', '/pin'))}>
              Unpin
            </button>
          )}
        </form>
      )}
      <form
        class="row"
        onSubmit={submit((form) => {
          const zone = said(form, 'zone');
          return change('PUT', '/schedule', { cron: said(form, 'cron'), ...(zone === '' ? {} : { time_zone: zone }) });
        })}
      >
        <label for="cron">Timetable</label>
        <input id="cron" name="cron" required placeholder="0 9 * * 1-5, or @daily" defaultValue={skill.schedule ?? ''} />
        <input name="zone" aria-label="Time zone" placeholder="Europe/Rome" defaultValue={skill.time_zone ?? ''} />
        <button type="submit" disabled={isBusy}>
          Schedule
        </button>
        {skill.schedule !== null && (
          <button type="button" disabled={isBusy} onClick={() => act(() => change('PUT', '/schedule', { cron: 'off' }))}>
            Stop
          </button>
        )}
      </form>
      <form class="row" onSubmit={submit((form) => change('PUT', '/retired', { by: said(form, 'by') }))}>
        {skill.successor === null ? (
          <>
            <label for="by">Retire it in favour of</label>
            <input id="by" name="by" required placeholder="an agent, or owner/name" list="successors" autocomplete="off" />
            <Successors of={skill} />
            <button type="submit" disabled={isBusy}>
              Retire
            </button>
          </>
        ) : (
          <button type="button" disabled={isBusy} onClick={() => act(() => change('PUT', '/retired', { clear: true }))}>
            List it again
          </button>
        )}
        {skill.owner_id !== null && (
          <button type="button" disabled={isBusy} onClick={() => void attempt(remove)}>
            Delete it
          </button>
        )}
      </form>
    </div>
  );
}

/** Agents and saved skills that may take its place. */
function Successors({ of }: { readonly of: SavedSkill }): VNode {
  const [agents] = useLoaded<readonly { readonly id: string }[]>('/api/agents', never);
  const [others] = useLoaded<{ readonly saved: readonly SavedSkill[] }>('/api/saved?limit=200', never);
  const names = [
    ...(agents.value.value ?? []).map(({ id }) => id),
    ...(others.value.value?.saved ?? []).filter(({ id }) => id !== of.id).map(referenceOf),
  ];
  return (
    <datalist id="successors">
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}

function withUsers(text: string): object {
  const users = text.split(/[\s,]+/u).filter((user) => user !== '');
  return users.length === 0 ? {} : { with: users };
}
