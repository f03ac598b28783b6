import type { Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { concerns, useLoaded } from '../server/loaded.ts';
import { useModels } from '../server/models.ts';

interface Agent {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly default?: boolean;
}

/** Who answers the next message, and by which model. Empty: who answered before, by its own model. */
export interface Choice {
  readonly agent: string;
  readonly model: string;
}

export const NO_CHOICE: Choice = { agent: '', model: '' };

interface ChoiceProps {
  readonly choice: Signal<Choice>;
  /** Who answers without a choice; null: the default agent. */
  readonly agentId: string | null;
}

/** Models are asked for once somebody is about to choose one. */
export function ChoiceView({ choice, agentId }: ChoiceProps): VNode {
  const [agents] = useLoaded<readonly Agent[]>('/api/agents', concerns('agent'));
  const { names, load } = useModels();
  const list = (agents.value.value ?? []).filter(({ state }) => state === 'active');
  const preset = list.find((each) => (agentId === null ? each.default === true : each.id === agentId));
  const { agent, model } = choice.value;
  const known = [...new Set([...(model === '' ? [] : [model]), ...names])];
  return (
    <>
      <select
        aria-label="Agent"
        title="Who answers"
        value={agent}
        onChange={({ currentTarget }) => (choice.value = { ...choice.value, agent: currentTarget.value })}
      >
        <option value="">{preset?.name ?? agentId ?? 'The default agent'}</option>
        {list
          .filter((each) => each !== preset)
          .map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
      </select>
      <select
        aria-label="Model"
        title="By which model"
        value={model}
        onPointerEnter={load}
        onFocus={load}
        onChange={({ currentTarget }) => (choice.value = { ...choice.value, model: currentTarget.value })}
      >
        <option value="">Default model</option>
        {known.map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
    </>
  );
}

/** As a message has it. */
export function chosen({ agent, model }: Choice): { readonly agent?: string; readonly model?: string } {
  return { ...(agent === '' ? {} : { agent }), ...(model === '' ? {} : { model }) };
}
