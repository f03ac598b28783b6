import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RouteAnswer } from 'pith/http';

const FOLDER = 'page';
const LIST = 'files.json';

/** What the build says of the page: the names of its files have their digests in them. */
interface BuiltPage {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly files: readonly string[];
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The files of the page as the build made them. Only what the build lists is read. */
export class PageFiles {
  readonly #folder: string;
  readonly #built: BuiltPage;
  readonly #names: ReadonlySet<string>;

  constructor(folder = builtPage(path.dirname(fileURLToPath(import.meta.url)))) {
    this.#folder = folder;
    this.#built = JSON.parse(readFileSync(path.join(folder, LIST), 'utf8')) as BuiltPage;
    this.#names = new Set(this.#built.files);
  }

  /** The document, the same for every address of the page. */
  document(): RouteAnswer {
    const { script, style, icon } = this.#built;
    const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Pith</title>
<link rel="icon" href="/page/${icon}">
<link rel="stylesheet" href="/page/${style}">
<script type="module" src="/page/${script}"></script>
</head>
<body><div id="page"><div class="page"><header class="bar"><strong class="brand">Pith</strong></header></div></div><noscript>This page needs JavaScript.</noscript></body>
</html>
`;
    return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' }, body };
  }

  /** null: there is no such file. */
  async file(name: string): Promise<RouteAnswer | null> {
    const type = TYPES[path.extname(name)];
    if (!this.#names.has(name) || type === undefined) return null;
    const headers = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' };
    return { status: 200, headers, body: await readFile(path.join(this.#folder, name)) };
  }
}

/** Beside the bundle of this module, or of a checkout whose sources run, in its newest build. */
function builtPage(below: string): string {
  const beside = path.join(below, FOLDER);
  if (existsSync(path.join(beside, LIST))) return beside;
  const newest = path.join(below, 'dist', 'build.json');
  if (existsSync(newest)) {
    const { build } = JSON.parse(readFileSync(newest, 'utf8')) as { readonly build: string };
    return path.join(below, 'dist', build, FOLDER);
  }
  const above = path.dirname(below);
  return above === below ? beside : builtPage(above);
}
