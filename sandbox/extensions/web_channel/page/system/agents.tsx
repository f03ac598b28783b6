import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { concerns, useLoaded } from '../server/loaded.ts';

interface Agent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly state: string;
  readonly default: boolean;
  readonly model: string;
  readonly uses_tools: readonly string[];
  readonly uses_skills: readonly string[];
  readonly delegates_to: readonly string[];
}

export function Agents(): VNode {
  const [loaded] = useLoaded<readonly Agent[]>('/api/agents', concerns('agent'));
  return (
    <>
      <Awaited of={loaded.value} />
      <ul class="cards">
        {(loaded.value.value ?? []).map((agent) => (
          <li key={agent.id}>
            <strong>{agent.name}</strong>
            <span class={`chip ${agent.state === 'active' ? 'good' : 'warn'}`}>{agent.state}</span>
            {agent.default && <span class="chip">default</span>}
            <span class="muted">
              {agent.id} · {agent.model}
            </span>
            <p>{agent.description}</p>
            <p class="muted">
              Tools: {agent.uses_tools.join(', ') || 'none'}
              {agent.uses_skills.length > 0 && ` · always has the skills: ${agent.uses_skills.join(', ')}`}
              {agent.delegates_to.length > 0 && ` · delegates to: ${agent.delegates_to.join(', ')}`}
            </p>
            <Prompt id={agent.id} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Prompt({ id }: { readonly id: string }): VNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Prompt</summary>
      {isOpen && <PromptText id={id} />}
    </details>
  );
}

function PromptText({ id }: { readonly id: string }): VNode {
  const [loaded] = useLoaded<{ readonly system: string }>(`/api/agents/${encodeURIComponent(id)}/prompt?channel=web`, concerns('agent'));
  const { value } = loaded.value;
  return value === null ? <Awaited of={loaded.value} /> : <CodeBlock code={value.system} language="markdown" />;
}
