import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { change } from '../parts/confirm.tsx';
import { type Edited, Refused, useEdited, WhatYouWrote, type Written } from '../parts/conflict.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { address, followLink, goTo } from '../router.ts';
import { never, useLoaded } from '../server/loaded.ts';
import { type InputField, INPUT_TYPES, OUTPUT_KINDS, referenceOf, type SavedSkill } from './saved-skill.ts';

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

const NEW: InputField = { name: '', description: '', type: 'string', required: false, default: null, choices: [] };

function Form({ edited: { base, anew } }: { readonly edited: Edited<SavedSkill> }): VNode {
  const { value: skill, tag } = base;
  const { error, isBusy, attempt } = useAttempt();
  const form = useRef<HTMLFormElement>(null);
  const [inputs, setInputs] = useState<readonly InputField[]>(skill?.input_schema ?? []);
  const save = async (form: FormData): Promise<void> => {
    const said = (name: string): string => String(form.get(name) ?? '').trim();
    const content = {
      description: said('description'),
      system_prompt: said('system_prompt'),
      tags: listed(said('tags')),
      tools: listed(said('tools')),
      output_target: { kind: said('output'), target: said('target') },
      input_schema: inputs,
    };
    const text = JSON.stringify(withoutShortenedTarget(content, skill));
    const saved =
      skill === null
        ? await change<SavedSkill>('POST', '/api/saved', { name: said('name'), text })
        : await change<SavedSkill>('PATCH', `/api/saved/${encodeURIComponent(referenceOf(skill))}`, { text }, tag);
    if (saved !== null) goTo(address('saved/skill', referenceOf(saved)));
  };
  return (
    <form
      ref={form}
      class="inputs"
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        void attempt(() => save(form));
      }}
    >
      {skill === null && (
        <p>
          <label for="name">Name</label>
          <input id="name" name="name" required aria-describedby="about-name" />
          <span id="about-name" class="muted">
            Lower-case letters, digits, - and _
          </span>
        </p>
      )}
      <p>
        <label for="description">What it does</label>
        <input id="description" name="description" defaultValue={skill?.description ?? ''} />
        <span class="muted">In one line, for people who choose it</span>
      </p>
      <p>
        <label for="system_prompt">Instructions</label>
        <textarea id="system_prompt" name="system_prompt" rows={8} required defaultValue={skill?.system_prompt ?? ''} />
        <span class="muted">What the model is told</span>
      </p>
      <p>
        <label for="tags">Tags</label>
        <input id="tags" name="tags" defaultValue={skill?.tags.join(', ') ?? ''} />
        <span class="muted">Separated by commas</span>
      </p>
      <p>
        <label for="tools">Tools</label>
        <input id="tools" name="tools" defaultValue={skill?.tools.join(', ') ?? ''} />
        <span class="muted">As extension/tool, separated by commas</span>
      </p>
      <p>
        <label for="output">Its result goes to</label>
        <select id="output" name="output">
          {OUTPUT_KINDS.map(([kind, words]) => (
            <option key={kind} value={kind} selected={kind === skill?.output_target.kind}>
              {words}
            </option>
          ))}
        </select>
        <input name="target" aria-label="Target" placeholder="the default one" defaultValue={skill?.output_target.target ?? ''} />
      </p>
      <h2>Inputs</h2>
      {inputs.map((input, at) => (
        <InputRow
          key={at}
          input={input}
          number={at + 1}
          set={(changed) => setInputs(inputs.flatMap((each, index) => (index === at ? (changed === null ? [] : [changed]) : [each])))}
        />
      ))}
      <Refused error={error} takeTheirs={() => void attempt(() => anew(form.current === null ? [] : writtenIn(form.current)))} />
      <div class="row">
        <button type="button" onClick={() => setInputs([...inputs, NEW])}>
          Add an input
        </button>
        <button type="submit" class="main" disabled={isBusy}>
          Save
        </button>
      </div>
    </form>
  );
}

interface InputRowProps {
  readonly input: InputField;
  readonly number: number;
  /** null: without it. */
  set(input: InputField | null): void;
}

function InputRow({ input, number, set }: InputRowProps): VNode {
  const label = (what: string): string => `${what} of input ${number}`;
  return (
    <div class="row" role="group" aria-label={`Input ${number}`}>
      <input
        value={input.name}
        required
        placeholder="name"
        aria-label={label('Name')}
        onInput={({ currentTarget }) => set({ ...input, name: currentTarget.value })}
      />
      <select
        value={input.type}
        aria-label={label('Type')}
        onChange={({ currentTarget }) => set({ ...input, type: currentTarget.value as InputField['type'] })}
      >
        {INPUT_TYPES.map((type) => (
          <option key={type}>{type}</option>
        ))}
      </select>
      <input
        value={input.description}
        placeholder="what it is"
        aria-label={label('Description')}
        onInput={({ currentTarget }) => set({ ...input, description: currentTarget.value })}
      />
      <input
        value={input.choices.join(', ')}
        placeholder="choices"
        aria-label={label('Choices')}
        onChange={({ currentTarget }) => set({ ...input, choices: listed(currentTarget.value) })}
      />
      <input
        value={input.default ?? ''}
        placeholder="default"
        aria-label={label('Default')}
        onInput={({ currentTarget: { value } }) => set({ ...input, default: value === '' ? null : value })}
      />
      <label>
        <input
          type="checkbox"
          checked={input.required}
          onChange={({ currentTarget }) => set({ ...input, required: currentTarget.checked })}
        />{' '}
        needed
      </label>
      <button type="button" class="quiet" aria-label={`Remove input ${number}`} onClick={() => set(null)}>
        Remove
      </button>
    </div>
  );
}

/** What was written over what the form began with, by the labels of its fields, and what was chosen. */
function writtenIn(form: HTMLFormElement): readonly Written[] {
  const boxes = form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>(
    'input:not([type=checkbox]), textarea, select',
  );
  return [...boxes].flatMap((box) => {
    if ('defaultValue' in box && box.value === box.defaultValue) return [];
    return [{ field: box.labels?.[0]?.textContent ?? box.ariaLabel ?? box.name, text: box.value }];
  });
}

/** The server shows no more than the beginning of the address of a webhook: what nobody changed is not sent back. */
function withoutShortenedTarget<T extends { readonly output_target: SavedSkill['output_target'] }>(content: T, skill: SavedSkill | null) {
  const { output_target: target, ...rest } = content;
  const isSame = skill !== null && target.kind === skill.output_target.kind && target.target === skill.output_target.target;
  return isSame ? rest : content;
}

function listed(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
