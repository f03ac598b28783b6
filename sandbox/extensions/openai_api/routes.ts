import { z } from 'pith';
import type { Route } from 'pith/http';
import { refusal } from './errors.ts';

export const MODELS = 'GET /v1/models';
export const MODEL = 'GET /v1/models/{id}';
export const CHAT = 'POST /v1/chat/completions';
export const RESPONSES = 'POST /v1/responses';
export const RESPONSE = 'GET /v1/responses/{id}';
export const FORGET_RESPONSE = 'DELETE /v1/responses/{id}';
/** What this API has and Pith has not. */
const OTHERS = ['GET', 'POST', 'DELETE'].map((method) => `${method} /v1/{path...}`);

/** With images in it. */
const MOST_BYTES = 32 * 1024 * 1024;

export function openAiRoutes(): readonly Route[] {
  // Clients are told what is wrong in the shape that they read, so this interface checks a body itself.
  const body = z.looseObject({});
  const route = (name: string, summary: string, more: Partial<Route> = {}): Route => {
    const [method, path] = name.split(' ') as [Route['method'], string];
    return { method, path, need: 'user', summary, refused: refusal, ...more };
  };
  return [
    route(MODELS, 'List the agents that you may use, as models'),
    route(MODEL, 'Show one of them'),
    route(CHAT, 'Answer a chat as the chat-completions API does', { body, mostBytes: MOST_BYTES }),
    route(RESPONSES, 'Answer as the responses API does', { body, mostBytes: MOST_BYTES }),
    route(RESPONSE, 'Show a response that is kept'),
    route(FORGET_RESPONSE, 'Delete a response that is kept'),
    ...OTHERS.map((name) => route(name, 'Say that there is nothing', name.startsWith('POST') ? { body } : {})),
  ];
}
