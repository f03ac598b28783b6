import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { CodeBlock } from '../parts/code-block.tsx';
import { confirmed } from '../parts/confirm.tsx';
import { Refused, useEdited, WhatYouWrote } from '../parts/conflict.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { curlExample } from './curl-example.ts';
import type { OfSavedSkill } from './governance.tsx';

interface WebhookAccess {
  readonly address: string;
  readonly signing_key: string;
}

interface AllowedAddresses {
  readonly admits: 'all' | readonly { readonly range: string; readonly first: string; readonly last: string }[];
}

/** How other systems run a saved skill: its address and key, shown once, from where requests may come, and an example of one. */
export function Webhook({ skill, change, loading }: OfSavedSkill): VNode {
  const { error, isBusy, attempt } = useAttempt(loading[1]);
  const [opened, setOpened] = useState<WebhookAccess | null>(null);
  const begin = useRef<HTMLButtonElement>(null);
  const isClosed = useRef(false);
  useEffect(() => {
    if (!isClosed.current || isBusy || begin.current === null) return;
    isClosed.current = false;
    begin.current.focus(); // the button that removed it is gone
  }, [skill.webhook_enabled, isBusy]);
  const act = (work: () => Promise<unknown>) => (): void => void attempt(work);
  const open = (place: string) => async (): Promise<void> => setOpened(await change<WebhookAccess>('POST', `/webhook${place}`));
  const sure = async (question: string, work: () => Promise<unknown>): Promise<unknown> =>
    (await confirmed(question)) ? work() : undefined;
  if (!skill.webhook_enabled)
    return (
      <>
        <Problem error={error} />
        <p>No other system runs it yet.</p>
        <button ref={begin} type="button" disabled={isBusy} onClick={act(open(''))}>
          Make a webhook
        </button>
      </>
    );
  const close = async (): Promise<void> => {
    await change('DELETE', '/webhook');
    setOpened(null);
    isClosed.current = true;
  };
  const isSigned = skill.webhook_signature_required;
  return (
    <>
      <Problem error={error} />
      {opened !== null && <ShownOnce opened={opened} />}
      <div class="row">
        <button
          type="button"
          disabled={isBusy}
          onClick={act(() => sure('Make a new address and key? The old ones stop working at once.', open('/secret')))}
        >
          New address and key
        </button>
        <button type="button" disabled={isBusy} onClick={act(() => sure('Remove the webhook? Its address stops working at once.', close))}>
          Remove
        </button>
        <label>
          <input
            type="checkbox"
            checked={isSigned}
            disabled={isBusy || skill.webhook_signature_forced}
            onChange={act(() => change('PUT', '/webhook/signature', { state: isSigned ? 'off' : 'on' }))}
          />{' '}
          Requests must be signed
        </label>
      </div>
      <AllowList change={change} loading={loading} />
      <h3>An example</h3>
      {opened === null && <p class="muted">Use the address and key shown when the webhook was made.</p>}
      <CodeBlock
        code={curlExample({
          address: opened === null ? `${location.origin}/webhooks/…` : addressOf(opened),
          key: isSigned ? (opened?.signing_key ?? 'whsec_…') : null,
          inputs: skill.run_inputs ?? [],
        })}
        language="bash"
      />
    </>
  );
}

/** Where the settings name no public address, that of this page. */
function addressOf({ address }: WebhookAccess): string {
  return new URL(address, location.origin).href;
}

function ShownOnce({ opened }: { readonly opened: WebhookAccess }): VNode {
  const section = useRef<HTMLElement>(null);
  useEffect(() => section.current?.focus(), [opened]);
  return (
    <section ref={section} class="secret" aria-label="Shown only now" tabIndex={-1}>
      <p class="warn">The address and the key are secrets, and shown only now.</p>
      <dl>
        <dt>Address</dt>
        <dd>
          <code>{addressOf(opened)}</code> <CopyButton text={addressOf(opened)} />
        </dd>
        <dt>Signing key</dt>
        <dd>
          <code>{opened.signing_key}</code> <CopyButton text={opened.signing_key} />
        </dd>
      </dl>
    </section>
  );
}

/** What was parsed is shown before it is saved: only that can be saved. */
function AllowList({ change, loading }: Omit<OfSavedSkill, 'skill'>): VNode {
  const { error, isBusy, attempt } = useAttempt();
  const [typed, setTyped] = useState<string | null>(null);
  const { base, written, anew } = useEdited(loading, typed !== null);
  const text = typed ?? base.value?.webhook_ip_allowlist ?? '';
  const [admitted, setAdmitted] = useState<AllowedAddresses['admits'] | null>(null);
  const lines = text.split(/[\n,]/u).flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
  const send = (more: object) => change<AllowedAddresses>('PUT', '/webhook/addresses', { range: lines, ...more }, base.tag);
  const check = async (): Promise<void> => setAdmitted((await send({ check: true }))?.admits ?? null);
  const show = async (load: () => Promise<void>): Promise<void> => {
    await load();
    setTyped(null);
    setAdmitted(null);
  };
  const save = async (): Promise<void> => {
    await send({});
    await show(loading[1]);
  };
  const takeTheirs = (): Promise<void> => show(() => anew([{ field: 'Addresses and ranges', text }]));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(check);
      }}
    >
      <label for="addresses">Addresses and ranges that may send, one a line; none: any</label>
      <textarea
        id="addresses"
        class="mono"
        rows={3}
        value={text}
        placeholder="192.0.2.0/24"
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setAdmitted(null);
        }}
      />
      <Refused error={error} takeTheirs={() => void attempt(takeTheirs)} />
      {admitted === 'all' && <p role="status">It would admit any address.</p>}
      {admitted !== null && admitted !== 'all' && (
        <Table label="What it would admit" columns={['Range', 'From', 'To']}>
          {admitted.map(({ range, first, last }) => (
            <tr key={range}>
              <td>{range}</td>
              <td>{first}</td>
              <td>{last}</td>
            </tr>
          ))}
        </Table>
      )}
      <div class="row">
        <button type="submit" disabled={isBusy}>
          Check
        </button>
        <button type="button" class="main" disabled={isBusy || admitted === null} onClick={() => void attempt(save)}>
          Save
        </button>
      </div>
      <WhatYouWrote texts={written} />
    </form>
  );
}
