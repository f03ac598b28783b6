import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy-button.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { type ApiError, ask } from '../server/api.ts';
import { never, useLoaded } from '../server/loaded.ts';

interface Token {
  readonly id: string;
  readonly kind: 'token' | 'session';
  readonly user: string;
  readonly role: string;
  readonly may: string;
  readonly expires: number | string | null;
}

/** Who may call this Pith: tokens, and the sessions of pages. A new token is shown once. */
export function Users(): VNode {
  const [loaded, again] = useLoaded<readonly Token[]>('/api/tokens', never);
  const [made, setMade] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const failed = (wrong: unknown): void => setError(wrong as ApiError);
  const make = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setError(null);
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const typed = Object.fromEntries([...form.entries()].filter(([, value]) => value !== ''));
    const wanted = typed['may'] === 'admin' ? { ...typed, role: 'admin' } : typed;
    await ask<{ readonly token: string }>('POST', '/api/tokens', wanted).then(({ token }) => setMade(token), failed);
    again();
  };
  const revoke = async (id: string): Promise<void> => {
    await ask('DELETE', `/api/tokens/${encodeURIComponent(id)}`, {}).catch(failed);
    again();
  };
  return (
    <>
      <Problem error={error} />
      <form class="row" onSubmit={(event) => void make(event)}>
        <input name="user" required pattern=".*\S.*" placeholder="Name of the person" aria-label="Name of the person" />
        <select name="may" aria-label="What the person may do">
          <option value="chat">may chat</option>
          <option value="approve">may also answer questions</option>
          <option value="admin">is an administrator</option>
        </select>
        <input name="expires" placeholder="valid for, such as 90d" aria-label="How long it is valid" />
        <button type="submit" class="main">
          New token
        </button>
      </form>
      {made !== null && (
        <p role="status">
          Shown only now: <code>{made}</code> <CopyButton text={made} />
        </p>
      )}
      <Awaited of={loaded.value} />
      <Table label="Tokens and sessions" columns={['Who', 'What', 'May', 'Ends']} action="Revoke">
        {(loaded.value.value ?? []).map(({ id, kind, user, role, may, expires }) => (
          <tr key={id}>
            <td>
              {user} <span class="muted">{role}</span>
            </td>
            <td>{kind}</td>
            <td>{may}</td>
            <td>{expires === null ? 'when it is revoked' : new Date(expires).toLocaleDateString()}</td>
            <td>
              <button type="button" class="quiet" aria-label={`Revoke ${kind} ${id}`} onClick={() => void revoke(id)}>
                Revoke
              </button>
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
