import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { never, useLoaded } from '../server/loaded.ts';
import { changesSkills } from './skill.ts';

interface Explanation {
  readonly trusted: string;
  readonly place?: 'system' | 'beside' | 'search' | 'none';
  readonly others: readonly { readonly source: string; readonly state: string; readonly reason: string | null }[];
  readonly catalog: {
    readonly line: string;
    readonly offered: boolean;
    readonly why: string;
    readonly budget: number;
    readonly withinBudget: boolean | null;
    readonly tokens: number;
    readonly skills: number;
    readonly lines: number;
  };
}

const PLACES = {
  system: 'Its line is in the system prompt anyway.',
  beside: 'It is suggested with the message.',
  search: 'Only a search finds it.',
  none: 'The agent does not find it.',
} as const;

/** Whether an agent meets it, what the catalog has room for, and how it ranks for a message. */
export function Explain({ path }: { readonly path: string }): VNode {
  const [agents] = useLoaded<readonly { readonly id: string }[]>('/api/agents', never);
  const [asked, setAsked] = useState('');
  const [loaded] = useLoaded<Explanation>(`${path}/explain${asked}`, changesSkills);
  const { value } = loaded.value;
  const explain = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const given = [...form].flatMap(([name, text]) => (typeof text === 'string' && text.trim() !== '' ? [[name, text] as const] : []));
    setAsked(given.length === 0 ? '' : `?${new URLSearchParams(Object.fromEntries(given)).toString()}`);
  };
  return (
    <>
      <form class="row" onSubmit={explain}>
        <input class="wide" name="text" placeholder="A message" aria-label="A message to find it by" />
        <select name="agent" aria-label="As an agent sees it">
          <option value="">Agent: any</option>
          {agents.value.value?.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
        <button type="submit">Explain</button>
      </form>
      <Awaited of={loaded.value} />
      {value !== null && <Answer explained={value} />}
    </>
  );
}

function Answer({ explained }: { readonly explained: Explanation }): VNode {
  const { place, catalog, trusted, others } = explained;
  return (
    <>
      {place !== undefined && (
        <p role="status">
          <strong>{PLACES[place]}</strong>
        </p>
      )}
      <p class={catalog.offered ? '' : 'warn'}>
        {catalog.offered ? 'Offered' : 'Not offered'}: {catalog.why}. Its text: {trusted}.
      </p>
      <p>
        <label for="budget">
          The catalog has {catalog.tokens.toLocaleString()} of {catalog.budget.toLocaleString()} tokens, counted 10% too high to be safe,
          and {catalog.lines} of {catalog.skills} skills have a line
        </label>
        <meter id="budget" class="budget" max={catalog.budget} high={catalog.budget * 0.9} value={catalog.tokens} />
      </p>
      <p>
        {catalog.withinBudget === true ? 'Its line there:' : 'Its line would be:'} <code>{catalog.line}</code>
      </p>
      {others.map(({ source, state, reason }) => (
        <p key={source} class="muted">
          Also in {source}: {state}
          {reason !== null && `, ${reason}`}
        </p>
      ))}
      <details>
        <summary>All details</summary>
        <CodeBlock code={JSON.stringify(explained, null, 2)} language="json" />
      </details>
    </>
  );
}
