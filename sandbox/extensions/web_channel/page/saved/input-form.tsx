import type { VNode } from 'preact';
import { useAttempt } from '../parts/attempt.ts';
import { Problem } from '../parts/problem.tsx';
import type { InputField } from './saved-skill.ts';

interface InputFormProps {
  readonly fields: readonly InputField[];
  /** By name, as a person typed them. Rejects with `ApiError` where they are refused. */
  run(inputs: Readonly<Record<string, string>>): Promise<void>;
}

/** A form for the inputs of a saved skill. What the server refuses stays in it, each error beside its field. */
export function InputForm({ fields, run }: InputFormProps): VNode {
  const { error, isBusy, attempt } = useAttempt();
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
  const problems = new Map(fields.map(({ name }) => [name, error === null ? null : problemOf(name, error.message)]));
  const isPlaced = [...problems.values()].some((problem) => problem !== null);
  return (
    <form class="inputs" noValidate onSubmit={submit}>
      {fields.map((field) => (
        <FieldView key={field.name} field={field} problem={problems.get(field.name) ?? null} />
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

/** What the server says of one input, of all that it refuses. */
function problemOf(name: string, message: string): string | null {
  const [, missing = ''] = /(?:^|; )((?:'\w+'(?:, )?)+) (?:is|are) missing/u.exec(message) ?? [];
  if (missing.split(', ').includes(`'${name}'`)) return 'is missing';
  const [, problem = null] =
    new RegExp(`(?:^|; )input '${name}': (.*?)(?=; input '\\w+': |; there is no input |$)`, 'u').exec(message) ?? [];
  return problem;
}

function FieldView({ field, problem }: { readonly field: InputField; readonly problem: string | null }): VNode {
  const { name, description, required, default: preset, choices } = field;
  const shared = { id: `input-${name}`, name, 'aria-invalid': problem !== null, 'aria-describedby': `about-${name}` } as const;
  return (
    <p>
      <label for={shared.id}>
        {name}
        {required && <span class="muted"> (required)</span>}
      </label>
      {choices.length > 0 ? (
        <select {...shared} required={required}>
          {(!required || preset === null) && <option value="" />}
          {choices.map((choice) => (
            <option key={choice} selected={choice === preset}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <Box shared={shared} field={field} />
      )}
      <span id={`about-${name}`} class="muted">
        {problem !== null && (
          <strong class="bad">
            {name} {problem}{' '}
          </strong>
        )}
        {description}
      </span>
    </p>
  );
}

interface BoxProps {
  readonly shared: { readonly id: string; readonly name: string; readonly 'aria-invalid': boolean; readonly 'aria-describedby': string };
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
