import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { type BoxAttributes, Field } from '../parts/field.tsx';
import { Problem } from '../parts/problem.tsx';
import { isAllPlaced, problemAt, useFirstWrong, wrongFields } from '../parts/wrong-fields.ts';
import type { InputField } from './saved-skill.ts';

interface InputFormProps {
  readonly fields: readonly InputField[];
  /** By name, as a person typed them. Rejects with `ApiError` where they are refused. */
  run(inputs: Readonly<Record<string, string>>): Promise<void>;
}

/** A form for the inputs of a saved skill. What the server refuses stays in it, each error beside its field. */
export function InputForm({ fields, run }: InputFormProps): VNode {
  const { error, isBusy, attempt } = useAttempt();
  const form = useRef<HTMLFormElement>(null);
  useFirstWrong(error, form);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const inputs = fields.flatMap(({ name, type }): [string, string][] => {
      const value = form.get(name);
      if (type === 'bool') return [[name, value === null ? 'false' : 'true']];
      return typeof value === 'string' && value !== '' ? [[name, value]] : [];
    });
    void attempt(() => run(Object.fromEntries(inputs)));
  };
  const wrong = wrongFields(error);
  const isPlaced = isAllPlaced(
    wrong,
    fields.map(({ name }) => [name]),
  );
  return (
    <form ref={form} class="inputs" noValidate onSubmit={submit}>
      {fields.map((field) => (
        <FieldView key={field.name} field={field} problem={problemAt(wrong, field.name)} />
      ))}
      {!isPlaced && <Problem error={error} />}
      <div class="row">
        <button type="submit" class="main" disabled={isBusy}>
          Run
        </button>
        <span role="status" class="bad">
          {isPlaced && 'It was not run: look at the inputs.'}
        </span>
      </div>
    </form>
  );
}

function FieldView({ field, problem }: { readonly field: InputField; readonly problem: string | null }): VNode {
  const { name, description, required, default: preset, choices } = field;
  const label = (
    <>
      {name}
      {required && <span class="muted"> (required)</span>}
    </>
  );
  return (
    <Field id={`input-${name}`} label={label} about={description} problem={problem === null ? null : `${name} ${problem}`}>
      {(attributes) => {
        const shared = { ...attributes, name };
        if (choices.length === 0) return <Box shared={shared} field={field} />;
        return (
          <select {...shared} required={required}>
            {(!required || preset === null) && <option value="" />}
            {choices.map((choice) => (
              <option key={choice} selected={choice === preset}>
                {choice}
              </option>
            ))}
          </select>
        );
      }}
    </Field>
  );
}

interface BoxProps {
  readonly shared: BoxAttributes & { readonly name: string };
  readonly field: InputField;
}

function Box({ shared, field: { type, required, default: preset } }: BoxProps): VNode {
  const text = { ...shared, required, defaultValue: preset ?? '' };
  if (type === 'bool') return <input {...shared} type="checkbox" value="true" defaultChecked={preset === 'true'} />;
  if (type === 'int' || type === 'float') return <input {...text} inputMode={type === 'int' ? 'numeric' : 'decimal'} />;
  if (type === 'url') return <input {...text} type="url" />;
  return <input {...text} placeholder={HINTS[type] ?? ''} />;
}

const HINTS: Readonly<Partial<Record<InputField['type'], string>>> = {
  user: 'id of a user, such as ann',
  channel: 'id of a channel',
  file: 'path in the project, such as notes/list.md',
};
