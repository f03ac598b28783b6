import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Conversation } from './conversation.ts';
import type { Figures } from './figures.ts';
import type { MessageChunk } from './message-chunks.ts';
import type { Message } from './shapes.ts';
import { Messages } from './step.tsx';

/** How far from what is seen messages are drawn, and earlier ones are read, in pixels. */
const NEAR = 1500;
/** Of a chunk that was not drawn yet, for each of its messages. */
const LIKELY_HEIGHT = 80;
const AT_END = 80;

interface ScrolledProps {
  readonly conversation: Conversation;
  readonly figures: Figures;
  onEdit(message: Message): void;
  /** Below the messages. */
  readonly children: ComponentChildren;
}

/**
 * The messages, of which only those near what is seen are drawn. It follows its end while the person is there; elsewhere what is seen stays
 * where it is, whatever changes above it.
 */
export function Scrolled({ conversation, figures, onEdit, children }: ScrolledProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const held = useMemo(() => new ScrollAnchor(), [conversation]);
  const { chunks, hasOlder } = conversation;
  const scrolled = (): void => {
    if (box.current === null) return;
    held.look(box.current);
    if (box.current.scrollTop < NEAR) void conversation.older();
  };
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const sizes = new ResizeObserver(() => {
      held.keep(current);
      if (current.scrollTop < NEAR) void conversation.older();
    });
    for (const each of [current, ...current.children]) sizes.observe(each);
    return () => sizes.disconnect();
  }, [conversation]);
  const press = (event: KeyboardEvent): void => {
    const { current } = box;
    if (current === null || event.target !== current || (event.key !== 'Home' && event.key !== 'End')) return;
    event.preventDefault();
    if (event.key === 'End') current.scrollTop = current.scrollHeight;
    else void conversation.oldest().then(() => current.scrollTo({ top: 0 }));
  };
  return (
    <div class="scrolled" ref={box} tabIndex={0} role="log" aria-label="Messages" onScroll={scrolled} onKeyDown={press}>
      <div>
        {hasOlder.value && (
          <button type="button" class="quiet" onClick={() => void conversation.older()}>
            Earlier messages
          </button>
        )}
        {chunks.value.map((chunk, at) => (
          <ChunkView key={chunk[0]?.seq} chunk={chunk} next={chunks.value[at + 1]?.[0] ?? null} figures={figures} onEdit={onEdit} />
        ))}
        {children}
      </div>
    </div>
  );
}

/** What is held where it is: the end, or the first chunk that is seen. */
class ScrollAnchor {
  #isAtEnd = true;
  #top = 0;
  #chunk: HTMLElement | null = null;
  #offset = 0;

  /** After the person has scrolled. */
  look(box: HTMLElement): void {
    const isFurther = box.scrollTop >= this.#top; // its own scrolling to the end, while more has come
    this.#isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < AT_END || (this.#isAtEnd && isFurther);
    this.#top = box.scrollTop;
    const top = box.getBoundingClientRect().top;
    this.#chunk = [...box.querySelectorAll<HTMLElement>('.messages')].find((each) => each.getBoundingClientRect().bottom > top) ?? null;
    this.#offset = (this.#chunk?.getBoundingClientRect().top ?? 0) - top;
  }

  /** After sizes have changed. Most browsers have done it already, except at the very beginning. */
  keep(box: HTMLElement): void {
    if (this.#isAtEnd) this.#top = box.scrollTop = box.scrollHeight - box.clientHeight;
    else if (this.#chunk?.isConnected === true) {
      const moved = this.#chunk.getBoundingClientRect().top - box.getBoundingClientRect().top - this.#offset;
      if (Math.abs(moved) >= 1) box.scrollTop += moved;
    }
  }
}

interface ChunkProps {
  readonly chunk: MessageChunk;
  /** The message behind it; null: it is the last chunk. */
  readonly next: Message | null;
  readonly figures: Figures;
  onEdit(message: Message): void;
}

function ChunkView({ chunk, next, figures, onEdit }: ChunkProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const isNear = useSignal(next === null);
  const height = useRef(chunk.length * LIKELY_HEIGHT);
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const near = new IntersectionObserver(
      (found) => {
        const isIn = found.at(-1)?.isIntersecting === true;
        if (!isIn && current.contains(document.activeElement)) return; // who is in it stays in it
        if (!isIn && isNear.value) height.current = current.offsetHeight;
        isNear.value = isIn;
      },
      { root: current.closest('.scrolled'), rootMargin: `${NEAR}px 0px` },
    );
    near.observe(current);
    return () => near.disconnect();
  }, []);
  const drawn = useMemo(() => <Messages messages={chunk} next={next} figures={figures} onEdit={onEdit} />, [chunk, next, figures]);
  return (
    <div
      class="messages"
      ref={box}
      style={{ height: isNear.value ? '' : `${height.current}px` }}
      aria-live={next === null ? undefined : 'off'}
    >
      {isNear.value && drawn}
    </div>
  );
}
