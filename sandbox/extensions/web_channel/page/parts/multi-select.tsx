import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { BoxAttributes } from './field.tsx';
import { namesIn } from './names.ts';

interface MultiSelectProps {
  readonly label: string;
  readonly box: BoxAttributes;
  readonly chosen: readonly string[];
  /** What there is to choose from. */
  readonly options: readonly string[];
  /** A person is about to choose, and has typed this so far. */
  look(typed: string): void;
  choose(chosen: readonly string[]): void;
}

/** Names chosen from what there is, with completion; one that is not there any more can stay or go. */
export function MultiSelect({ label, box, chosen, options, look, choose }: MultiSelectProps): VNode {
  const [typed, setTyped] = useState('');
  const add = (): void => {
    const names = namesIn(typed).filter((name) => !chosen.includes(name));
    if (names.length > 0) choose([...chosen, ...names]);
    setTyped('');
  };
  return (
    <div class="multi-select">
      {chosen.map((name) => (
        <span key={name} class="chip">
          {name}{' '}
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${name} from ${label}`}
            onClick={() => choose(chosen.filter((each) => each !== name))}
          >
            ×
          </button>
        </span>
      ))}
      <input
        {...box}
        list={`${box.id}-options`}
        autocomplete="off"
        value={typed}
        onFocus={() => look(typed)}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          look(currentTarget.value);
        }}
        onBlur={add}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || typed.trim() === '') return;
          event.preventDefault(); // it chooses, and does not send the form
          add();
        }}
      />
      <datalist id={`${box.id}-options`}>
        {options
          .filter((option) => !chosen.includes(option))
          .map((option) => (
            <option key={option} value={option} />
          ))}
      </datalist>
    </div>
  );
}
