import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { scriptedModel, testKernel, type CommandOptions, type TestKernel, type TestKernelOptions, type TurnOutcome } from 'pith/testing';
import { matchCommand, parseCommandInput } from '@pith/command-line';
import { expect, onTestFinished } from 'vitest';

export const LETTERS = `---
name: letters
description: Writes letters. Use when asked for a letter.
version: 1.0.0
---
# Letters

1. Ask for the address.
2. Write the letter.
3. Print it.
`;

/** A diff that changes the second step. */
export const BETTER = `--- a/SKILL.md
+++ b/SKILL.md
@@ -7,5 +7,6 @@
 # Letters
 
 1. Ask for the address.
-2. Write the letter.
+2. Write the letter in the language of the address.
+3. Read it aloud.
 3. Print it.
`;

/** A diff with another second step. */
export const step = (text: string): string => BETTER.replace('in the language of the address', text);

const SKILLS = ['skill_registry', 'skill_proposals', 'skill_install', 'skill_search', 'web'];
const AGENT = (id: string, more = '') => ({
  [`agents/${id}/manifest.yaml`]: `id: ${id}\nagent: { uses_tools: [skill_registry, skill_proposals${more}], instructions: Work., limits: { max_turns: 200, max_tool_calls: 200 } }\n`,
});

export type Files = Readonly<Record<string, string | Uint8Array>>;

/** The real kernel with the skill \`letters\` and the agent \`reader\`, who proposes. Ends with the test. */
export async function proposalsKernel(
  files: Files = {},
  { config = '', ...options }: TestKernelOptions & { readonly config?: string } = {},
) {
  const model = scriptedModel([]);
  const pith = await testKernel({
    only: SKILLS,
    ...options,
    model,
    files: {
      'pith.yaml': `default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n${config}`,
      'skills/letters/SKILL.md': LETTERS,
      ...AGENT('reader'),
      ...files,
    },
  });
  onTestFinished(() => pith.stop());
  const inSandbox = (file: string) => path.join(pith.sandbox, file);
  const chat = async (
    calls: readonly { readonly name: string; readonly input: JsonValue }[],
    about: { readonly agent?: string; readonly threadId?: string } = {},
  ): Promise<TurnOutcome> => {
    model.add(...calls.map((call) => ({ calls: [call] })), { text: 'done' });
    const outcome = await pith.run('go on', { threadId: 'test', userId: 'local', ...about });
    expect(outcome, JSON.stringify(outcome.error)).toMatchObject({ reason: 'done' });
    return outcome;
  };
  /** The result of the tool as the model reads it. */
  const propose = async (diff: string, more: { readonly [key: string]: JsonValue } = {}, about = {}) => {
    const input = { skill_id: 'letters', diff, justification: 'Letters came in the wrong language.', ...more };
    const { results } = await chat([{ name: 'propose_skill_update', input }], about);
    const result = results.at(-1)!;
    return result.ok
      ? (result.output as { readonly [key: string]: JsonValue })
      : { error: result.error!.code, message: result.error!.message };
  };
  const run = (line: string | readonly string[], about?: CommandOptions) => pith.command(line, about);
  const notices: string[] = [];
  const listen = () => void pith.kernel.events.handle('notify', ({ text }) => void notices.push(text));
  listen();
  return {
    pith,
    model,
    notices,
    listen,
    /** A command on a terminal, where a person gives these answers. */
    typed: (line: string, ...answers: readonly Answer[]) => typed(pith, line, answers),
    chat,
    propose,
    run,
    /** The id of the proposal that it makes. */
    proposed: async (diff = BETTER, more = {}) => String((await propose(diff, more))['proposal']),
    list: async () => (await run('skills proposals list', { json: true })).values[0] as { readonly id: string; readonly status: string }[],
    status: async (id: string) =>
      ((await run('skills proposals list', { json: true })).values[0] as { id: string; status: string }[]).find((one) => one.id === id)
        ?.status,
    show: async (id: string) => (await run(['skills', 'proposals', 'show', id])).text,
    review: async (id: string) =>
      (await run(['skills', 'proposals', 'show', id], { json: true })).values[0] as { readonly [key: string]: JsonValue },
    skill: (file = 'SKILL.md', id = 'letters') => readFileSync(inSandbox(`skills/${id}/${file}`), 'utf8'),
    place: inSandbox,
    files: () => {
      const folder = inSandbox('data/extensions/skill_registry/proposals');
      return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.md')) : [];
    },
  };
}

type Answer = string | null | (() => Promise<string>);

async function typed({ kernel }: TestKernel, line: string, answers: readonly Answer[]) {
  const words = line.split(' ');
  const commands = await kernel.host.providers.commands.of('skill_proposals');
  const { command, rest } = matchCommand(commands, words)!;
  const printed: string[] = [];
  const asked: string[] = [];
  const waiting = [...answers];
  const io = {
    print: (text: string) => void printed.push(text),
    error: (text: string) => void printed.push(text),
    json: () => undefined,
    ask: (question: string) => {
      asked.push(question);
      const answer = waiting.shift() ?? null;
      return typeof answer === 'function' ? answer() : Promise.resolve(answer);
    },
    input: { async *[Symbol.asyncIterator](): AsyncGenerator<string> {} },
    interactive: true,
    wantsJson: false,
    quiet: false,
    colour: false,
    columns: 100,
    workingDirectory: '/',
    userId: 'local',
  };
  const code = await command.run(parseCommandInput(command, rest), io, new AbortController().signal);
  return { code: code ?? 0, text: printed.join('\n'), asked };
}

/** What a command answers, or the code of its error. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    return (error as { code: string }).code;
  }
}
