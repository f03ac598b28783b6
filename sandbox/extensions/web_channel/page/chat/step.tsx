import { Fragment, type VNode } from 'preact';
import { useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { lengthOf } from '../parts/length.ts';
import { type Figures, short } from './figures.ts';
import type { Message, Result, TurnEvent } from './shapes.ts';

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly result: Result | null;
  /** The tool's own line, or what it has put out so far. */
  readonly line?: string | undefined;
}

interface ConversationProps {
  readonly figures: Figures;
  onEdit(message: Message): void;
}

interface MessagesProps extends ConversationProps {
  readonly messages: readonly Message[];
  /** The one behind them; null: there is none. */
  readonly next: Message | null;
}

/** What was said and done, in its order. */
export function Messages({ messages, next, ...shown }: MessagesProps): VNode {
  const results = new Map(messages.flatMap((message) => message.results.map((result) => [result.id, result] as const)));
  return (
    <>
      {messages.map((message, at) => (
        <Fragment key={message.seq}>
          <MessageView message={message} results={results} {...shown} />
          {isLastOfTurn(message, messages[at + 1] ?? next) && <TurnLine turnId={message.turnId} figures={shown.figures} />}
        </Fragment>
      ))}
    </>
  );
}

/** Whether the line of its turn stands below it. */
export function isLastOfTurn({ role, turnId, calls }: Message, next: Message | null): boolean {
  return role === 'assistant' && (next === null ? calls.length === 0 : next.turnId !== turnId);
}

/** Whether a turn was stopped, and what it used, once it has ended. Its place is there before. */
function TurnLine({ turnId, figures }: { readonly turnId: string; readonly figures: Figures }): VNode {
  const turn = figures.turns.value.get(turnId);
  const isKnown = turn !== undefined && turn.ended !== null;
  const parts = [
    ...(turn?.state === 'aborted' ? ['stopped'] : []),
    ...(isKnown ? [`${short(turn.inputTokens + turn.outputTokens)} tokens`, lengthOf((turn.ended ?? 0) - turn.began)] : []),
  ];
  return <p class="turn muted">{parts.join(' · ') || '\u00a0'}</p>;
}

interface MessageProps extends ConversationProps {
  readonly message: Message;
  readonly results: ReadonlyMap<string, Result>;
}

function MessageView({ message, results, figures, onEdit }: MessageProps): VNode | null {
  const { role, text, calls, attachments, documents, turnId } = message;
  if (role === 'tool') return null; // shown with its call
  if (role === 'user')
    return (
      <article class="said" aria-label="You">
        <div class="pre">{text}</div>
        {attachments.length + documents.length > 0 && (
          <ul class="chips" aria-label="Attached">
            {attachments.map(({ name }, at) => (
              <li key={at} class="chip">
                {name}
              </li>
            ))}
            {documents.map((label) => (
              <li key={label} class="chip good">
                {label}
              </li>
            ))}
          </ul>
        )}
        <button type="button" class="quiet" title="In a branch: this conversation stays" onClick={() => onEdit(message)}>
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
        <CallView key={call.id} call={{ ...call, result: results.get(call.id) ?? null }} times={() => figures.times(turnId)} />
      ))}
    </article>
  );
}

interface OpenStepsProps {
  readonly events: readonly TurnEvent[];
  /** The last messages that are kept: a turn that goes on after an answer tells of their calls again. */
  readonly kept: readonly Message[];
}

interface OpenStep {
  readonly text: string;
  readonly calls: readonly Call[];
}

/** The step that is open, and before it those that have ended and are not read as messages yet. */
export function OpenSteps({ events, kept }: OpenStepsProps): VNode {
  const known = new Set(kept.flatMap(({ calls }) => calls.map(({ id }) => id)));
  const steps = stepsIn(events)
    .map((step) => openStep(step, known))
    .filter(({ text, calls }) => text !== '' || calls.length > 0);
  return (
    <>
      {(steps.length === 0 ? [{ text: '', calls: [] }] : steps).map(({ text, calls }, at) => (
        <article key={at} aria-label="Answer" aria-busy={at >= steps.length - 1}>
          {text !== '' && <Markdown text={text} />}
          {calls.map((call) => (
            <CallView key={call.id} call={call} />
          ))}
          {steps.length === 0 && <p class="muted">Thinking …</p>}
        </article>
      ))}
    </>
  );
}

function stepsIn(events: readonly TurnEvent[]): readonly (readonly TurnEvent[])[] {
  const steps: TurnEvent[][] = [[]];
  for (const event of events) {
    steps.at(-1)?.push(event);
    if (event.type === 'step-end') steps.push([]);
  }
  return steps;
}

function openStep(events: readonly TurnEvent[], known: ReadonlySet<string>): OpenStep {
  const text = events.flatMap((event) => (event.type === 'text-delta' ? [event.text ?? ''] : [])).join('');
  const calls = events.flatMap((event) => (event.type === 'tool-call' && !known.has(event.id ?? '') ? [callOf(event, events)] : []));
  return { text, calls };
}

/** Whether an event of an open step is shown. */
export const isShown = ({ type }: TurnEvent): boolean => type === 'text-delta' || type === 'tool-call';

function callOf({ id = '', name = '', input }: TurnEvent, events: readonly TurnEvent[]): Call {
  const ended = events.find((event) => event.type === 'tool-result' && event.id === id);
  const output = events.flatMap((event) => (event.type === 'tool-output' && event.id === id ? [event.text ?? ''] : [])).join('');
  const result =
    ended === undefined
      ? null
      : {
          id,
          name,
          ok: ended.ok === true,
          title: ended.title ?? null,
          retained: ended.retain !== undefined,
          output: ended.output ?? (ended.error === undefined ? null : { error: ended.error }),
        };
  return { id, name, input, result, line: ended?.line ?? (output === '' ? undefined : output) };
}

interface CallProps {
  readonly call: Call;
  /** Absent while it is open. */
  times?(): Promise<ReadonlyMap<string, number>>;
}

/** A call, folded: its name and how it went; its input, its result and its time on demand. */
function CallView({ call: { id, name, input, result, line }, times }: CallProps): VNode {
  const [time, setTime] = useState<number | null>(null);
  const state = stateOf(result);
  const open = ({ currentTarget }: { readonly currentTarget: HTMLDetailsElement }): void => {
    if (currentTarget.open && times !== undefined && time === null) void times().then((known) => setTime(known.get(id) ?? null));
  };
  return (
    <details class={`call ${state}`} onToggle={open}>
      <summary>
        <span aria-hidden="true">{MARKS[state]}</span> <code>{name}</code>{' '}
        {(state === 'failed' || state === 'refused') && <span>{state} </span>}
        <span class={result?.retained === true && result.title !== null ? 'chip good' : 'muted'}>
          {result?.title ?? line?.split('\n')[0] ?? briefly(input)}
        </span>
      </summary>
      <Arguments input={input} />
      {result === null ? line !== undefined && <CodeBlock code={line} language="" /> : <Output value={result.output} />}
      {time !== null && <p class="muted">Took {lengthOf(time)}</p>}
    </details>
  );
}

const MARKS = { open: '…', done: '✓', failed: '✗', refused: '–' } as const;

/** A call that a person refused has not failed. */
function stateOf(result: Result | null): keyof typeof MARKS {
  if (result === null) return 'open';
  if (result.ok) return 'done';
  const { error } = Object(result.output) as { readonly error?: { readonly code?: unknown } };
  return error?.code === 'approval_denied' ? 'refused' : 'failed';
}

/** Values of several lines are shown as they are, patches and replacements with the colours of a difference. */
function Arguments({ input }: { readonly input: unknown }): VNode {
  const fields = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.entries(input) : [];
  const long = fields.filter(([, value]) => replacementsIn(value) !== null || (typeof value === 'string' && value.includes('\n')));
  const rest = Object.fromEntries(fields.filter((field) => !long.includes(field)));
  const isAll = long.length === 0;
  return (
    <>
      {(isAll || Object.keys(rest).length > 0) && <CodeBlock code={JSON.stringify(isAll ? input : rest, null, 2) ?? ''} language="json" />}
      {long.map(([name, value]) => {
        const replaced = replacementsIn(value);
        return (
          <Fragment key={name}>
            <p class="muted">{name}</p>
            <CodeBlock code={replaced ?? String(value)} language={replaced !== null || isDifference(String(value)) ? 'diff' : ''} />
          </Fragment>
        );
      })}
    </>
  );
}

/** A list of texts and what comes in their places, as a difference; null: the value is something else. */
function replacementsIn(value: unknown): string | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const edits = value as readonly { readonly old_text?: unknown; readonly new_text?: unknown }[];
  if (!edits.every((edit) => typeof edit?.old_text === 'string' && typeof edit.new_text === 'string')) return null;
  const marked = (mark: string, text: unknown): string[] =>
    text === ''
      ? []
      : String(text)
          .replace(/\n$/, '')
          .split('\n')
          .map((each) => mark + each);
  return edits.map((edit) => [...marked('-', edit.old_text), ...marked('+', edit.new_text)].join('\n')).join('\n\n');
}

function isDifference(text: string): boolean {
  return /^(?:--- |diff |@@ )/m.test(text);
}

function Output({ value }: { readonly value: unknown }): VNode {
  const known = typeof value === 'string' ? jsonIn(value) : value;
  const text = typeof known === 'string' ? known : (JSON.stringify(known, null, 2) ?? '');
  return <CodeBlock code={text} language={isDifference(text) ? 'diff' : typeof known === 'string' ? '' : 'json'} />;
}

/** What a text says as JSON, where it is an object or a list; else the text. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text; // it only begins like JSON
  }
}

/** In one line. */
function briefly(input: unknown): string {
  const said = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).replaceAll(/\s+/gu, ' ');
  const fields = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.entries(input) : null;
  const text = fields === null ? said(input) : fields.map(([name, value]) => `${name}: ${said(value)}`).join(', ');
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
