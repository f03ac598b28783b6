import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { followLink, goTo, place } from '../router.ts';
import { ask } from '../server/api.ts';
import { useLoaded } from '../server/loaded.ts';
import { Composer } from './composer.tsx';
import { ContextView } from './context-view.tsx';
import { Conversation } from './conversation.ts';
import { QuestionView } from './question-view.tsx';
import { Scrolled } from './scrolled.tsx';
import type { Message } from './shapes.ts';
import { OpenStep } from './step.tsx';
import { ThreadActions } from './thread-actions.tsx';
import { ThreadList } from './thread-list.tsx';

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
  const { pages, error, thread, isBusy } = conversation;
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
        {pages.value.length > 0 && (
          <button
            type="button"
            class="quiet"
            aria-expanded={isContextOpen.value}
            onClick={() => (isContextOpen.value = !isContextOpen.value)}
          >
            What the model sees
          </button>
        )}
        {thread.value !== null && pages.value.length > 0 && <ThreadActions thread={thread.value} />}
        {isContextOpen.value && <ContextView threadId={id} />}
      </header>
      <Scrolled conversation={conversation} onEdit={(message) => void edit(message)}>
        <Current conversation={conversation} />
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

/** What happens now, below what is kept. */
function Current({ conversation }: { readonly conversation: Conversation }): VNode {
  const { live, notices, questions, thread, error } = conversation;
  return (
    <>
      {live.value !== null &&
        (live.value.state === 'queued' ? <p class="muted">Waiting its turn …</p> : <OpenStep events={live.value.events} />)}
      {live.value !== null && live.value.waiting > 0 && (
        <p class="muted">{live.value.waiting === 1 ? '1 message waits its turn' : `${live.value.waiting} messages wait their turn`}</p>
      )}
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
    </>
  );
}

/** What is to be asked again, by the conversation that was made for it. */
const drafts = new Map<string, string>();
