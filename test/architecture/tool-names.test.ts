import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { filesBelow, read, withoutComments } from './repository.ts';

/** How the names of shipped tools begin, and those of tools that might be promised. */
const VERBS =
  'activate|apply|call|cancel|check|complete|configure|copy|create|delegate|delete|forget|get|list|load|make|propose|read|request|respond|rollback|run|schedule|search|send|set|stage|submit|update|web|write';
const NAME = new RegExp(`(?<![\\w/.-])(?:${VERBS})(?:_[a-z0-9]+)+(?![\\w/-])`, 'g');
const STRING = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;
/** Tools of examples, a tool of a shipped skill, a code of errors and an extension. */
const NO_TOOLS: ReadonlySet<string> = new Set(['get_city_time', 'read_glossary', 'list_greetings', 'write_conflict', 'web_channel']);

/** Sentences of a file: all of a text, of code the strings with a space in them that are no SQL. */
function sentencesIn(file: string): readonly string[] {
  if (!file.endsWith('.ts')) return [read(file)];
  const strings = withoutComments(read(file)).match(STRING) ?? [];
  return strings.filter((text) => text.includes(' ') && !/\b(?:CREATE|SELECT|INSERT|UPDATE|DELETE|WHERE)\b/.test(text));
}

it('K70 findings B4: every tool that a prompt, a message or a skill names exists', async () => {
  await using pith = await testKernel({ model: scriptedModel([]), env: { BRAVE_API_KEY: 'key' } }); /* web_search needs one */
  const { extensions, providers } = pith.kernel.host;
  const tools = new Set<string>();
  // One after the other: all at once would wait for one another longer than a call may take.
  for (const id of extensions.ids()) for (const { name } of await providers.tools.of(id).catch(() => [])) tools.add(name);
  expect(tools.size).toBeGreaterThan(35);
  const files = [...filesBelow('sandbox', '.md', '.ts', '.jinja2', '.yaml'), ...filesBelow('core', '.ts')];
  const unknown = files.flatMap((file) =>
    sentencesIn(file)
      .flatMap((text) => text.match(NAME) ?? [])
      .filter((name) => !tools.has(name) && !NO_TOOLS.has(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
  const told = filesBelow('packages', '.ts').flatMap((file) =>
    sentencesIn(file)
      .filter((text) => /\bfile tools\b/.test(text) || (text.match(NAME) ?? []).some((name) => tools.has(name)))
      .map((text) => `${file}: ${text}`),
  );
  expect(told, 'a library knows none of the tools: whoever owns them says so').toEqual([]);
});
