import { z } from 'pith';
import { failure } from './failures.ts';
import type { MinuteLimit } from './limits.ts';
import { tooMany } from './requests.ts';
import { type RouteEntry, ownRoute } from './routing.ts';
import type { OpenedSession, Tokens } from './tokens.ts';

export interface OwnPorts {
  readonly tokens: Tokens;
  readonly failures: MinuteLimit;
  readonly cookieName: string;
  readonly clock: { now(): number };
  /** Names this run of the server, so that others can tell it from another program on its port. */
  readonly instance: string;
}

/** The routes of the listener itself: its health, and sessions for pages. */
export function ownRoutes({ tokens, failures, cookieName, clock, instance }: OwnPorts): readonly RouteEntry[] {
  const cookie = (value: string, seconds: number, isSecure: boolean): string =>
    `${cookieName}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${isSecure ? '; Secure' : ''}`;
  const role = z.enum(['user', 'admin']);
  const may = z.enum(['chat', 'approve', 'admin']);
  return [
    ownRoute({ method: 'GET', path: '/health', need: 'public', summary: 'Say that the server runs' }, async () => ({
      status: 200,
      headers: { 'x-pith-instance': instance },
      body: 'ok',
    })),
    ownRoute(
      {
        method: 'POST',
        path: '/sign-in',
        need: 'public',
        summary: 'Open a session by a one-time code or a token',
        body: z.union([z.strictObject({ code: z.string().max(200) }), z.strictObject({ token: z.string().max(200) })]),
        result: z.object({ userId: z.string(), role, may, page: z.string(), expires: z.number() }),
        mostBytes: 4096,
      },
      async ({ body }, { network, isSecure }) => {
        const wait = failures.wait(network);
        if (wait !== null) return tooMany(wait, 'too many failed sign-ins from this address');
        const given = body as { readonly code: string } | { readonly token: string };
        const session = 'code' in given ? await tokens.openByCode(given.code) : await tokens.openByToken(given.token);
        if (session === null) {
          failures.count(network);
          return failure(401, 'sign_in_invalid', 'the code or token is unknown, used or too old', {
            cure: 'take a new address: pith web --print',
          });
        }
        const { cookie: value, ...shown }: OpenedSession = session;
        const seconds = Math.ceil((session.expires - clock.now()) / 1000);
        return { status: 200, headers: { 'set-cookie': cookie(value, seconds, isSecure) }, json: { ...shown } };
      },
    ),
    ownRoute(
      { method: 'POST', path: '/sign-out', need: 'user', summary: 'End the session of this page' },
      async (_request, { credential, isSecure }) => {
        if (credential?.kind !== 'session')
          return failure(400, 'session_unknown', 'a token is not a session', { cure: 'revoke it: pith tokens revoke ID' });
        await tokens.revoke(credential.id);
        return { status: 204, headers: { 'set-cookie': cookie('', 0, isSecure) } };
      },
    ),
  ];
}
