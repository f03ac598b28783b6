import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { ApiError } from '../server/api.ts';

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

/** Where a message is written. Enter sends; Shift and Enter begin a line. Files come by paste, drop and choice. */
export function Composer({ isBusy, draft, send, stop }: ComposerProps): VNode {
  const text = useSignal(draft);
  const files = useSignal<readonly Attachment[]>([]);
  const error = useSignal<Pick<ApiError, 'message' | 'cure'> | null>(null);
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
  const submit = async (): Promise<void> => {
    const said = text.value.trim();
    if (said === '') return;
    const attachments = files.value;
    [text.value, files.value, error.value] = ['', [], null];
    try {
      await send({ text: said, ...(attachments.length === 0 ? {} : { attachments }) });
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
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (pasted.length > 0) event.preventDefault();
          void add(pasted);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void submit();
        }}
      />
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
