import { manifest } from '../../core/process/extension.ts';

const ECHO = `return { status: 200, json: { by: context.id, ...request, signal: null, bytes: Buffer.from(request.bytes).toString() } };`;

/** An extension with these routes, `METHOD /path` each, that answers with its request as JSON unless `answer` says otherwise. */
export function routes(
  id: string,
  paths: readonly string[],
  { answer = ECHO, more = {} }: { readonly answer?: string; readonly more?: object } = {},
) {
  const list = paths.map((each) => {
    const [method, path] = each.split(' ');
    return { method, path, need: 'public', summary: 'Answer', ...more };
  });
  return routesOf(id, `async routes() { return ${JSON.stringify(list)}; }\nasync answer(request) { ${answer} }`);
}

/** An extension that provides routes by the members in `body`; `context`, `PithError` and `z` are in their scope. */
export function routesOf(id: string, body: string) {
  return {
    ...manifest(id, { provides: ['http.routes'], depends_on: ['http'] }),
    [`extensions/${id}/main.ts`]: `import { PithError, z } from 'pith';
import { RouteProvider } from 'pith/http';
let context;
export default class {
  constructor(given) { context = given; context.provide(RouteProvider, this); }
  ${body}
}
`,
  };
}

/** One route for each need, which says who calls. */
export const WHO = routesOf(
  'who',
  `async routes() {
    const needs = ['public', 'user', 'approve', 'admin'];
    return needs.flatMap((need) => ['GET', 'POST'].map((method) => ({ method, path: '/' + need, need, summary: 'Say who calls' })));
  }
  async answer({ caller }) { return { status: 200, json: { caller } }; }`,
);
