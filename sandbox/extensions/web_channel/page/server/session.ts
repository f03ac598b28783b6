import { signal } from '@preact/signals';

/** Who is signed in here. */
export interface Person {
  readonly userId: string;
  readonly role: 'user' | 'admin';
  readonly may: 'chat' | 'approve' | 'admin';
  readonly host: string;
  readonly project: string;
}

/** null: nobody is; undefined: not known yet. */
export const person = signal<Person | null | undefined>(undefined);

/** What sign-in left here: with the cookie alone, which every port of this host gets, nothing can be done. */
const KEY = 'pith.page';

export function pageValue(): string {
  return localStorage.getItem(KEY) ?? '';
}

/** Signs in by the code in the address, which is then removed from it, or finds out who is signed in already. */
export async function begin(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) {
    history.replaceState(null, '', location.pathname);
    await signIn({ code }).catch(() => undefined); // used or too old: who is signed in already stays
  }
  await findPerson();
}

async function findPerson(): Promise<void> {
  const answer = await fetch('/api/me', { headers: { 'x-pith-page': pageValue() } });
  person.value = answer.ok ? ((await answer.json()) as Person) : null;
}

/** Rejects with the reason in words. */
export async function signIn(by: { readonly code: string } | { readonly token: string }): Promise<void> {
  const answer = await fetch('/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(by),
  });
  const said = (await answer.json()) as { readonly page: string; readonly error?: { readonly message: string } };
  if (!answer.ok) throw new Error(said.error?.message ?? 'sign-in failed');
  localStorage.setItem(KEY, said.page);
  await findPerson();
}

export async function signOut(): Promise<void> {
  await fetch('/sign-out', { method: 'POST', headers: { 'x-pith-page': pageValue(), 'content-type': 'application/json' }, body: '{}' });
  localStorage.removeItem(KEY);
  person.value = null;
}
