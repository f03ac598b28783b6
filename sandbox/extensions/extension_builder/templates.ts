import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Source } from './sources.ts';

/** What an extension can be made from. */
export const KINDS = ['tool', 'context', 'service', 'channel', 'scheduler', 'model', 'command'] as const;
export type ExtensionKind = (typeof KINDS)[number];

/** The files of a new extension: those that the shipped skill `extension-development` shows, under this id. */
export async function extensionTemplate(shipped: string, kind: ExtensionKind, id: string): Promise<readonly Source[]> {
  const manifest = await template(shipped, `manifest-${kind}-provider.yaml`);
  const main = await template(shipped, `main-${kind}-provider.ts`);
  const className = /export default class (\w+)/.exec(main)?.[1] ?? '';
  const renamed = main.replaceAll(className, words(id).map(capital).join('')).replaceAll(GREET, greetTool(id));
  return [source('main.ts', renamed), source('manifest.yaml', named(manifest, id))];
}

/** A test of a new extension, which a project has beside its sandbox. */
export async function extensionTest(shipped: string, kind: ExtensionKind, id: string): Promise<string> {
  const text = await template(shipped, kind === 'tool' || kind === 'context' ? `test-${kind}-provider.ts` : 'test-extension.ts');
  return text.replaceAll(/\bmy_(?:tool|context|extension)\b/g, id).replaceAll(GREET, greetTool(id));
}

/** The tool of the template. */
const GREET = 'greet_person';

/** What the tool of a new extension is called: two extensions with a tool of one name would both be renamed. */
export function greetTool(id: string): string {
  return `${id}_greet`;
}

export async function agentTemplate(shipped: string, id: string): Promise<readonly Source[]> {
  return [
    source('manifest.yaml', named(await template(shipped, 'manifest-agent.yaml'), id)),
    source('prompt.jinja2', await template(shipped, 'prompt.jinja2')),
  ];
}

export async function skillTemplate(shipped: string, id: string): Promise<readonly Source[]> {
  const text = (await template(shipped, 'SKILL.md')).replaceAll('my-skill', id);
  return [source('SKILL.md', text.replace('# My skill', `# ${title(id)}`))];
}

function template(shipped: string, name: string): Promise<string> {
  return readFile(join(shipped, 'skills', 'extension-development', 'templates', name), 'utf8');
}

function named(manifest: string, id: string): string {
  const former = /^id: (\w+)/m.exec(manifest)?.[1] ?? '';
  return manifest.replaceAll(former, id).replace(/^name: .+$/m, `name: ${title(id)}`);
}

function title(id: string): string {
  const [first = '', ...others] = words(id);
  return [capital(first), ...others].join(' ');
}

function words(id: string): readonly string[] {
  return id.split(/[_-]/);
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function source(path: string, text: string): Source {
  return { path, bytes: Buffer.from(text) };
}
