import { once } from '@pith/promises';
import type { Command, CommandProvider, ExtensionContext } from 'pith';
import { HttpUsers, type Route, RouteProvider } from 'pith/http';
import { webCommand } from './command.ts';
import { PageFiles } from './page-files.ts';

/** Every address of the page has the same document; the page shows what belongs to it. */
const VIEWS = ['chat', 'skills', 'saved', 'work', 'system'];
const PLACES = ['/', ...VIEWS.flatMap((view) => [`/${view}`, `/${view}/{rest...}`])];
const FILE = '/page/{file}';

/** The page: to chat, to look after skills and to follow work, in a browser. */
export default class WebChannel implements CommandProvider {
  readonly #files = once(() => new PageFiles());

  constructor(private readonly context: ExtensionContext) {
    const route = (path: string, summary: string): Route => ({ method: 'GET', path, need: 'public', summary });
    context.provide(RouteProvider, {
      routes: async () => [...PLACES.map((path) => route(path, 'Open the page')), route(FILE, 'A file of the page')],
      answer: async ({ route: name, params }) => {
        const files = this.#files();
        if (name !== `GET ${FILE}`) return files.document();
        return (await files.file(params['file'] ?? '')) ?? { status: 404, json: { error: { code: 'not_found', message: 'no such file' } } };
      },
    });
  }

  getCommands(): readonly Command[] {
    return [webCommand({ users: () => this.context.use(HttpUsers), clock: this.context.clock })];
  }
}
