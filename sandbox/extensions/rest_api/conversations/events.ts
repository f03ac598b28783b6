import { EVENT_STREAM } from '@pith/server-answers';
import { type ApiRoute, apiRoute } from '../route.ts';
import type { Feed } from './feed.ts';

export function eventRoutes(feed: Feed): readonly ApiRoute[] {
  return [
    apiRoute(
      {
        method: 'GET',
        path: '/api/events',
        need: 'user',
        summary: 'Stream what changes, and what your turns say; Last-Event-ID goes on behind that event',
        types: ['text/event-stream'],
        reads: ['Last-Event-ID'],
      },
      async ({ caller, headers, signal }) => ({
        status: 200,
        headers: EVENT_STREAM,
        body: feed.events(caller, headers['last-event-id'], signal),
      }),
    ),
  ];
}
