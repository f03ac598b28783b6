import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { Refused, useEdited, WhatYouWrote } from '../parts/conflict.tsx';
import { CodeWords } from '../parts/code-words.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { type BoxAttributes, Field as FieldRow } from '../parts/field.tsx';
import { isAllPlaced, problemAt, useFirstWrong, wrongFields } from '../parts/wrong-fields.ts';
import { ApiError, ask } from '../server/api.ts';
import { concerns, useLoaded } from '../server/loaded.ts';
import { type Field, fieldsOf, jsonOf, type SettingsForm, textOf } from './settings-fields.ts';

interface SettingsProps {
  /** null: of Pith itself. */
  readonly extension: string | null;
}

/** A form made from the schema of settings. What is saved is checked first and written to the settings file, whose comments stay. */
export function SettingsView({ extension }: SettingsProps): VNode {
  const path = extension === null ? '/api/settings' : `/api/extensions/${encodeURIComponent(extension)}/settings`;
  const above = extension === null ? '' : `extensions.${extension}.`;
  const loading = useLoaded<SettingsForm>(path, concerns('extension', extension ?? undefined));
  const typed = useSignal<Readonly<Record<string, string>>>({});
  const error = useSignal<ApiError | null>(null);
  const said = useSignal('');
  const box = useRef<HTMLFormElement>(null);
  useFirstWrong(error.value, box);
  const { base, written: before, anew } = useEdited(loading, Object.keys(typed.value).length > 0);
  const form = base.value;
  if (form === null) return <Awaited of={base} />;
  const fields = fieldsOf(form, above);
  if (fields.length === 0) return <p class="muted">It has no settings.</p>;
  const changed = fields.filter((field) => (typed.value[field.key] ?? textOf(field, field.value)) !== textOf(field, field.value));
  const takeTheirs = async (): Promise<void> => {
    await anew(changed.map(({ key }) => ({ field: key, text: typed.value[key] ?? '' })));
    [typed.value, error.value] = [{}, null];
  };
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    error.value = null;
    said.value = '';
    try {
      const values = changed.map((field) => `${field.key}=${jsonIn(field, typed.value[field.key] ?? '')}`);
      if (values.length === 0) return void (said.value = 'Nothing was changed.');
      const { written } = await ask<{ readonly written: string }>('PATCH', path, { values }, base.tag);
      await loading[1]();
      typed.value = {};
      said.value = `Written to ${written}.`;
    } catch (wrong) {
      if (!(wrong instanceof ApiError)) throw wrong;
      error.value = wrong;
    }
  };
  const wrong = wrongFields(error.value);
  const pathOf = ({ key }: Field): readonly string[] => key.split('.');
  return (
    <form ref={box} class="inputs settings" onSubmit={(event) => void save(event)}>
      {fields.map((field) => (
        <FieldView
          key={field.key}
          field={field}
          text={typed.value[field.key] ?? textOf(field, field.value)}
          problem={problemAt(wrong, ...pathOf(field))}
          set={(text) => (typed.value = { ...typed.value, [field.key]: text })}
        />
      ))}
      {!isAllPlaced(wrong, fields.map(pathOf)) && <Refused error={error.value} takeTheirs={() => void takeTheirs()} />}
      <div class="row decide">
        <button type="submit" class="main">
          Save
        </button>
        <span role="status">{said.value}</span>
      </div>
      <WhatYouWrote texts={before} />
    </form>
  );
}

function jsonIn(field: Field, text: string): string {
  try {
    return jsonOf(field, text);
  } catch {
    const message = 'must be JSON'; // the server would take it for a text
    const problems = [{ path: field.key.split('.'), message }];
    throw new ApiError({ status: 400, code: 'config_invalid', message, cure: null, answer: { error: { problems } } });
  }
}

interface FieldProps {
  readonly field: Field;
  readonly text: string;
  /** null: nothing is wrong with it. */
  readonly problem: string | null;
  set(text: string): void;
}

function FieldView({ field, text, problem, set }: FieldProps): VNode {
  const { key, description, where, byHand } = field;
  const about = (
    <>
      <CodeWords text={description} />
      {where !== null && ` Set in ${where}.`}
      {byHand !== null && ` It ${byHand}: write it into pith.yaml by hand.`}
    </>
  );
  return (
    <FieldRow id={`setting-${key}`} label={<code>{key}</code>} about={about} problem={problem}>
      {(shared) => <Box field={field} text={text} set={set} shared={shared} />}
    </FieldRow>
  );
}

interface BoxProps extends Omit<FieldProps, 'problem'> {
  readonly shared: BoxAttributes;
}

function Box({ field, text, set, shared }: BoxProps): VNode {
  const { kind, choices, fallback, byHand, bounds } = field;
  const preset = textOf(field, fallback);
  if (byHand !== null) return <output {...shared}>{text || preset || 'none'}</output>;
  const change = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void => set(currentTarget.value);
  if (kind === 'switch' || kind === 'choice')
    return (
      <select {...shared} value={text} onChange={change}>
        <option value="">{preset === '' ? 'not set' : `${preset} (default)`}</option>
        {(kind === 'switch' ? ['true', 'false'] : choices).map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  if (kind === 'list' || kind === 'json')
    return <textarea {...shared} rows={Math.min(8, text.split('\n').length + 1)} value={text} placeholder={preset} onInput={change} />;
  const box = { ...shared, value: text, placeholder: preset, onInput: change };
  return kind === 'number' ? <input {...box} {...bounds} type="number" /> : <input {...box} />;
}
