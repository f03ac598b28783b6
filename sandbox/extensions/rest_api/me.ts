import { hostname } from 'node:os';
import path from 'node:path';
import { type ExtensionContext, Places, z } from 'pith';
import type { Feed } from './conversations/feed.ts';
import { type ApiRoute, apiRoute } from './route.ts';

/** Who asks, and of what: for the head of a page. */
export function meRoute(context: Pick<ExtensionContext, 'use'>, feed: Pick<Feed, 'present'>): ApiRoute {
  return apiRoute(
    {
      method: 'GET',
      path: '/api/me',
      need: 'user',
      summary: 'Say who you are here, and which project this is',
      result: z.strictObject({
        userId: z.string(),
        role: z.enum(['user', 'admin']),
        may: z.enum(['chat', 'approve', 'admin']),
        host: z.string(),
        project: z.string(),
        events: z.string().describe('Send it as Last-Event-ID to get every change after this answer'),
      }),
    },
    async ({ caller }) => {
      const { project, sandbox, untrustedSandbox } = context.use(Places);
      const { userId, role, may } = caller;
      return {
        status: 200,
        json: {
          userId,
          role,
          may,
          host: hostname(),
          project: path.basename(project ?? (untrustedSandbox === null ? sandbox : path.dirname(untrustedSandbox))),
          events: await feed.present(),
        },
      };
    },
  );
}
