import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { change } from '../parts/confirm.tsx';
import { Difference } from '../parts/difference.tsx';
import { Problem } from '../parts/problem.tsx';
import { followLink, goTo, place } from '../router.ts';
import { ApiError } from '../server/api.ts';
import { useLoaded } from '../server/loaded.ts';
import { changesSkills } from './skill.ts';

interface Entry {
  readonly id: string;
  readonly skill: string | null;
  readonly status: string;
  readonly author: string | null;
  readonly createdAt: string | null;
  readonly reason?: string;
}

interface Review extends Entry {
  readonly digest?: string;
  readonly justification?: string;
  readonly evidence?: string;
  readonly sources?: readonly string[];
  readonly version?: { readonly from: string | null; readonly to: string | null };
  readonly files?: readonly {
    readonly path: string;
    readonly change: string;
    readonly patch: string | null;
    readonly mode: string | null;
  }[];
  readonly tokens?: { readonly before: Readonly<Record<string, number>>; readonly after: Readonly<Record<string, number>> };
  readonly catalog?: { readonly before: string | null; readonly after: string | null };
  readonly lint?: readonly unknown[];
  readonly warnings?: readonly string[];
  readonly scan?: readonly { readonly severity: string; readonly message?: string }[];
  readonly evaluation?: { readonly verdict: string; readonly lines: readonly string[]; readonly broken: readonly string[] } | null;
  readonly conflicts?: readonly string[];
}

/** Changes of skills that agents propose, and one of them side by side with what it changes. */
export function Proposals(): VNode {
  const id = place.value.split('/')[3];
  return id === undefined ? <ProposalList /> : <ProposalPage key={id} id={decodeURIComponent(id)} />;
}

function ProposalList(): VNode {
  const [entries] = useLoaded<readonly Entry[]>('/api/proposals?all=true', changesSkills);
  const list = entries.value.value ?? [];
  return (
    <main class="view">
      <h1>Proposals</h1>
      <Problem error={entries.value.error} />
      {entries.value.value?.length === 0 && <p class="muted">Nothing was proposed.</p>}
      <ul class="cards">
        {list.map((entry) => (
          <li key={entry.id}>
            <a href={`/skills/proposals/${encodeURIComponent(entry.id)}`} onClick={followLink}>
              {entry.skill ?? entry.id}
            </a>
            <span class={`chip ${entry.status === 'open' ? 'warn' : ''}`}>{entry.status}</span>
            <span class="muted">
              {entry.author} · {entry.createdAt === null ? '' : new Date(entry.createdAt).toLocaleString()}
            </span>
          </li>
        ))}
      </ul>
    </main>
  );
}

function ProposalPage({ id }: { readonly id: string }): VNode {
  const path = `/api/proposals/${encodeURIComponent(id)}`;
  const [loaded, again] = useLoaded<Review>(path, changesSkills);
  const [error, setError] = useState<ApiError | null>(null);
  const [reason, setReason] = useState('');
  const review = loaded.value.value;
  const decide = async (what: 'approve' | 'reject', body: object): Promise<void> => {
    try {
      await change('POST', `${path}/${what}`, body);
      goTo('/skills/proposals');
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setError(error);
      again();
    }
  };
  if (review === null) return <main class="view">{<Problem error={loaded.value.error} />}</main>;
  const { evaluation = null, tokens, version } = review;
  return (
    <main class="view">
      <h1>
        {review.skill} <span class="chip">{review.status}</span>
      </h1>
      <p class="muted">
        proposed by {review.author}
        {version !== undefined && version.to !== null && ` · version ${version.from ?? '?'} → ${version.to}`}
        {tokens !== undefined && ` · ${sum(tokens.before)} → ${sum(tokens.after)} tokens`}
      </p>
      {(review.sources?.length ?? 0) > 0 && <p class="warn">Comes from outside: {review.sources?.join(', ')}</p>}
      <Part title="Why" text={review.justification} />
      <Part title="Evidence" text={review.evidence} />
      {evaluation !== null && (
        <section>
          <h2>Measured</h2>
          <p class={evaluation.verdict === 'worse' ? 'bad' : 'good'}>{evaluation.verdict}</p>
          <pre tabIndex={0}>{[...evaluation.lines, ...evaluation.broken].join('\n')}</pre>
        </section>
      )}
      {[...(review.warnings ?? []), ...(review.conflicts ?? [])].map((text) => (
        <p key={text} class="warn">
          {text}
        </p>
      ))}
      {(review.scan ?? []).map((finding, at) => (
        <p key={at} class="bad">
          {finding.severity}: {finding.message}
        </p>
      ))}
      {(review.files ?? []).map((file) => (
        <section key={file.path}>
          <h2>
            {file.path} <span class="muted">{file.mode ?? file.change}</span>
          </h2>
          {file.patch === null ? <p class="warn">It is not a text.</p> : <Difference patch={file.patch} />}
        </section>
      ))}
      <Problem error={error} />
      {review.status === 'open' && review.digest !== undefined && (
        <div class="row decide">
          <button type="button" class="main" onClick={() => void decide('approve', { digest: review.digest })}>
            Approve
          </button>
          <input
            value={reason}
            placeholder="Why not? The agent reads it"
            aria-label="Why it is rejected"
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
          <button type="button" onClick={() => void decide('reject', reason.trim() === '' ? {} : { why: [reason.trim()] })}>
            Reject
          </button>
        </div>
      )}
    </main>
  );
}

function Part({ title, text }: { readonly title: string; readonly text: string | undefined }): VNode | null {
  if (text === undefined || text.trim() === '') return null;
  return (
    <section>
      <h2>{title}</h2>
      <p class="pre">{text}</p>
    </section>
  );
}

function sum(counts: Readonly<Record<string, number>>): string {
  return Object.values(counts)
    .reduce((all, count) => all + count, 0)
    .toLocaleString();
}
