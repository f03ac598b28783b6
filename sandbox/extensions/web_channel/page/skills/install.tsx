import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useAttempt } from '../parts/attempt.ts';
import { change } from '../parts/confirm.tsx';
import { said } from '../parts/said.tsx';
import { Problem } from '../parts/problem.tsx';
import { goTo } from '../router.ts';
import { ask } from '../server/api.ts';

interface Installed {
  readonly skills: readonly { readonly id: string; readonly state: string }[];
}

/** Installs skills from an address, or from a zip archive of this machine. What is in them is shown and asked first. */
export function Install(): VNode {
  const [from, setFrom] = useState('');
  const [isRefused, setRefused] = useState(false);
  const { error, isBusy, attempt } = useAttempt();
  const install = async (source: () => Promise<string>): Promise<void> => {
    setRefused(false);
    await attempt(async () => {
      const done = await change<Installed>('POST', '/api/skills/install', { from: await source(), all: true }, { title: 'Install this?' });
      if (done === null) return setRefused(true);
      const ids = done.skills.filter(({ state }) => state === 'installed').map(({ id }) => id);
      said.value = `Installed ${ids.join(', ')}`;
      goTo('/skills');
    });
  };
  const upload = (file: File | undefined): void => {
    if (file === undefined) return;
    const archive = new Blob([file], { type: 'application/zip' });
    void install(async () => (await ask<{ readonly from: string }>('POST', '/api/uploads', archive)).from);
  };
  return (
    <main class="view">
      <h1>Install skills</h1>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void install(async () => from.trim());
        }}
      >
        <label for="from">From</label>
        <input
          id="from"
          class="wide"
          value={from}
          placeholder="owner/repository, the address of a git repository or a zip archive, or a folder"
          onInput={({ currentTarget }) => setFrom(currentTarget.value)}
        />
        <button type="submit" class="main" disabled={isBusy || from.trim() === ''}>
          Scan
        </button>
      </form>
      <p
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          upload(event.dataTransfer?.files[0]);
        }}
      >
        <label>
          Or a zip archive:{' '}
          <input type="file" accept=".zip,application/zip" onChange={({ currentTarget }) => upload(currentTarget.files?.[0])} />
        </label>
      </p>
      <p role="status">{isBusy ? 'Looking at what is in it …' : isRefused && 'Nothing was installed'}</p>
      <Problem error={error} />
    </main>
  );
}
