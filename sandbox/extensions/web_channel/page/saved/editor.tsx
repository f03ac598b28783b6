import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { change } from '../parts/confirm.tsx';
import { type Edited, Refused, useEdited, WhatYouWrote, type Written } from '../parts/conflict.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Field } from '../parts/field.tsx';
import { isAllPlaced, problemAt, useFirstWrong, wrongFields } from '../parts/wrong-fields.ts';
import { address, followLink, goTo } from '../router.ts';
import { never, useLoaded } from '../server/loaded.ts';
import { isAdministrator } from '../server/session.ts';
import { type DocumentField, FIELD_GROUPS, KEPT, OWN_FIELDS, textOf, valueOf } from './document-fields.ts';
import { FieldBox } from './field-box.tsx';
import { InputRows, writtenInRows } from './input-rows.tsx';
import { type InputField, OUTPUT_KINDS, referenceOf, type SavedSkill } from './saved-skill.ts';

/** Saves a skill, or changes one. `reference`: that one; null: a new one. */
export function Editor({ reference }: { readonly reference: string | null }): VNode {
  const edited = useEdited(useLoaded<SavedSkill>(reference === null ? null : `/api/saved/${encodeURIComponent(reference)}`, never), true);
  const { value } = edited.base;
  if (reference !== null && value === null)
    return (
      <main class="view">
        <Awaited of={edited.base} />
      </main>
    );
  return (
    <main class="view">
      <p>
        <a href="/saved" onClick={followLink}>
          Saved skills
        </a>
      </p>
      <h1>{value === null ? 'Save a skill' : `Edit ${referenceOf(value)}`}</h1>
      <Form key={edited.round} edited={edited} />
      <WhatYouWrote texts={edited.written} />
    </main>
  );
}

type Target = SavedSkill['output_target'];

const NO_TARGET: Target = { kind: 'channel', target: '' };

/** Holds what somebody has changed, and sends no more than that: all else of the document stays as it is. */
function Form({ edited: { base, anew } }: { readonly edited: Edited<SavedSkill> }): VNode {
  const { value: skill, tag } = base;
  const { error, isBusy, attempt } = useAttempt();
  const form = useRef<HTMLFormElement>(null);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [inputs, setInputs] = useState<readonly InputField[]>(skill?.input_schema ?? []);
  const [target, setTarget] = useState<Target>(skill?.output_target ?? NO_TARGET);
  useFirstWrong(error, form);
  const wrong = wrongFields(error);
  const groups = FIELD_GROUPS.map(({ title, fields }) => ({
    title,
    fields: fields.filter(({ isGranted }) => isGranted !== true || isAdministrator()),
  }));
  const fields = groups.flatMap((group) => group.fields);
  const before = ({ key, kind }: DocumentField): string => (skill === null ? '' : textOf(kind, skill[key]));
  const textIn = (field: DocumentField): string => typed[field.key] ?? before(field);
  const changed = fields.filter((field) => textIn(field) !== before(field));
  const isSame = (now: unknown, then: unknown): boolean => JSON.stringify(now) === JSON.stringify(then);
  const save = async (): Promise<void> => {
    const content = {
      ...Object.fromEntries(changed.map((field) => [field.key, valueOf(field.kind, textIn(field))])),
      ...(isSame(inputs, skill?.input_schema ?? []) ? {} : { input_schema: inputs }),
      ...(isSame(target, skill?.output_target ?? NO_TARGET) ? {} : { output_target: target }),
    };
    const isAsItWas = skill !== null && Object.keys(content).length === 0;
    const text = JSON.stringify(content);
    const saved = isAsItWas
      ? skill
      : skill === null
        ? await change<SavedSkill>('POST', '/api/saved', { name: (typed['name'] ?? '').trim(), text })
        : await change<SavedSkill>('PATCH', `/api/saved/${encodeURIComponent(referenceOf(skill))}`, { text }, { match: tag });
    if (saved !== null) goTo(address('saved/skill', referenceOf(saved)));
  };
  const written = (): readonly Written[] => [
    ...changed.map((field) => ({ field: field.label, text: textIn(field) })),
    ...(isSame(target, skill?.output_target ?? NO_TARGET) ? [] : [{ field: 'Result goes to', text: `${target.kind} ${target.target}` }]),
    ...writtenInRows(inputs, skill?.input_schema ?? []),
  ];
  const isShown = (key: string): boolean => fields.some((field) => field.key === key);
  const kept = [...KEPT, ...FIELD_GROUPS.flatMap((group) => group.fields.map(({ key }) => key))].filter(
    (key) => key !== 'id' && !isShown(key) && Boolean(skill?.[key]),
  );
  const isPlaced = isAllPlaced(
    wrong,
    [...fields.map(({ key }) => key), ...OWN_FIELDS].map((key) => [key]),
  );
  return (
    <form
      ref={form}
      class="inputs"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(save);
      }}
    >
      {groups.map(({ title, fields: some }) => (
        <section key={title}>
          {title !== '' && <h2>{title}</h2>}
          {some.map((field) => (
            <Field key={field.key} id={`field-${field.key}`} label={field.label} about={field.about} problem={problemAt(wrong, field.key)}>
              {(box) => (
                <FieldBox field={field} box={box} text={textIn(field)} set={(text) => setTyped((all) => ({ ...all, [field.key]: text }))} />
              )}
            </Field>
          ))}
          {title === '' && (
            <>
              <TargetField target={target} problem={problemAt(wrong, 'output_target')} set={setTarget} />
              <InputRows inputs={inputs} wrong={wrong} set={setInputs} />
            </>
          )}
        </section>
      ))}
      {skill !== null && (
        <p class="muted">
          Who sees and runs it, its timetable, its webhook and what replaces it stay as they are: its page decides about them.
          {kept.length > 0 && ` What no box shows here stays, too: ${kept.join(', ')}.`}
        </p>
      )}
      {!isPlaced && <Refused error={error} takeTheirs={() => void attempt(() => anew(written()))} />}
      <div class="row">
        <button type="submit" class="main" disabled={isBusy}>
          Save
        </button>
        <span role="status" class="bad">
          {isPlaced && 'It was not saved: look at the fields that are marked.'}
        </span>
      </div>
    </form>
  );
}

interface TargetFieldProps {
  readonly target: Target;
  readonly problem: string | null;
  set(target: Target): void;
}

/** The server shows no more than the beginning of the address of a webhook: one that nobody changes is not sent back. */
function TargetField({ target, problem, set }: TargetFieldProps): VNode {
  return (
    <>
      <Field id="field-output" label="Result goes to" problem={null}>
        {(box) => (
          <select {...box} value={target.kind} onChange={({ currentTarget }) => set({ ...target, kind: currentTarget.value })}>
            {OUTPUT_KINDS.map(([kind, words]) => (
              <option key={kind} value={kind}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        id="field-target"
        label="Target"
        about="Such as pager:ada, or an https address; empty: the chat that is open"
        problem={problem}
      >
        {(box) => <input {...box} value={target.target} onInput={({ currentTarget }) => set({ ...target, target: currentTarget.value })} />}
      </Field>
    </>
  );
}
