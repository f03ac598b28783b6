import type { ComponentType, VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { allowNotifications, mayNotify, openQuestions, watchAttention } from './attention.ts';
import { Confirmation } from './parts/confirm.tsx';
import { ForAdmins } from './parts/for-admins.tsx';
import { Lazy } from './parts/lazy.tsx';
import { Notices } from './parts/notices.tsx';
import { followLink, place } from './router.ts';
import { followEvents, isConnected, onEvent } from './server/events.ts';
import { begin, checkPerson, isAdministrator, person, signOut } from './server/session.ts';
import { SignIn } from './sign-in.tsx';

interface View {
  readonly path: string;
  readonly name: string;
  readonly isForAdmins?: true;
  load(): Promise<ComponentType>;
}

/** Each is a file of its own, loaded when it is opened. */
const VIEWS: readonly View[] = [
  { path: '/chat', name: 'Chat', load: async () => (await import('./chat/chat.tsx')).Chat },
  { path: '/saved', name: 'Saved skills', load: async () => (await import('./saved/saved.tsx')).Saved },
  { path: '/work', name: 'Work', load: async () => (await import('./work/work.tsx')).Work },
  { path: '/skills', name: 'Skills', load: async () => (await import('./skills/skills.tsx')).Skills },
  { path: '/system', name: 'System', isForAdmins: true, load: async () => (await import('./system/system.tsx')).System },
];

export function Page(): VNode {
  useEffect(() => {
    void begin().then(followEvents);
    onEvent(({ data }) => {
      if (typeof data['userId'] === 'string') checkPerson(data['userId']);
    });
    watchAttention();
  }, []);
  if (person.value === undefined)
    return (
      <div class="page">
        <header class="bar">
          <strong class="brand">Pith</strong>
        </header>
      </div>
    );
  if (person.value === null) return <SignIn />;
  const view = VIEWS.find(({ path }) => place.value === path || place.value.startsWith(`${path}/`)) ?? VIEWS[0];
  return (
    <div class="page">
      <header class="bar">
        <strong class="brand">Pith</strong>
        <nav aria-label="Views">
          {VIEWS.filter(({ isForAdmins }) => !isForAdmins || isAdministrator()).map(({ path, name }) => (
            <a key={path} href={path} onClick={followLink} aria-current={view?.path === path ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <span class="muted" role="status">
          {isConnected.value ? `${person.value.host} · ${person.value.project} · ${person.value.userId}` : 'Connecting …'}
        </span>
        {openQuestions.value > 0 && (
          <a class="chip warn" href="/work" onClick={followLink}>
            {openQuestions.value === 1 ? '1 question' : `${openQuestions.value} questions`}
          </a>
        )}
        <Notices />
        {!mayNotify.value && 'Notification' in globalThis && (
          <button type="button" class="quiet" onClick={() => void allowNotifications()}>
            Notify me
          </button>
        )}
        <button type="button" class="quiet" onClick={() => void signOut()}>
          Sign out
        </button>
      </header>
      {view !== undefined && <ViewOf key={view.path} view={view} />}
      <Confirmation />
    </div>
  );
}

function ViewOf({ view: { load, isForAdmins } }: { readonly view: View }): VNode {
  return isForAdmins ? (
    <ForAdmins>
      <Lazy load={load} />
    </ForAdmins>
  ) : (
    <Lazy load={load} />
  );
}
