import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { CodeWords } from '../parts/code-words.tsx';
import { change } from '../parts/confirm.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { CureView } from '../parts/cure.tsx';
import { Problem } from '../parts/problem.tsx';
import { followLink } from '../router.ts';
import type { ApiError } from '../server/api.ts';
import { concerns, useLoaded } from '../server/loaded.ts';
import { type Extension, toneOf } from './extension.ts';
import { LogView } from './log-view.tsx';
import { SettingsView } from './settings-view.tsx';

interface WholeExtension extends Extension {
  readonly asks: readonly { readonly ask: string; readonly withheld: boolean }[];
  readonly notes: readonly { readonly message: string }[];
}

/** One extension: its state with the cure, its settings and what the log has of it. */
export function ExtensionPage({ id }: { readonly id: string }): VNode {
  const path = `/api/extensions/${encodeURIComponent(id)}`;
  const [loaded, again] = useLoaded<WholeExtension>(path, concerns('extension', id));
  const error = useSignal<ApiError | null>(null);
  const act = async (what: string): Promise<void> => {
    error.value = null;
    await change('POST', `${path}/${what}`).catch((wrong: unknown) => (error.value = wrong as ApiError));
    again();
  };
  const extension = loaded.value.value;
  if (extension === null) return <Awaited of={loaded.value} />;
  const { state, version, description, message, cure, shipped, tier, provides, depends_on: needs, asks, notes } = extension;
  const withheld = asks.filter((each) => each.withheld);
  return (
    <>
      <p>
        <a href="/system/extensions" onClick={followLink}>
          Extensions
        </a>
      </p>
      <div class="row">
        <h2>{id}</h2>
        <span class={`chip ${toneOf(state)}`} role="status">
          {state}
        </span>
        {!shipped && <span class="chip">yours</span>}
        <span class="muted">
          {version} · {tier === 'process' ? 'in a process of its own' : 'in the kernel'}
        </span>
        <button type="button" onClick={() => void act('reload')}>
          Reload
        </button>
        {!shipped && (
          <button type="button" onClick={() => void act('rollback')}>
            Roll back
          </button>
        )}
      </div>
      <Problem error={error.value} />
      <p>
        <CodeWords text={description} />
      </p>
      {message !== undefined && (
        <p class="bad">
          {message}
          <CureView cure={cure} />
        </p>
      )}
      {notes.map(({ message: text }) => (
        <p key={text} class="warn">
          {text}
        </p>
      ))}
      {withheld.length > 0 && (
        <p class="warn">
          It asks for what nobody has agreed to: {withheld.map(({ ask }) => ask).join('; ')}{' '}
          <button type="button" onClick={() => void act('allow')}>
            Review and allow
          </button>
        </p>
      )}
      <p class="muted">
        {provides.length > 0 && `Provides ${provides.join(', ')}. `}
        {needs.length > 0 && `Needs ${needs.join(', ')}.`}
      </p>
      <h3>Settings</h3>
      <SettingsView extension={id} />
      <h3>Log</h3>
      <LogView extension={id} />
    </>
  );
}
