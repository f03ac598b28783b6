import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import type { BoxAttributes } from '../parts/field.tsx';
import { namesIn } from '../parts/names.ts';
import { MultiSelect } from '../parts/multi-select.tsx';
import { read } from '../server/api.ts';
import { never, useLoaded } from '../server/loaded.ts';
import { useModels } from '../server/models.ts';
import type { DocumentField, FieldKind } from './document-fields.ts';

export interface FieldBoxProps {
  readonly field: DocumentField;
  readonly box: BoxAttributes;
  readonly text: string;
  set(text: string): void;
}

/** The box of a field, by its kind. */
export function FieldBox(props: FieldBoxProps): VNode {
  const { field, box, text, set } = props;
  const change = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void => set(currentTarget.value);
  switch (field.kind) {
    case 'text':
      return <textarea {...box} rows={field.key === 'system_prompt' ? 8 : 3} value={text} onInput={change} />;
    case 'reactions':
      return <textarea {...box} rows={3} value={text} onInput={change} />;
    case 'switch':
      return (
        <input
          {...box}
          type="checkbox"
          checked={text === 'true'}
          onChange={({ currentTarget }) => set(currentTarget.checked ? 'true' : '')}
        />
      );
    case 'number':
      return <input {...box} inputMode="numeric" value={text} onInput={change} />;
    case 'model':
      return <ModelBox {...props} />;
    case 'lane':
      return <LaneBox {...props} />;
    case 'tools':
    case 'skills':
      return <NamesBox {...props} />;
    default:
      return <input {...box} value={text} onInput={change} />;
  }
}

function ModelBox({ box, text, set }: FieldBoxProps): VNode {
  const { names, load } = useModels();
  const chosen = text === '' ? 'default' : text;
  return (
    <select {...box} value={chosen} onPointerEnter={load} onFocus={load} onChange={({ currentTarget }) => set(currentTarget.value)}>
      {[...new Set(['default', chosen, ...names])].map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function LaneBox({ box, text, set }: FieldBoxProps): VNode {
  const [lanes] = useLoaded<readonly { readonly lane: string }[]>('/api/lanes', never);
  const names = (lanes.value.value ?? []).map(({ lane }) => lane).filter((lane) => lane !== 'skill-default');
  return (
    <select {...box} value={text} onChange={({ currentTarget }) => set(currentTarget.value)}>
      <option value="">default</option>
      {[...new Set([...(text === '' ? [] : [text]), ...names])].map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

/** Skills and tools, by what there is. */
function NamesBox({ field: { kind, label }, box, text, set }: FieldBoxProps): VNode {
  const options = useSignal<readonly string[]>([]);
  const asked = useSignal<string | null>(null);
  const look = (typed: string): void => {
    const wanted = kind === 'tools' ? '' : typed; // of tools all are known after the first look
    if (asked.value === wanted) return;
    asked.value = wanted;
    void namesOf(kind, wanted).then(
      (found) => asked.value === wanted && (options.value = found),
      () => (asked.value = null), // asked again with the next letter
    );
  };
  return (
    <MultiSelect
      label={label}
      box={box}
      chosen={namesIn(text)}
      options={options.value}
      look={look}
      choose={(chosen) => set(chosen.join(', '))}
    />
  );
}

const MOST_SUGGESTED = 50;

async function namesOf(kind: FieldKind, typed: string): Promise<readonly string[]> {
  if (kind === 'tools') return toolNames();
  const text = typed === '' ? '' : `&text=${encodeURIComponent(typed)}`;
  const { skills } = await read<{ readonly skills: readonly { readonly id: string }[] }>(`/api/skills?limit=${MOST_SUGGESTED}${text}`);
  return skills.map(({ id }) => id);
}

/** Those of all agents that this person reaches. */
async function toolNames(): Promise<readonly string[]> {
  const agents = await read<readonly { readonly id: string; readonly state: string }[]>('/api/agents');
  const tools = await Promise.all(
    agents
      .filter(({ state }) => state === 'active')
      .map(({ id }) =>
        read<readonly { readonly name: string; readonly extension: string }[]>(`/api/tools?agent=${encodeURIComponent(id)}`),
      ),
  );
  return [...new Set(tools.flat().map(({ name, extension }) => `${extension}/${name}`))].toSorted();
}
