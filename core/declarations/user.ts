import { PithError } from '../contract/index.ts';

/** Whoever gives a command or a message without saying who they are. */
export const LOCAL_USER = 'local';

const USER = /^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$/;

/** Who uses this process: `PITH_USER`. Throws `usage` for what cannot name anybody. */
export function userIn(env: Readonly<Record<string, string | undefined>>): string {
  const name = env['PITH_USER'];
  if (name === undefined || name === '') return LOCAL_USER;
  if (USER.test(name)) return name;
  throw new PithError('usage', `PITH_USER cannot be '${name.slice(0, 80)}'`, {
    cure: 'use 1 to 64 letters, digits, _, ., @ and -, beginning with a letter or digit',
  });
}

/** Whether a user may do what is kept for administrators. Where the settings name none, it is whoever does not say another name. */
export function isAdmin(admins: readonly string[], userId: string): boolean {
  return admins.length === 0 ? userId === LOCAL_USER : admins.includes(userId);
}

/** Whether agents may change this Pith in somebody's turns: in those of administrators, and of the person at the terminal, whose files these are. */
export function mayChangePith(admins: readonly string[], userId: string): boolean {
  return userId === LOCAL_USER || isAdmin(admins, userId);
}
