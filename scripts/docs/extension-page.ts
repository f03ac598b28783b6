import { readFile } from 'node:fs/promises';
import path from 'node:path';

const SKILL = 'sandbox/skills/extension-development';

/** The same text that the builder agent reads, with links to its further pages. */
export async function extensionPage(root: string): Promise<string> {
  return pageFrom(root, 'SKILL.md', 'This is the skill `extension-development`: what the builder agent reads is what you read.');
}

export async function testingPage(root: string): Promise<string> {
  return pageFrom(root, 'references/testing.md', 'The builder agent reads this page, too.');
}

async function pageFrom(root: string, file: string, whose: string): Promise<string> {
  const text = await readFile(path.join(root, SKILL, file), 'utf8');
  const body = text.replace(/^---\n[\s\S]*?\n---\n/, '').trimStart();
  const [heading = '', ...rest] = body.split('\n');
  return `<!-- made from ${SKILL}/${file} by npm run docs -->\n${heading}\n\n${whose}\n${outsideFences(rest.join('\n'), link)}`;
}

function link(text: string): string {
  const linked = text.replaceAll('`references/testing.md`', '[Test an extension](test-an-extension.md)');
  return linked.replace(/`((?:references|templates)\/[\w.-]+)`/g, (_, file: string) => `[\`${file}\`](../${SKILL}/${file})`);
}

function outsideFences(text: string, change: (part: string) => string): string {
  return text
    .split(/(^```[\s\S]*?^```)/m)
    .map((part) => (part.startsWith('```') ? part : change(part)))
    .join('');
}
