import type { VNode } from 'preact';
import type { Written } from '../parts/conflict.tsx';
import { namesIn } from '../parts/names.ts';
import { problemAt, type wrongFields } from '../parts/wrong-fields.ts';
import { type InputField, INPUT_TYPES } from './saved-skill.ts';

const NEW: InputField = { name: '', description: '', type: 'string', required: false, default: null, choices: [] };

interface InputRowsProps {
  readonly inputs: readonly InputField[];
  readonly wrong: ReturnType<typeof wrongFields>;
  set(inputs: readonly InputField[]): void;
}

/** The inputs of a saved skill, a row each. */
export function InputRows({ inputs, wrong, set }: InputRowsProps): VNode {
  return (
    <>
      <h2>Inputs</h2>
      {inputs.map((input, at) => (
        <InputRow
          key={at}
          input={input}
          number={at + 1}
          wrong={(...key) => problemAt(wrong, 'input_schema', at, ...key)}
          set={(changed) => set(inputs.flatMap((each, index) => (index === at ? (changed === null ? [] : [changed]) : [each])))}
        />
      ))}
      <div class="row">
        <button type="button" onClick={() => set([...inputs, NEW])}>
          Add an input
        </button>
      </div>
    </>
  );
}

interface InputRowProps {
  readonly input: InputField;
  readonly number: number;
  /** What is wrong with it, or with one of its parts. */
  wrong(...key: readonly string[]): string | null;
  /** null: without it. */
  set(input: InputField | null): void;
}

function InputRow({ input, number, wrong, set }: InputRowProps): VNode {
  const problem = wrong();
  const box = (what: keyof typeof PARTS) => ({
    'aria-label': labelOf(what, number),
    'aria-invalid': wrong(what) !== null,
    'aria-describedby': `about-input-${number}`,
  });
  return (
    <div class="row" role="group" aria-label={`Input ${number}`}>
      <input
        {...box('name')}
        value={input.name}
        required
        placeholder="name"
        onInput={({ currentTarget }) => set({ ...input, name: currentTarget.value })}
      />
      <select
        {...box('type')}
        value={input.type}
        onChange={({ currentTarget }) => set({ ...input, type: currentTarget.value as InputField['type'] })}
      >
        {INPUT_TYPES.map((type) => (
          <option key={type}>{type}</option>
        ))}
      </select>
      <input
        {...box('description')}
        value={input.description}
        placeholder="what it is"
        onInput={({ currentTarget }) => set({ ...input, description: currentTarget.value })}
      />
      <input
        {...box('choices')}
        value={input.choices.join(', ')}
        placeholder="choices"
        onChange={({ currentTarget }) => set({ ...input, choices: namesIn(currentTarget.value) })}
      />
      <input
        {...box('default')}
        value={input.default ?? ''}
        placeholder="default"
        onInput={({ currentTarget: { value } }) => set({ ...input, default: value === '' ? null : value })}
      />
      <label>
        <input
          type="checkbox"
          checked={input.required}
          onChange={({ currentTarget }) => set({ ...input, required: currentTarget.checked })}
        />{' '}
        required
      </label>
      <button type="button" class="quiet" aria-label={`Remove input ${number}`} onClick={() => set(null)}>
        Remove
      </button>
      <strong id={`about-input-${number}`} class="bad">
        {problem}
      </strong>
    </div>
  );
}

const PARTS = { name: 'Name', type: 'Type', description: 'Description', choices: 'Choices', default: 'Default' } as const;

function labelOf(part: keyof typeof PARTS, number: number): string {
  return `${PARTS[part]} of input ${number}`;
}

/** What somebody wrote into rows that began as `before`. */
export function writtenInRows(inputs: readonly InputField[], before: readonly InputField[]): readonly Written[] {
  return inputs.flatMap((input, at) =>
    (Object.keys(PARTS) as (keyof typeof PARTS)[]).flatMap((part) => {
      const text = String(input[part] ?? '');
      return text === String((before[at] ?? NEW)[part] ?? '') ? [] : [{ field: labelOf(part, at + 1), text }];
    }),
  );
}
