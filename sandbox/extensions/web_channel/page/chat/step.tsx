import type { VNode } from 'preact';
import { CodeBlock } from '../parts/code-block.tsx';
import { Markdown } from '../parts/markdown.tsx';
import type { Message, Result, TurnEvent } from './shapes.ts';

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly result: Result | null;
  /** The tool's own line, or what it has put out so far. */
  readonly line?: string | undefined;
}

/** What was said and done, in its order. */
export function Messages({ messages, onEdit }: { readonly messages: readonly Message[]; onEdit(message: Message): void }): VNode {
  const results = new Map(messages.flatMap((message) => message.results.map((result) => [result.id, result] as const)));
  return (
    <>
      {messages.map((message) => (
        <MessageView key={message.seq} message={message} results={results} onEdit={onEdit} />
      ))}
    </>
  );
}

interface Shown {
  readonly message: Message;
  readonly results: ReadonlyMap<string, Result>;
  onEdit(message: Message): void;
}

function MessageView({ message, results, onEdit }: Shown): VNode | null {
  const { role, text, calls, attachments } = message;
  if (role === 'tool') return null; // shown with its call
  if (role === 'user')
    return (
      <article class="said" aria-label="You">
        <div class="pre">{text}</div>
        {attachments.map(({ name }) => (
          <span key={name} class="chip">
            {name}
          </span>
        ))}
        <button type="button" class="quiet" onClick={() => onEdit(message)}>
          Edit and ask again
        </button>
      </article>
    );
  if (role !== 'assistant')
    return <p class="muted">{role === 'summary' ? `Earlier messages in short: ${text}` : 'This cannot be shown.'}</p>;
  return (
    <article aria-label="Answer">
      {text.trim() !== '' && <Markdown text={text} />}
      {calls.map((call) => (
        <CallView key={call.id} call={{ ...call, result: results.get(call.id) ?? null }} />
      ))}
    </article>
  );
}

/** The step that is open: it is kept, and shown as a message, once it has ended. */
export function OpenStep({ events }: { readonly events: readonly TurnEvent[] }): VNode {
  const text = events.flatMap((event) => (event.type === 'text-delta' ? [event.text ?? ''] : [])).join('');
  const calls = events.flatMap((event) => (event.type === 'tool-call' ? [callOf(event, events)] : []));
  const labels = events.flatMap((event) => (event.type === 'document' ? [event.label ?? ''] : []));
  return (
    <article aria-label="Answer" aria-busy="true">
      {labels.map((label) => (
        <span key={label} class="chip good">
          {label}
        </span>
      ))}
      {text !== '' && <Markdown text={text} />}
      {calls.map((call) => (
        <CallView key={call.id} call={call} />
      ))}
      {text === '' && calls.length === 0 && <p class="muted">Thinking …</p>}
    </article>
  );
}

function callOf({ id = '', name = '', input }: TurnEvent, events: readonly TurnEvent[]): Call {
  const ended = events.find((event) => event.type === 'tool-result' && event.id === id);
  const output = events.flatMap((event) => (event.type === 'tool-output' && event.id === id ? [event.text ?? ''] : [])).join('');
  const result = ended === undefined ? null : { id, name, ok: ended.ok === true, output: ended.output ?? ended.error?.message ?? null };
  return { id, name, input, result, line: ended?.line ?? ended?.title ?? (output === '' ? undefined : output) };
}

const SKILL_TOOLS = ['read_skill', 'skill', 'run_skill'];

/** A call, folded: its name and how it went; its input and result on demand. */
function CallView({ call: { name, input, result, line } }: { readonly call: Call }): VNode {
  const skill = SKILL_TOOLS.includes(name) ? skillIn(input) : null;
  const state = result === null ? '…' : result.ok ? '✓' : '✗';
  return (
    <details class={`call ${result?.ok === false ? 'failed' : ''}`}>
      <summary>
        <span aria-hidden="true">{state}</span>{' '}
        {skill === null ? <code>{name}</code> : <span class="chip good">{result === null ? `loading ${skill}` : `loaded ${skill}`}</span>}{' '}
        <span class="muted">{line?.split('\n')[0] ?? briefly(input)}</span>
      </summary>
      <CodeBlock code={JSON.stringify(input, null, 2) ?? ''} language="json" />
      {result !== null && <Output value={result.output} />}
    </details>
  );
}

function Output({ value }: { readonly value: unknown }): VNode {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
  const isDiff = /^(?:--- |diff |@@ )/m.test(text);
  return <CodeBlock code={text} language={isDiff ? 'diff' : typeof value === 'string' ? '' : 'json'} />;
}

function skillIn(input: unknown): string | null {
  const { skill_id: id, skill, name } = (input ?? {}) as Readonly<Record<string, unknown>>;
  const found = [id, skill, name].find((value) => typeof value === 'string');
  return found === undefined ? null : String(found);
}

function briefly(input: unknown): string {
  const text = JSON.stringify(input) ?? '';
  return text === '{}' ? '' : text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
