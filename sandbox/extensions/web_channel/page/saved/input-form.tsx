import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { ApiError } from '../server/api.ts';
import type { InputField } from './saved-skill.ts';

interface InputFormProps {
  readonly fields: readonly InputField[];
  /** By name, as a person typed them. Rejects with `ApiError` where they are refused. */
  run(inputs: Readonly<Record<string, string>>): Promise<void>;
}

/** A form for the inputs of a saved skill. What the server refuses stays in it. */
export function InputForm({ fields, run }: InputFormProps): VNode {
  const [error, setError] = useState<ApiError | null>(null);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setError(null);
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const inputs = fields.flatMap(({ name, type }): [string, string][] => {
      const value = form.get(name);
      if (type === 'bool') return [[name, value === null ? 'false' : 'true']];
      return typeof value === 'string' && value !== '' ? [[name, value]] : [];
    });
    try {
      await run(Object.fromEntries(inputs));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setError(error);
    }
  };
  const wrong = fields.find(({ name }) => error?.message.includes(`'${name}'`) === true)?.name;
  return (
    <form class="inputs" onSubmit={(event) => void submit(event)}>
      {fields.map((field) => (
        <FieldView key={field.name} field={field} isWrong={field.name === wrong} />
      ))}
      <Problem error={error} />
      <div class="row">
        <button type="submit" class="main">
          Run
        </button>
      </div>
    </form>
  );
}

function FieldView({ field, isWrong }: { readonly field: InputField; readonly isWrong: boolean }): VNode {
  const { name, description, required, default: preset, choices } = field;
  const shared = { id: `input-${name}`, name, 'aria-invalid': isWrong, 'aria-describedby': `about-${name}` } as const;
  return (
    <p>
      <label for={shared.id}>
        {name}
        {required && <span class="muted"> (needed)</span>}
      </label>
      {choices.length > 0 ? (
        <select {...shared} required={required}>
          {!required && <option value="" />}
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
  if (type === 'int') return <input {...text} type="number" />;
  if (type === 'float') return <input {...text} type="number" step="any" />;
  return type === 'url' ? <input {...text} type="url" /> : <input {...text} />;
}
