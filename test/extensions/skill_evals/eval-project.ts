import { onTestFinished } from 'vitest';
import { type ChatBody, type OpenAiServer, startOpenAiServer } from '../../fixtures/openai-server.ts';
import { pithHere } from '../../journeys/pith-here.ts';
import { folderWith } from '../../places.ts';
import type { ScriptedReply } from '../../fixtures/scripted-server.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';

/** A project with one skill, `letters`, whose body says which greeting to use, and a model that does as it reads. */
export interface EvalProject {
  readonly folder: string;
  readonly server: OpenAiServer;
  pith(...argv: readonly string[]): ReturnType<typeof pithHere>;
}

export interface EvalProjectOptions {
  readonly evals: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Lines of pith.yaml. */
  readonly settings?: string;
  readonly reply?: (body: ChatBody) => ScriptedReply;
}

/** Loads the skill where it is offered one, and answers with the greeting that it read. */
export function obedient(body: ChatBody): ScriptedReply {
  const said = JSON.stringify(body.messages);
  if (said.includes('You judge the work'))
    return { text: said.includes('AHOY') ? '1. PASS It greets as a sailor.' : '1. FAIL There is no sailor.' };
  const isOffered = said.includes('`letters`') && body.tools?.some((tool) => tool.function.name === 'read_skill') === true;
  const [, greeting = 'hello'] = /GREET WITH (\w+)/.exec(said) ?? [];
  return isOffered && greeting === 'hello'
    ? { calls: [{ name: 'read_skill', input: { skill_id: 'letters' } }] }
    : { text: `${greeting}, dear reader` };
}

export const letters = (greeting: string) =>
  skillText({
    name: 'letters',
    description: 'Writes letters. Use when somebody wants to write a letter.',
    body: `GREET WITH ${greeting}\n`,
  });

export async function evalProject({ evals, files = {}, settings = '', reply = obedient }: EvalProjectOptions): Promise<EvalProject> {
  const server = await startOpenAiServer();
  onTestFinished(() => server.close());
  server.script(...Array.from({ length: 400 }, () => reply));
  const folder = folderWith({
    'sandbox/pith.yaml': `default_agent: writer
models: { default: openai/test-model }
providers: { openai: { base_url: "${server.url}" } }
skills: { sources: { replace: [sandbox/skills] } }
${settings}`,
    'sandbox/agents/writer/manifest.yaml': 'id: writer\nagent: { uses_tools: [skill_registry], instructions: Answer briefly. }\n',
    'sandbox/skills/letters/SKILL.md': letters('AHOY'),
    'sandbox/skills/letters/evals/evals.yaml': evals,
    ...files,
  });
  return { folder, server, pith: (...argv) => pithHere([...argv, '--trust'], { cwd: folder, env: { OPENAI_API_KEY: 'sk-test' } }) };
}
