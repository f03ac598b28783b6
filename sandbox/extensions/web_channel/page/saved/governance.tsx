import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { type ChangeMethod, confirmed } from '../parts/confirm.tsx';
import type { BoxAttributes } from '../parts/field.tsx';
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
  const [visibility, setVisibility] = useState(skill.visibility);
  const remove = async (): Promise<void> => {
    if (!(await confirmed(`Delete ${referenceOf(skill)} with all its versions?`))) return;
    await change('DELETE', '');
    goTo('/saved');
  };
  return (
    <div class="governance">
      <Decision
        name="visibility"
        again={again}
        decide={(form) => change('PUT', '/visibility', { visibility, ...(visibility === 'shared' ? withUsers(said(form, 'with')) : {}) })}
      >
        {({ box, isBusy }) => (
          <>
            <label for="visibility">Seen and run by</label>
            <select {...box} value={visibility} onChange={({ currentTarget }) => setVisibility(currentTarget.value)}>
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
          </>
        )}
      </Decision>
      {isAdministrator() && (
        <Decision name="version" again={again} decide={(form) => change('PUT', '/pin', { version: said(form, 'version') })}>
          {({ box, isBusy, act }) => (
            <>
              <label for="version">Version for others</label>
              <select {...box}>
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
            </>
          )}
        </Decision>
      )}
      <Decision
        name="cron"
        again={again}
        decide={(form) => {
          const zone = said(form, 'zone');
          return change('PUT', '/schedule', { cron: said(form, 'cron'), ...(zone === '' ? {} : { time_zone: zone }) });
        }}
      >
        {({ box, isBusy, act }) => (
          <>
            <label for="cron">Timetable</label>
            <input {...box} required placeholder="0 9 * * 1-5, or @daily" defaultValue={skill.schedule ?? ''} />
            <input name="zone" aria-label="Time zone" placeholder="Europe/Rome" defaultValue={skill.time_zone ?? ''} />
            <button type="submit" disabled={isBusy}>
              Schedule
            </button>
            {skill.schedule !== null && (
              <button type="button" disabled={isBusy} onClick={() => act(() => change('PUT', '/schedule', { cron: 'off' }))}>
                Stop
              </button>
            )}
          </>
        )}
      </Decision>
      <Decision name="by" again={again} decide={(form) => change('PUT', '/retired', { by: said(form, 'by') })}>
        {({ box, isBusy, act }) => (
          <>
            {skill.successor === null ? (
              <>
                <label for="by">Retire it in favour of</label>
                <input {...box} required placeholder="an agent, or owner/name" list="successors" autocomplete="off" />
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
              <button type="button" disabled={isBusy} onClick={() => act(remove)}>
                Delete it
              </button>
            )}
          </>
        )}
      </Decision>
    </div>
  );
}

interface Deciding {
  /** Of the box that the decision is about. */
  readonly box: BoxAttributes & { readonly name: string };
  readonly isBusy: boolean;
  act(work: () => Promise<unknown>): void;
}

interface DecisionProps {
  readonly name: string;
  again(): Promise<unknown>;
  decide(form: FormData): Promise<unknown>;
  children(deciding: Deciding): ComponentChildren;
}

/** One decision in a form of its own: what the server refuses of it stands there. */
function Decision({ name, again, decide, children }: DecisionProps): VNode {
  const { error, isBusy, attempt } = useAttempt(again);
  const act = (work: () => Promise<unknown>): void => void attempt(work);
  const box = { id: name, name, 'aria-invalid': error !== null, 'aria-describedby': `about-${name}` };
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        act(() => decide(form));
      }}
    >
      {children({ box, isBusy, act })}
      <div id={`about-${name}`}>
        <Problem error={error} />
      </div>
    </form>
  );
}

function said(form: FormData, name: string): string {
  return String(form.get(name) ?? '').trim();
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
