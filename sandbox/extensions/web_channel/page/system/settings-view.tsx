import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Refused, useEdited, WhatYouWrote } from '../parts/conflict.tsx';
import { Problem } from '../parts/problem.tsx';
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
  const { base, written: before, anew } = useEdited(loading, Object.keys(typed.value).length > 0);
  const form = base.value;
  if (form === null) return base.error === null ? <p class="muted">Loading …</p> : <Problem error={base.error} />;
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
      const values = changed.map((field) => `${field.key}=${jsonIn(field, typed.value[field.key] ?? '', above)}`);
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
  const message = error.value?.message ?? '';
  const wrong = fields.filter(({ key }) => message.includes(`${above}${key}'`) || message.includes(`${above}${key}[`));
  return (
    <form class="inputs settings" onSubmit={(event) => void save(event)}>
      {form.schema === null && <p class="muted">It runs in a process of its own: its settings are checked there when they are saved.</p>}
      {fields.map((field) => (
        <FieldView
          key={field.key}
          field={field}
          text={typed.value[field.key] ?? textOf(field, field.value)}
          error={wrong.includes(field) ? message : ''}
          set={(text) => (typed.value = { ...typed.value, [field.key]: text })}
        />
      ))}
      {wrong.length === 0 && <Refused error={error.value} takeTheirs={() => void takeTheirs()} />}
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

function jsonIn(field: Field, text: string, above: string): string {
  try {
    return jsonOf(field, text);
  } catch {
    const message = `'${above}${field.key}' must be JSON`; // the server would take it for a text
    throw new ApiError({ status: 400, code: 'config_invalid', message, cure: null, answer: {} });
  }
}

interface FieldProps {
  readonly field: Field;
  readonly text: string;
  /** Empty: nothing is wrong with it. */
  readonly error: string;
  set(text: string): void;
}

function FieldView({ field, text, error, set }: FieldProps): VNode {
  const { key, description, where } = field;
  const id = `setting-${key}`;
  return (
    <p>
      <label for={id}>
        <code>{key}</code>
      </label>
      <Box field={field} text={text} set={set} shared={{ id, 'aria-invalid': error !== '', 'aria-describedby': `${id}-about` }} />
      <span id={`${id}-about`} class="muted">
        {error !== '' && (
          <span role="alert">
            {error}
            <br />
          </span>
        )}
        {description}
        {where !== null && ` Set in ${where}.`}
      </span>
    </p>
  );
}

interface BoxProps extends Omit<FieldProps, 'error'> {
  readonly shared: { readonly id: string; readonly 'aria-invalid': boolean; readonly 'aria-describedby': string };
}

function Box({ field, text, set, shared }: BoxProps): VNode {
  const { kind, choices, fallback, bounds } = field;
  const preset = textOf(field, fallback);
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
