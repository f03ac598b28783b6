import { signal } from '@preact/signals';

/** Who is signed in here. */
export interface Person {
  readonly userId: string;
  readonly role: 'user' | 'admin';
  readonly may: 'chat' | 'approve' | 'admin';
  readonly host: string;
  readonly project: string;
  /** The place of the last event when this was answered first: what views have read is no older. */
  readonly events: string;
}

/** null: nobody is; undefined: not known yet. */
export const person = signal<Person | null | undefined>(undefined);

/** What sign-in left here: with the cookie alone, which every port of this host gets, nothing can be done. */
const KEY = 'pith.page';
const ASK_MS = 1000;

/** Who was signed in here last. */
let lastId: string | null = null;

export function pageValue(): string {
  return localStorage.getItem(KEY) ?? '';
}

/** A session of a token that may only chat answers no question. */
export function mayAnswer(): boolean {
  return person.value !== null && person.value !== undefined && person.value.may !== 'chat';
}

/** Signs in by the code in the address, now or when it comes there, or finds out who is signed in already; heeds what other tabs do. */
export async function begin(): Promise<void> {
  addEventListener('hashchange', () => void signInByAddress());
  addEventListener('storage', ({ key }) => {
    if (key === KEY || key === null) void findPerson();
  });
  await signInByAddress();
  await findPerson();
}

/** Finds out who is signed in, where the server sends the events of somebody else. */
export function checkPerson(userId: string): void {
  if (person.peek()?.userId !== userId) void findPerson();
}

/** The code is removed from the address. */
async function signInByAddress(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code === null) return;
  history.replaceState(null, '', location.pathname);
  await signIn({ code }).catch(() => undefined); // used or too old: who is signed in already stays
}

/** Waits for a server that does not answer, or cannot now: only 401 means that nobody is signed in. What is asked while somebody signs in may be refused, too. */
export async function findPerson(): Promise<void> {
  for (;;) {
    const answer = await fetch('/api/me', { headers: { 'x-pith-page': pageValue() } }).catch(() => null); // it is asked again
    if (answer?.ok === true) return show((await answer.json()) as Person);
    if (answer?.status === 401) return void (person.value = null);
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
}

/** What the page holds of somebody else goes with it. */
function show(found: Person): void {
  if (lastId !== null && lastId !== found.userId) return location.reload();
  lastId = found.userId;
  person.value = { ...found, events: person.peek()?.events ?? found.events };
}

/** What the session may do counts, not who its person is. */
export function isAdministrator(): boolean {
  return person.value?.may === 'admin';
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
  await fetch('/sign-out', { method: 'POST', headers: { 'x-pith-page': pageValue() } }).catch(() => undefined); // without what is removed next it opens nothing here
  localStorage.removeItem(KEY);
  location.assign('/'); // nothing of this person stays in the page
}
