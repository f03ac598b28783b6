import { createRequire } from 'node:module';
import pc from 'picocolors';

/** Names of languages in Markdown that are not those of the library's files. */
const NAMES = byWord({
  bash: 'sh zsh shell console shellsession',
  c: 'h',
  cpp: 'c++ cc hpp',
  csharp: 'cs c#',
  diff: 'patch',
  dockerfile: 'docker',
  go: 'golang',
  ini: 'toml',
  javascript: 'js jsx mjs cjs',
  json: 'json5 jsonc jsonl',
  kotlin: 'kt',
  makefile: 'make mk',
  markdown: 'md',
  perl: 'pl',
  powershell: 'ps1 pwsh',
  python: 'py python3',
  ruby: 'rb',
  rust: 'rs',
  typescript: 'ts tsx mts cts',
  xml: 'html xhtml svg vue svelte',
  yaml: 'yml',
});

const paint = pc.createColors(true);
/** Colours by the first part of the library's names for parts of code. What is not here looks like the text. */
const COLOURS = byWord({
  magenta: 'keyword',
  yellow: 'literal number symbol',
  green: 'string regexp addition',
  red: 'deletion',
  gray: 'comment quote meta',
  blue: 'title name section selector-tag',
  cyan: 'built_in type attr attribute property selector-class',
});

/** What is used of the library. Its own types bring those of browsers. */
interface Library {
  getLanguage(name: string): object | undefined;
  registerLanguage(name: string, definition: object): void;
  highlight(code: string, options: { readonly language: string; readonly ignoreIllegals: boolean }): { readonly value: string };
}

/** Lines before one that say what it is in the middle of. */
const MOST_BEFORE = 30;
const LONGEST = 2000;
/** A line of its own after the code: where it has a colour, the code ends within something. */
const AFTER = '\nzzz';

/** Colours the lines of one block of code, each when it is complete. */
export class CodeColours {
  /** Lines since the last that ended outside of comments and texts. */
  #before: string[] = [];

  private constructor(
    private readonly library: Library,
    private readonly language: string,
  ) {}

  /** `info`: what follows the fence. null: no language that is known here. */
  static of(info: string): CodeColours | null {
    const word = /^\{?\.?([\w+#-]{1,30})/u.exec(info)?.[1]?.toLowerCase();
    if (word === undefined) return null;
    const language = NAMES.get(word) ?? word;
    try {
      const require = createRequire(import.meta.url); // loaded with the first block
      const library = require('highlight.js/lib/core') as Library;
      if (library.getLanguage(language) === undefined)
        library.registerLanguage(language, require(`highlight.js/lib/languages/${language}`) as object);
      return new CodeColours(library, language);
    } catch {
      return null; // a language that the library does not know
    }
  }

  paint(line: string): string {
    if (line.length > LONGEST) return line;
    const code = [...this.#before, line].join('\n');
    const { value } = this.library.highlight(code + AFTER, { language: this.language, ignoreIllegals: true });
    const lines = paintedLines(value);
    const isInside = lines.at(-1) !== AFTER.trim();
    const [first, ...rest] = this.#before;
    if (!isInside) this.#before = [];
    else this.#before = first === undefined ? [line] : [first, ...rest.slice(1 - MOST_BEFORE), line]; // the first says what began
    return lines.at(-2) ?? line;
  }
}

/** The library's HTML as lines for a terminal. */
function paintedLines(html: string): readonly string[] {
  const open: string[] = [];
  const lines = [''];
  for (const [, scope, closed, text = ''] of html.matchAll(/<span class="hljs-([^" ]*)[^"]*">|(<\/span>)|([^<]+)/gu)) {
    if (scope !== undefined) open.push(scope);
    else if (closed !== undefined) open.pop();
    else {
      const colour = COLOURS.get(open.findLast((each) => COLOURS.has(each) || each === 'subst') ?? '');
      const look = colour === undefined ? String : paint[colour];
      for (const [index, part] of unescaped(text).split('\n').entries()) {
        if (index > 0) lines.push('');
        if (part !== '') lines[lines.length - 1] += look(part);
      }
    }
  }
  return lines;
}

function unescaped(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#x27);/gu, (entity) => ENTITIES[entity] ?? entity);
}

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'" };

/** Each word with the name of its list. */
function byWord<Name extends string>(lists: Readonly<Record<Name, string>>): ReadonlyMap<string, Name> {
  const named = Object.entries(lists) as [Name, string][];
  return new Map(named.flatMap(([name, words]) => words.split(' ').map((word) => [word, name] as const)));
}
