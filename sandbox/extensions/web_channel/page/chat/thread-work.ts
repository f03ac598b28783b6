import { confirmed } from '../parts/confirm.tsx';
import { goTo } from '../router.ts';
import { ask, readText } from '../server/api.ts';

const pathOf = (id: string): string => `/api/threads/${encodeURIComponent(id)}`;

/** `match`: only while its title has that tag. */
export const renameThread = (id: string, title: string, match: string | null = null): Promise<unknown> =>
  ask('PATCH', pathOf(id), { title }, match);

export const compactThread = (id: string): Promise<unknown> => ask('POST', `${pathOf(id)}/compact`);

export async function branchThread(id: string): Promise<void> {
  const made = await ask<{ readonly id: string }>('POST', `${pathOf(id)}/branch`);
  goTo(`/chat/${encodeURIComponent(made.id)}`);
}

/** Asks first. */
export async function deleteThread(id: string, title: string): Promise<void> {
  if (!(await confirmed(`Delete “${title}” and all that was said in it?`))) return;
  await ask('DELETE', pathOf(id));
  goTo('/chat');
}

/** As a file that the browser keeps. */
export async function saveThread(id: string): Promise<void> {
  const address = URL.createObjectURL(new Blob([await readText(`${pathOf(id)}/export`)], { type: 'text/markdown' }));
  const link = Object.assign(document.createElement('a'), { href: address, download: `${id}.md` });
  link.click();
  URL.revokeObjectURL(address);
}
