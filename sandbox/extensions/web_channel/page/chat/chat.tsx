import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Awaited } from '../parts/awaited.tsx';
import { address, followLink, goTo, parts } from '../router.ts';
import { ApiError, ask } from '../server/api.ts';
import { mayAnswer } from '../server/session.ts';
import { type Choice, ChoiceView, chosen, NO_CHOICE } from './choice.tsx';
import { Composer } from './composer.tsx';
import { ContextView } from './context-view.tsx';
import { Conversation } from './conversation.ts';
import { type Figures, useFigures, usedText } from './figures.ts';
import { QuestionView } from './question-view.tsx';
import { Queued } from './queued.tsx';
import { Scrolled } from './scrolled.tsx';
import type { Live, Message, TurnEnd } from './shapes.ts';
import { runSlashCommand } from './slash-commands.ts';
import { isLastOfTurn, isShown, OpenSteps } from './step.tsx';
import { ThreadActions } from './thread-actions.tsx';
import { ThreadList } from './thread-list.tsx';

export function Chat(): VNode {
  const id = parts.value.slice(1).join('/');
  return (
    <div class="chat">
      <ThreadList current={id} />
      {id === '' ? <NewConversation /> : <OpenConversation key={id} id={id} />}
    </div>
  );
}

function NewConversation(): VNode {
  const choice = useSignal(NO_CHOICE);
  /** A message that is sent again goes to the conversation that it was to begin. */
  const begun = useRef<string | null>(null);
  const send = async (message: { readonly text: string }): Promise<void> => {
    const id = (begun.current ??= (await ask<{ readonly id: string }>('POST', '/api/threads')).id);
    const conversation = new Conversation(id);
    try {
      await conversation.send({ ...chosen(choice.value), ...message });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'thread_unknown') begun.current = null; // its time is over
      throw error;
    } finally {
      conversation.close();
    }
    choices.set(id, { ...choice.value, agent: '' });
    goTo(address('chat', id));
  };
  return (
    <main class="conversation">
      <div class="scrolled start">
        <h1>What shall we do?</h1>
        <p class="muted">Type / for commands, recipes and skills, @ for an agent. Drop, paste or attach files.</p>
      </div>
      <Composer
        isBusy={false}
        isAsked={false}
        draft={drafts.get('') ?? ''}
        keepDraft={(text) => void drafts.set('', text)}
        send={send}
        command={(text) => runSlashCommand(text, null)}
        stop={() => undefined}
      >
        <ChoiceView choice={choice} agentId={null} />
      </Composer>
    </main>
  );
}

function OpenConversation({ id }: { readonly id: string }): VNode {
  const conversation = useMemo(() => new Conversation(id), [id]);
  useEffect(() => () => conversation.close(), [conversation]);
  const choice = useSignal(choices.get(id) ?? NO_CHOICE);
  const figures = useFigures(conversation);
  const isContextOpen = useSignal(false);
  const contextButton = useRef<HTMLButtonElement>(null);
  const { chunks, error, thread, isBusy } = conversation;
  const send = async (message: { readonly text: string }): Promise<void> => {
    await conversation.send({ ...chosen(choice.value), ...message });
    choice.value = { ...choice.value, agent: '' }; // the conversation is that agent's now
  };
  const edit = async ({ seq }: Message): Promise<void> => {
    try {
      const { id: made, text } = await conversation.branch(seq);
      drafts.set(made, text ?? '');
      goTo(address('chat', made));
    } catch (wrong) {
      if (!(wrong instanceof ApiError)) throw wrong;
      error.value = wrong;
    }
  };
  useEffect(() => choice.subscribe((value) => void (value === NO_CHOICE || choices.set(id, value))), [id]);
  const before = figures.usage.value?.model ?? '';
  useEffect(() => {
    if (choice.value === NO_CHOICE && before !== '') choice.value = { ...NO_CHOICE, model: before };
  }, [before]);
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
      <header
        class="row"
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || !isContextOpen.value) return;
          isContextOpen.value = false;
          contextButton.current?.focus();
        }}
      >
        <h1>{thread.value?.title || 'Conversation'}</h1>
        {chunks.value.length > 0 && (
          <button
            ref={contextButton}
            type="button"
            class="quiet"
            aria-expanded={isContextOpen.value}
            onClick={() => (isContextOpen.value = !isContextOpen.value)}
          >
            What the model sees
          </button>
        )}
        {thread.value !== null && chunks.value.length > 0 && <ThreadActions thread={thread.value} tag={conversation.tag.value} />}
        <About conversation={conversation} figures={figures} />
        {isContextOpen.value && <ContextView conversation={conversation} />}
      </header>
      <Scrolled conversation={conversation} figures={figures} onEdit={(message) => void edit(message)}>
        <Current conversation={conversation} />
      </Scrolled>
      <Composer
        isBusy={isBusy.value}
        isAsked={conversation.questions.value.length > 0 && mayAnswer()}
        draft={drafts.get(id) ?? ''}
        keepDraft={(text) => void drafts.set(id, text)}
        send={send}
        command={(text) => runSlashCommand(text, conversation)}
        stop={() => void conversation.stop()}
        takenBack={conversation.takenBack}
      >
        <ChoiceView choice={choice} agentId={thread.value?.agentId ?? null} />
      </Composer>
    </main>
  );
}

/** Who answers here, what it has used, and where it comes from: one line, which is there before it is known. */
function About({ conversation: { thread }, figures }: { readonly conversation: Conversation; readonly figures: Figures }): VNode {
  const { value } = thread;
  const usage = figures.usage.value;
  const parts = [value?.agentId, figures.model.value, usage === null ? '' : usedText(usage)].filter((part) => part);
  return (
    <p class="about muted">
      {value !== null && value.branchOf !== null && (
        <>
          <a href={address('chat', value.branchOf)} onClick={followLink}>
            the conversation that it branched from
          </a>
          {' · '}
        </>
      )}
      {parts.length === 0 ? '\u00a0' : parts.join(' · ')}
    </p>
  );
}

/** What happens now, below what is kept. */
function Current({ conversation }: { readonly conversation: Conversation }): VNode {
  const { live, chunks, notices, questions, thread, error, end } = conversation;
  const last = chunks.value.at(-1)?.at(-1);
  return (
    <>
      {live.value !== null &&
        (live.value.state === 'queued' ? (
          <p class="muted">Queued …</p>
        ) : (
          !isAnswered(live.value, last) && <OpenSteps key={last?.seq ?? 0} events={live.value.events} kept={chunks.value.at(-1) ?? []} />
        ))}
      {live.value === null && thread.value?.state === 'running' && <p class="muted">Working elsewhere, such as in a terminal …</p>}
      {live.value !== null && <Queued conversation={conversation} />}
      {notices.value.map((notice, at) => (
        <p key={at} class="muted">
          {notice}
        </p>
      ))}
      {questions.value.map((question, at) => (
        <QuestionView key={question.id} question={question} conversation={conversation} takesKeys={at === 0} />
      ))}
      {thread.value?.state === 'cut_off' && (
        <p class="warn">
          The last turn was cut off.{' '}
          <button type="button" onClick={() => void conversation.continue()}>
            Go on
          </button>
        </p>
      )}
      {live.value === null && end.value !== null && (
        <Unanswered end={end.value} isAnswered={last !== undefined && isLastOfTurn(last, null)} />
      )}
      <Awaited of={{ value: thread.value, error: error.value }} />
    </>
  );
}

/** Why the last message has no answer, or no whole one: at what there is of it, its turn's line says that it was stopped. */
function Unanswered({ end: { reason, error }, isAnswered }: { readonly end: TurnEnd; readonly isAnswered: boolean }): VNode | null {
  if (reason === 'aborted') return isAnswered ? null : <p class="muted">The turn was stopped.</p>;
  const message = error === null ? '' : `: ${error.message}`;
  return reason === 'limit' ? <p class="warn">The turn reached a limit{message}</p> : <p role="alert">The turn failed{message}</p>;
}

/** Whether the answer is kept already, and the turn is about to end. */
function isAnswered({ turn, events }: Live, last: Message | undefined): boolean {
  return !events.some(isShown) && last?.role === 'assistant' && last.turnId === turn && last.calls.length === 0;
}

/** What is written and not sent, by conversation; of a new one below ''. */
const drafts = new Map<string, string>();
/** What was chosen, by conversation, while the page is open; the server knows the model of the last turn. */
const choices = new Map<string, Choice>();
