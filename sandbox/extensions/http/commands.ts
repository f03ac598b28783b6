import { localTime, renderTable, spanOf, textColumns, widthOf } from '@pith/command-line';
import { PithError, type Clock, type Command, type JsonValue } from 'pith';
import type { HttpUsers, May, Role, TokenInfo } from './contract.ts';

const ROLES: readonly Role[] = ['user', 'admin'];
const MAY: readonly May[] = ['chat', 'approve', 'admin'];

/** `pith tokens …` */
export function tokenCommands(users: HttpUsers, clock: Pick<Clock, 'now'>): readonly Command[] {
  return [
    {
      path: 'tokens new',
      description: 'Make a token with which a program calls Pith over HTTP; it is shown once',
      slash: false,
      options: [
        { name: 'user', type: 'string', description: 'Whose it is (default: local, the person at this terminal)' },
        { name: 'role', type: 'string', description: 'What the person is: user or admin (default: as the settings say)' },
        { name: 'may', type: 'string', description: 'What the token may do: chat (default), approve: also answer questions, or admin' },
        { name: 'expires', type: 'string', description: 'For how long it is valid, such as 90d (default: until it is revoked)' },
      ],
      async run({ options: { user, role, may, expires } }, io) {
        const validMs = expires === undefined ? undefined : spanOf(String(expires));
        if (validMs === null) throw wrong('expires', expires, 'write a time such as 12h or 90d');
        const made = await users.newToken({
          ...(user === undefined ? {} : { userId: String(user) }),
          ...(role === undefined ? {} : { role: oneOf('role', role, ROLES) }),
          ...(may === undefined ? {} : { may: oneOf('may', may, MAY) }),
          ...(validMs === undefined ? {} : { validMs }),
        });
        io.json(jsonOf(made, made.token));
        io.print(`${made.token}\nA token of ${made.userId} (${saidOf(made)}), shown only now. To end it: pith tokens revoke ${made.id}`);
      },
    },
    {
      path: 'tokens list',
      description: 'List the tokens and the sessions of pages that are valid',
      slash: false,
      async run(_input, io) {
        const found = await users.tokens();
        io.json(found.map((each) => jsonOf(each)));
        const at = (time: number | null, otherwise: string): string => (time === null ? otherwise : localTime(time, clock.now()));
        const rows = found.map((each) => [
          each.id,
          each.kind,
          each.userId,
          each.role,
          each.may,
          at(each.expires, 'never'),
          at(each.lastUsed, 'never'),
        ]);
        const table = renderTable(rows, textColumns(['ID', 'KIND', 'USER', 'ROLE', 'MAY', 'EXPIRES', 'LAST USED']), widthOf(io));
        io.print(found.length === 0 ? 'Nobody has a token; make one: pith tokens new' : table);
      },
    },
    {
      path: 'tokens revoke',
      description: 'End a token, with the sessions that it opened, or a session',
      slash: false,
      arguments: [{ name: 'id', description: 'As pith tokens list shows it', required: true }],
      async run({ arguments: { id } }, io) {
        if (!(await users.revoke(String(id))))
          throw new PithError('token_unknown', `there is neither a token nor a session '${String(id)}'`, { cure: 'see pith tokens list' });
        io.json({ revoked: String(id) });
        io.print(`Revoked ${String(id)}: the next request with it is refused`);
      },
    },
  ];
}

function oneOf<T extends string>(name: string, given: unknown, values: readonly T[]): T {
  const found = values.find((value) => value === given);
  if (found === undefined) throw wrong(name, given, `write ${values.join(', ')}`);
  return found;
}

function wrong(name: string, given: unknown, cure: string): PithError {
  return new PithError('usage', `wrong use of --${name}: '${String(given)}'`, { cure });
}

function saidOf({ role, may }: TokenInfo): string {
  return `role ${role}, may ${may}`;
}

function jsonOf({ id, kind, userId, role, may, made, expires, lastUsed }: TokenInfo, token?: string): JsonValue {
  return { id, kind, user: userId, role, may, made, expires, last_used: lastUsed, ...(token === undefined ? {} : { token }) };
}
