import type { VNode } from 'preact';
import { address, followLink, parts } from '../router.ts';
import { Awaited } from '../parts/awaited.tsx';
import { Said } from '../parts/said.tsx';
import { useLoaded } from '../server/loaded.ts';
import { ProposalPage } from './proposal-page.tsx';
import { changesProposals, changeText, isSerious, isWaiting, type ProposalEntry, SERIOUS } from './proposal.ts';

/** Changes of skills that agents propose, and one of them side by side with what it changes. */
export function Proposals(): VNode {
  const id = parts.value[2];
  return id === undefined ? <ProposalList /> : <ProposalPage key={id} id={id} />;
}

function ProposalList(): VNode {
  const [entries] = useLoaded<readonly ProposalEntry[]>('/api/proposals?all=true', changesProposals());
  const list = (entries.value.value ?? []).toSorted((one, other) => Number(isWaiting(other)) - Number(isWaiting(one)));
  return (
    <main class="view">
      <p>
        <a href="/skills" onClick={followLink}>
          Skills
        </a>
      </p>
      <h1>Proposals</h1>
      <Said />
      <Awaited of={entries.value} />
      {entries.value.value?.length === 0 && <p class="muted">Nothing was proposed.</p>}
      <ul class="cards">
        {list.map((entry) => (
          <li key={entry.id}>
            <a href={address('skills/proposals', entry.id)} onClick={followLink}>
              {entry.skill ?? entry.id}
            </a>
            <span class={`chip ${isWaiting(entry) ? 'warn' : ''}`}>{entry.status}</span>
            {isSerious(entry) && <span class="chip bad">{SERIOUS}</span>}
            <span class="muted">
              {entry.author} · {entry.createdAt === null ? '' : new Date(entry.createdAt).toLocaleString()}
            </span>
            {entry.justification !== undefined && <p>{firstLine(entry.justification)}</p>}
            {entry.change !== undefined && <p class="muted">{changeText(entry.change)}</p>}
            {(entry.reason ?? entry.problem) !== undefined && <p class="muted">{entry.reason ?? entry.problem}</p>}
          </li>
        ))}
      </ul>
    </main>
  );
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
