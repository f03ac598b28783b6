import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { change } from '../parts/confirm.tsx';
import { Difference } from '../parts/difference.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { said } from '../parts/said.tsx';
import { skillTokens } from '../parts/tokens.ts';
import { followLink, goTo } from '../router.ts';
import { useLoaded } from '../server/loaded.ts';
import { changesProposals, isSerious, isWaiting, linesText, type ProposalReview, type ProposalWarnings, SERIOUS } from './proposal.ts';

/** One proposal: why, what it changes side by side, what was measured, and the decision. */
export function ProposalPage({ id }: { readonly id: string }): VNode {
  const path = `/api/proposals/${encodeURIComponent(id)}`;
  const [loaded, again] = useLoaded<ProposalReview>(path, changesProposals(id));
  const view = useRef<HTMLElement>(null);
  const review = loaded.value.value;
  useEffect(() => view.current?.focus(), [review === null]); // its keys count from now on
  if (review === null)
    return (
      <main class="view">
        <Awaited of={loaded.value} />
      </main>
    );
  return (
    <main class="view" ref={view} tabIndex={-1}>
      <p>
        <a href="/skills/proposals" onClick={followLink}>
          Proposals
        </a>
      </p>
      <div class="row">
        <h1>{review.skill ?? review.id}</h1>
        <span class={`chip ${isWaiting(review) ? 'warn' : ''}`}>{review.status}</span>
      </div>
      <Facts review={review} />
      <Part title="Why" text={review.justification} />
      <Part title="Evidence" text={review.evidence} />
      <Part title="Why it was rejected" text={review.reason} />
      <Warnings review={review} />
      <Measured review={review} again={again} />
      {(review.files ?? []).map((file) => (
        <section key={file.path}>
          <h2>
            {file.path} <span class="muted">{file.mode ?? file.change}</span>
          </h2>
          {file.patch === null ? <p class="warn">This file is not text.</p> : <Difference patch={file.patch} />}
        </section>
      ))}
      {review.diff !== undefined && review.diff !== '' && (
        <section>
          <h2>What it would have changed</h2>
          <Difference patch={review.diff} titles={['Before', 'Proposed']} />
        </section>
      )}
      <Decision review={review} path={path} again={again} view={view} />
    </main>
  );
}

function Facts({ review: { author, createdAt, version, tokens, lines, boundBy, sources, catalog } }: ReviewProps): VNode {
  const facts = [
    `proposed by ${author ?? 'somebody'}${createdAt === null ? '' : `, ${new Date(createdAt).toLocaleString()}`}`,
    version === undefined || version.to === null ? '' : `version ${version.from ?? '?'} → ${version.to}`,
    tokens === undefined ? '' : tokensText(tokens),
    lines === undefined ? '' : linesText(lines),
    boundBy === undefined || boundBy.length === 0 ? '' : `bound by ${boundBy.join(', ')}`,
  ];
  return (
    <>
      <p class="muted">{facts.filter((fact) => fact !== '').join(' · ')}</p>
      {sources !== undefined && sources.length > 0 && <p class="warn">Comes from outside: {sources.join(', ')}</p>}
      {catalog !== undefined && catalog.before !== catalog.after && (
        <p>
          Its line in the catalog: <del class="out">{catalog.before ?? 'none'}</del> <ins class="in">{catalog.after ?? 'none'}</ins>
        </p>
      )}
    </>
  );
}

interface ReviewProps {
  readonly review: ProposalReview;
}

function Warnings({ review }: { readonly review: ProposalWarnings }): VNode {
  const { rewrite = false, merged = false, copy = false, warnings = [], conflicts = [], lint = [], addresses = [], tools = [] } = review;
  const said = [
    rewrite ? 'It rewrites the skill.' : '',
    merged ? 'The skill changed since this was proposed: both changes are in what follows.' : '',
    copy ? 'The change is made in a copy, which wins from then on.' : '',
    tools.length > 0 ? `It may use more tools: ${tools === 'all' ? 'all' : tools.join(', ')}` : '',
    addresses.length > 0 ? `It names new addresses: ${addresses.join(', ')}` : '',
    ...conflicts.map((conflict) => `It does not fit: ${conflict}`),
    ...warnings,
    ...lint,
  ];
  return (
    <>
      {said
        .filter((text) => text !== '')
        .map((text) => (
          <p key={text} class="warn">
            {text}
          </p>
        ))}
      {(review.scan ?? []).map(({ severity, file, line, message }, at) => (
        <p key={at} class={severity === 'high' ? 'bad' : 'warn'}>
          {file}:{line}: {message} ({severity})
        </p>
      ))}
    </>
  );
}

/** What the cases of the skill say of it before and after. */
function Measured({ review: { id, evaluation, ...review }, again }: ReviewProps & { again(): void }): VNode | null {
  const { error, isBusy, attempt } = useAttempt();
  if (evaluation === undefined) return null;
  return (
    <section>
      <h2>Measured before and after</h2>
      {evaluation === null ? (
        <p class="muted">The skill has no cases.</p>
      ) : (
        <>
          <p class={VERDICTS.get(evaluation.verdict) ?? ''}>{evaluation.verdict}</p>
          <pre tabIndex={0} aria-label="What was measured">
            {evaluation.lines.join('\n')}
          </pre>
        </>
      )}
      {evaluation !== null && isWaiting(review) && (
        <div class="row">
          <button
            type="button"
            disabled={isBusy}
            onClick={() => void attempt(() => change('POST', '/api/skills/evals', { proposal: id })).then(again)}
          >
            Run its tasks with a model
          </button>
          <span role="status">{isBusy && 'Measuring …'}</span>
        </div>
      )}
      <Problem error={error} />
    </section>
  );
}

const VERDICTS: ReadonlyMap<string, string> = new Map([
  ['better', 'good'],
  ['worse', 'bad'],
]);

interface DecisionProps extends ReviewProps {
  readonly path: string;
  readonly view: { readonly current: HTMLElement | null };
  again(): void;
}

/** Its keys are `y`, and `n`, which leads to the reason, while the focus is in this view and not in a field. */
function Decision({ review, path, view, again }: DecisionProps): VNode | null {
  const { error, isBusy, attempt } = useAttempt();
  const [reason, setReason] = useState('');
  const why = useRef<HTMLInputElement>(null);
  const [isDespite, setDespite] = useState(false);
  const isWorse = review.evaluation?.verdict === 'worse';
  const canApprove = isWaiting(review) && review.digest !== undefined && !isSerious(review) && (!isWorse || isDespite);
  const canReject = isWaiting(review) || ['malformed', 'expired', 'superseded'].includes(review.status);
  const decide = async (what: 'approve' | 'reject', body: object): Promise<void> => {
    if (isBusy) return;
    let isDone = false;
    await attempt(async () => (isDone = (await change('POST', `${path}/${what}`, body)) !== null));
    if (!isDone) return again();
    said.value = `${what === 'approve' ? 'Approved' : 'Rejected'}: the change to ${review.skill ?? review.id}`;
    goTo('/skills/proposals');
  };
  const approve = (): void => void decide('approve', { digest: review.digest, ...(isWorse ? { despite_evals: true } : {}) });
  const reject = (): void => void decide('reject', reason.trim() === '' ? {} : { why: [reason.trim()] });
  // At once with what is drawn: a key acts on what its person sees.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
      if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === 'y' && canApprove) approve();
      if (event.key === 'n' && canReject) {
        event.preventDefault(); // else it is written into the field
        why.current?.focus();
      }
    };
    const { current } = view;
    current?.addEventListener('keydown', press);
    return () => current?.removeEventListener('keydown', press);
  });
  if (!canReject && !['rejected', 'superseded', 'expired'].includes(review.status)) return null;
  const reopen = (): void => void attempt(() => change('POST', `${path}/reopen`)).then(again);
  return (
    <section class="decide" aria-label="Decide">
      <Problem error={error} />
      {isWaiting(review) && isWorse && !isSerious(review) && (
        <label>
          <input type="checkbox" checked={isDespite} onChange={({ currentTarget }) => setDespite(currentTarget.checked)} /> Approve although
          it breaks cases of the skill
        </label>
      )}
      {isWaiting(review) && isSerious(review) && (
        <p class="bad">
          {SERIOUS}: it can only be approved in a terminal, with <code>pith skills proposals approve {review.id}</code>
        </p>
      )}
      <div class="row">
        {isWaiting(review) && !isSerious(review) && (
          <button type="button" class="main" disabled={!canApprove || isBusy} onClick={approve}>
            Approve <kbd>y</kbd>
          </button>
        )}
        {canReject && (
          <>
            <input
              ref={why}
              class="wide"
              value={reason}
              placeholder="Why not? The agent reads it; Enter rejects"
              aria-keyshortcuts="n"
              aria-label="Why it is rejected"
              onInput={({ currentTarget }) => setReason(currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && !event.isComposing) reject();
              }}
            />
            <button type="button" disabled={isBusy} onClick={reject}>
              Reject
            </button>
          </>
        )}
        {!isWaiting(review) && review.status !== 'malformed' && (
          <button type="button" disabled={isBusy} onClick={reopen}>
            Open it again
          </button>
        )}
      </div>
    </section>
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

function tokensText({ before, after }: NonNullable<ProposalReview['tokens']>): string {
  const all = `all its files: ${before.all.toLocaleString()} → ${after.all.toLocaleString()}`;
  return `${before.body.toLocaleString()} → ${skillTokens({ tokens: after.body })} (${all})`;
}
