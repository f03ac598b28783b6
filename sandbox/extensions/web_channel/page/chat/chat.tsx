import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { followLink, goTo, place } from '../router.ts';
import { ask } from '../server/api.ts';
import { useLoaded } from '../server/loaded.ts';
import { Composer } from './composer.tsx';
import { ContextView } from './context-view.tsx';
import { Conversation } from './conversation.ts';
import { QuestionView } from './question-view.tsx';
import type { Message, Thread } from './shapes.ts';
import { Messages, OpenStep } from './step.tsx';
import { ThreadActions } from './thread-actions.tsx';

interface Agent {
  readonly id: string;
  readonly name: string;
  readonly default?: boolean;
}

export function Chat(): VNode {
  const id = place.value.split('/')[2];
  return (
    <div class="chat">
      <ThreadList current={id ?? null} />
      {id === undefined || id === '' ? <NewConversation /> : <OpenConversation key={id} id={decodeURIComponent(id)} />}
    </div>
  );
}

function ThreadList({ current }: { readonly current: string | null }): VNode {
  const words = useSignal('');
  const path = `/api/threads?limit=100${words.value.trim() === '' ? '' : `&text=${encodeURIComponent(words.value.trim())}`}`;
  const [loaded] = useLoaded<{ readonly threads: readonly Thread[] }>(path, ({ data }) => data['kind'] === 'thread');
  return (
    <aside class="threads" aria-label="Conversations">
      <a class="button" href="/chat" onClick={followLink}>
        New conversation
      </a>
      <input
        type="search"
        placeholder="Search"
        aria-label="Search conversations"
        value={words.value}
        onInput={({ currentTarget }) => (words.value = currentTarget.value)}
      />
      <Problem error={loaded.value.error} />
      <ul>
        {(loaded.value.value?.threads ?? []).map(({ id, title, state }) => (
          <li key={id}>
            <a href={`/chat/${encodeURIComponent(id)}`} onClick={followLink} aria-current={id === current ? 'page' : undefined}>
              {title || id}
              {state === 'running' && <span class="muted"> …</span>}
              {state === 'awaiting_approval' && <span class="warn"> asks you</span>}
            </a>
          </li>
        ))}
      </ul>
    </aside>
  );
}

function NewConversation(): VNode {
  const [agents] = useLoaded<readonly Agent[]>('/api/agents', ({ data }) => data['kind'] === 'agent');
  const agent = useSignal('');
  const list = agents.value.value ?? [];
  const send = async (message: object): Promise<void> => {
    const { id } = await ask<{ readonly id: string }>('POST', '/api/threads');
    const conversation = new Conversation(id);
    await conversation.send({ ...(message as { readonly text: string }), ...(agent.value === '' ? {} : { agent: agent.value }) });
    conversation.close();
    goTo(`/chat/${encodeURIComponent(id)}`);
  };
  return (
    <main class="conversation">
      <div class="scrolled start">
        <h1>What shall we do?</h1>
        <label>
          Agent{' '}
          <select value={agent.value} onChange={({ currentTarget }) => (agent.value = currentTarget.value)}>
            <option value="">{list.find((each) => each.default)?.name ?? 'The default'}</option>
            {list
              .filter((each) => !each.default)
              .map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
          </select>
        </label>
      </div>
      <Composer isBusy={false} draft="" send={send} stop={() => undefined} />
    </main>
  );
}

function OpenConversation({ id }: { readonly id: string }): VNode {
  const conversation = useMemo(() => new Conversation(id), [id]);
  useEffect(() => () => conversation.close(), [conversation]);
  const draft = useSignal('');
  const isContextOpen = useSignal(false);
  const { messages, live, questions, notices, error, thread, hasOlder, isBusy } = conversation;
  const edit = async ({ seq }: Message): Promise<void> => {
    const { id: made, text } = await conversation.branch(seq);
    drafts.set(made, text ?? '');
    goTo(`/chat/${encodeURIComponent(made)}`);
  };
  useEffect(() => {
    draft.value = drafts.get(id) ?? '';
    drafts.delete(id);
  }, [id]);
  if (error.value?.code === 'thread_unknown')
    return (
      <main class="view">
        <h1>There is no such conversation</h1>
        <p>
          It may be somebody else’s, or have been deleted.{' '}
          <a href="/chat" onClick={followLink}>
            Begin a new one
          </a>
        </p>
      </main>
    );
  return (
    <main class="conversation">
      <header class="row">
        <h1>{thread.value?.title || 'Conversation'}</h1>
        <span class="muted">{thread.value?.agentId}</span>
        {messages.value.length > 0 && (
          <button
            type="button"
            class="quiet"
            aria-expanded={isContextOpen.value}
            onClick={() => (isContextOpen.value = !isContextOpen.value)}
          >
            What the model sees
          </button>
        )}
        {thread.value !== null && messages.value.length > 0 && <ThreadActions thread={thread.value} />}
        {isContextOpen.value && <ContextView threadId={id} />}
      </header>
      <Scrolled>
        {hasOlder.value && (
          <button type="button" class="quiet" onClick={() => void conversation.older()}>
            Earlier messages
          </button>
        )}
        <Messages messages={messages.value} onEdit={(message) => void edit(message)} />
        {live.value !== null &&
          (live.value.state === 'queued' ? <p class="muted">Waiting its turn …</p> : <OpenStep events={live.value.events} />)}
        {notices.value.map((notice, at) => (
          <p key={at} class="muted">
            {notice}
          </p>
        ))}
        {questions.value.map((question) => (
          <QuestionView key={question.id} question={question} conversation={conversation} />
        ))}
        {thread.value?.state === 'cut_off' && (
          <p class="warn">
            The last turn was cut off.{' '}
            <button type="button" onClick={() => void conversation.continue()}>
              Go on
            </button>
          </p>
        )}
        <Problem error={error.value} />
      </Scrolled>
      <Composer
        isBusy={isBusy.value}
        draft={draft.value}
        send={(message) => conversation.send(message)}
        stop={() => void conversation.stop()}
      />
    </main>
  );
}

/** What is to be asked again, by the conversation that was made for it. */
const drafts = new Map<string, string>();

/** Follows its end while the person is there. */
function Scrolled({ children }: { readonly children: ComponentChildren }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  return (
    <div
      class="scrolled"
      ref={box}
      tabIndex={0}
      role="log"
      aria-label="Messages"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
        (isAtEnd.current = scrollHeight - scrollTop - clientHeight < 80)
      }
    >
      {children}
    </div>
  );
}
