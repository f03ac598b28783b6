import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { showQuestion } from './question-view.tsx';
import { ApiError, newKey } from '../server/api.ts';
import { type Attachment, attachmentOf, MOST_ATTACHMENTS } from './attachments.ts';
import { addressed, type Completion, completionsOf, expanded, MOST_COMPLETIONS } from './completion.ts';
import type { TakenBack } from './shapes.ts';
import { type Unsent, UnsentView } from './unsent.tsx';

interface Message {
  readonly text: string;
  /** One with the same key is taken once. */
  readonly key: string;
  /** Without it, the one that is chosen beside the message. */
  readonly agent?: string;
  readonly attachments?: readonly Attachment[];
}

interface ComposerProps {
  readonly isBusy: boolean;
  /** A question waits for its person. */
  readonly isAsked: boolean;
  /** What is written in it first. */
  readonly draft: string;
  /** Keeps what is written while another view is open. */
  keepDraft(text: string): void;
  send(message: Message): Promise<void>;
  /** Does what a slash command says. False: the text begins with none. */
  command(text: string): Promise<boolean>;
  stop(): void;
  /** Messages that are to be in the box again, before what is written there. */
  readonly takenBack?: Signal<readonly TakenBack[]>;
  /** Beside its buttons. */
  readonly children?: ComponentChildren;
}

/** Where a message is written. Enter sends; Shift and Enter begin a line. Files come by paste, drop and choice. */
export function Composer({ isBusy, isAsked, draft, keepDraft, send, command, stop, takenBack, children }: ComposerProps): VNode {
  const text = useSignal(draft);
  const files = useSignal<readonly Attachment[]>([]);
  const error = useSignal<Pick<ApiError, 'message' | 'cure'> | null>(null);
  const completions = useSignal<readonly Completion[]>([]);
  const chosen = useSignal(0);
  /** Messages that were refused while another was written. */
  const unsent = useSignal<readonly Unsent[]>([]);
  /** What was refused and is in the box again: sent unchanged, it keeps its key. */
  const returned = useRef<Unsent | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => box.current?.focus(), []);
  useEffect(() => text.subscribe(keepDraft), []);
  useEffect(
    () =>
      takenBack?.subscribe((messages) => {
        if (messages.length === 0) return;
        text.value = [...messages.map((each) => each.text), text.peek()].filter((each) => each !== '').join('\n\n');
        files.value = [...messages.flatMap((each) => each.attachments), ...files.peek()];
        takenBack.value = [];
        box.current?.focus();
      }),
    [takenBack],
  );
  const add = async (list: readonly File[]): Promise<void> => {
    const refused: string[] = [];
    for (const file of list) {
      const attachment = await attachmentOf(file);
      if ('why' in attachment) refused.push(attachment.why);
      else if (files.value.length >= MOST_ATTACHMENTS)
        refused.push(`${attachment.name} is not attached: at most ${MOST_ATTACHMENTS} files go with a message`);
      else files.value = [...files.value, attachment];
    }
    error.value = refused.length === 0 ? null : { message: refused.join('; '), cure: null };
  };
  const write = async (value: string): Promise<void> => {
    text.value = value;
    const found = await completionsOf(value);
    if (text.value === value) [completions.value, chosen.value] = [found.slice(0, MOST_COMPLETIONS), 0];
  };
  const complete = (value: string): void => {
    [text.value, completions.value] = [value, []];
    box.current?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    const list = completions.value;
    const isWhole = list[chosen.value]?.value.trim() === text.value.trim(); // there is nothing left to complete
    const take = (next: number): void => {
      event.preventDefault();
      chosen.value = (next + list.length) % list.length;
    };
    if (list.length > 0 && event.key === 'ArrowDown') take(chosen.value + 1);
    else if (list.length > 0 && event.key === 'ArrowUp') take(chosen.value - 1);
    else if (list.length > 0 && event.key === 'Escape') completions.value = [];
    else if (isAsked && event.key === 'Escape') showQuestion();
    else if (list.length > 0 && (event.key === 'Tab' || (event.key === 'Enter' && !isWhole))) {
      event.preventDefault();
      complete(list[chosen.value]?.value ?? text.value);
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
  };
  const submit = (): void => {
    const said = text.value.trimEnd();
    if (said === '') return;
    if (isAsked && said.length === 1) {
      error.value = { message: 'A message does not answer the question', cure: { text: 'press Esc, then the key of an answer' } };
      return;
    }
    const before = returned.current;
    const isSame = before !== null && before.text === said && before.attachments === files.value;
    const message = { text: said, attachments: files.value, key: isSame ? before.key : newKey() };
    [text.value, files.value, error.value, completions.value, returned.current] = ['', [], null, [], null];
    void trySending(message);
  };
  const trySending = async (message: Omit<Unsent, 'error'>): Promise<void> => {
    const { attachments, key } = message;
    unsent.value = unsent.value.filter((each) => each.key !== key);
    try {
      if (await command(message.text)) return void (files.value = [...attachments, ...files.value]);
      const { agent, text: told } = await addressed(message.text);
      const named = agent === undefined ? {} : { agent };
      await send({ ...named, text: await expanded(told), key, ...(attachments.length === 0 ? {} : { attachments }) });
    } catch (wrong) {
      if (!(wrong instanceof ApiError)) throw wrong;
      const refused = { ...message, error: wrong, key: wrong.code === 'key_used' ? newKey() : key };
      if (text.value === '' && files.value.length === 0)
        [text.value, files.value, error.value, returned.current] = [message.text, attachments, wrong, refused];
      else unsent.value = [...unsent.value, refused];
    }
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void add([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {unsent.value.map((message) => (
        <UnsentView
          key={message.key}
          message={message}
          sendAgain={() => void trySending(message)}
          discard={() => (unsent.value = unsent.value.filter((each) => each !== message))}
        />
      ))}
      <Problem error={error.value} />
      {files.value.length > 0 && (
        <div class="row">
          {files.value.map((file, at) => (
            <button
              key={at}
              type="button"
              class="chip"
              title="Leave it out"
              aria-label={`Leave out ${file.name}`}
              onClick={() => (files.value = files.value.filter((each) => each !== file))}
            >
              {file.name} ×
            </button>
          ))}
        </div>
      )}
      <textarea
        ref={box}
        rows={3}
        value={text.value}
        aria-label="Message"
        placeholder={
          isAsked ? 'A question waits: press Esc, then the key of an answer' : isBusy ? 'Message, sent after this answer' : 'Message'
        }
        aria-autocomplete="list"
        aria-controls="completions"
        aria-activedescendant={completions.value.length > 0 ? `completion-${chosen.value}` : undefined}
        onInput={({ currentTarget }) => void write(currentTarget.value)}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (pasted.length > 0) event.preventDefault();
          void add(pasted);
        }}
        onKeyDown={press}
      />
      <ul id="completions" class="completions" role="listbox" aria-label="Suggestions">
        {completions.value.map(({ value, about }, at) => (
          <li key={value} id={`completion-${at}`} role="option" aria-selected={at === chosen.value} onClick={() => complete(value)}>
            <strong>{value}</strong> <span class="muted">{about}</span>
          </li>
        ))}
      </ul>
      <div class="row">
        <label class="button">
          Attach
          <input
            type="file"
            multiple
            class="unseen"
            onChange={({ currentTarget }) => {
              void add([...(currentTarget.files ?? [])]);
              currentTarget.value = '';
            }}
          />
        </label>
        {children}
        {isBusy && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <button type="submit" class="main" disabled={text.value.trim() === ''}>
          Send
        </button>
      </div>
    </form>
  );
}
