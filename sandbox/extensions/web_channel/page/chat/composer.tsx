import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { ApiError } from '../server/api.ts';
import { type Completion, completionsOf, expanded } from './completion.ts';

interface Attachment {
  readonly name: string;
  readonly text?: string;
  readonly image?: { readonly mediaType: string; readonly data: string };
}

interface ComposerProps {
  readonly isBusy: boolean;
  /** What is written in it first. */
  readonly draft: string;
  send(message: { readonly text: string; readonly attachments?: readonly Attachment[] }): Promise<void>;
  stop(): void;
}

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const MOST_TEXT = 256 * 1024;
const MOST_COMPLETIONS = 8;

/** Where a message is written. Enter sends; Shift and Enter begin a line. Files come by paste, drop and choice. */
export function Composer({ isBusy, draft, send, stop }: ComposerProps): VNode {
  const text = useSignal(draft);
  const files = useSignal<readonly Attachment[]>([]);
  const error = useSignal<Pick<ApiError, 'message' | 'cure'> | null>(null);
  const completions = useSignal<readonly Completion[]>([]);
  const chosen = useSignal(0);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    text.value = draft;
    box.current?.focus();
  }, [draft]);
  const add = async (list: Iterable<File>): Promise<void> => {
    for (const file of list) {
      const attachment = await attachmentOf(file);
      if (attachment === null) error.value = { message: `${file.name} is neither a small text nor an image`, cure: null };
      else files.value = [...files.value, attachment];
    }
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
    const take = (next: number): void => {
      event.preventDefault();
      chosen.value = (next + list.length) % list.length;
    };
    if (list.length > 0 && event.key === 'ArrowDown') take(chosen.value + 1);
    else if (list.length > 0 && event.key === 'ArrowUp') take(chosen.value - 1);
    else if (list.length > 0 && event.key === 'Escape') completions.value = [];
    else if (list.length > 0 && (event.key === 'Tab' || event.key === 'Enter')) {
      event.preventDefault();
      complete(list[chosen.value]?.value ?? text.value);
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void submit();
    }
  };
  const submit = async (): Promise<void> => {
    const said = text.value.trim();
    if (said === '') return;
    const attachments = files.value;
    [text.value, files.value, error.value, completions.value] = ['', [], null, []];
    try {
      await send({ text: await expanded(said), ...(attachments.length === 0 ? {} : { attachments }) });
    } catch (wrong) {
      if (!(wrong instanceof ApiError)) throw wrong;
      [text.value, files.value, error.value] = [said, attachments, wrong];
    }
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void add(event.dataTransfer?.files ?? []);
      }}
    >
      <Problem error={error.value} />
      {files.value.length > 0 && (
        <div class="row">
          {files.value.map((file, at) => (
            <button
              key={at}
              type="button"
              class="chip"
              title="Leave it out"
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
        placeholder={isBusy ? 'It is answering; your message waits its turn' : 'Message'}
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
      <ul id="completions" class="completions" role="listbox" aria-label="What it may be">
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
              void add(currentTarget.files ?? []);
              currentTarget.value = '';
            }}
          />
        </label>
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

/** null: neither an image nor a text that is small enough. */
async function attachmentOf(file: File): Promise<Attachment | null> {
  const name = file.name === '' ? 'pasted' : file.name;
  if (IMAGES.includes(file.type)) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const parts: string[] = [];
    for (let at = 0; at < bytes.length; at += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
    return { name, image: { mediaType: file.type, data: btoa(parts.join('')) } };
  }
  if (file.size > MOST_TEXT) return null;
  const text = await file.text();
  return text.includes('\0') ? null : { name, text };
}
