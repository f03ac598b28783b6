import type { VNode } from 'preact';
import { useAttempt } from '../parts/attempt.ts';
import { change } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { useLoaded } from '../server/loaded.ts';
import { changesSkills, type Skill } from './skill.ts';

interface Settings {
  readonly values: { readonly disabled?: readonly string[] };
  readonly set: readonly { readonly key: string }[];
}

const SETTINGS = '/api/extensions/skill_registry/settings';
const KEY = 'extensions.skill_registry.disabled';

/** Switches a skill off for all agents, in the settings of the registry, and on again. What a person wrote there by hand stays theirs. */
export function Switch({ skill: { id, state }, again }: { readonly skill: Skill; again(): Promise<void> }): VNode | null {
  const [loaded, reload] = useLoaded<Settings>(SETTINGS, changesSkills);
  const { error, isBusy, attempt } = useAttempt(() => Promise.all([reload(), again()]));
  const settings = loaded.value.value;
  const disabled = settings?.values.disabled ?? [];
  const isOff = disabled.includes(id);
  const isOurs = disabled.length === 0 || settings?.set.some(({ key }) => key.startsWith(KEY)) === true;
  if (settings === null || !isOurs || (state !== 'offered' && !isOff)) return null;
  const toggle = async (): Promise<void> => {
    const ids = isOff ? disabled.filter((each) => each !== id) : [...disabled, id];
    const values = [`disabled=${ids.length === 0 ? 'null' : JSON.stringify(ids)}`];
    await change('PATCH', SETTINGS, { values }, { match: loaded.value.tag });
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => void attempt(toggle)}>
        {isOff ? 'Switch on' : 'Switch off'}
      </button>
      <Problem error={error} />
    </>
  );
}
