import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { CommandIO } from 'pith';
import { scriptedModel, type ScriptedStep, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { onTestFinished } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { agentFile, skillFile } from '../../journeys/sandbox-files.ts';
import { kernelOf } from '../../places.ts';

export const FILES = {
  'pith.yaml': 'default_agent: main\nadmins: [admin]\n',
  'agents/main/manifest.yaml': agentFile('main', {
    uses_tools: ['skill_registry', 'notes'],
    delegates_to: ['helper'],
    skills: { allow: ['tea', 'coffee', 'secret', 'draft'] },
  }),
  'agents/helper/manifest.yaml': agentFile('helper', {}),
  'skills/tea/SKILL.md': skillFile('tea', 'Makes tea. Use for hot drinks.', 'Boil water first.'),
  'skills/tea/references/pots.md': 'Use a warm pot.\n',
  'skills/tea/assets/leaf.bin': new Uint8Array([0, 255, 1]),
  'skills/tea/scripts/boil.sh': '#!/bin/sh\nexit 7\n',
  'skills/tea/evals/cases.yaml': 'held: out\n',
  'skills/coffee/SKILL.md': skillFile('coffee', 'Makes coffee.', 'Grind beans.'),
  'recipes/brew.md':
    '---\ndescription: Brew something\narguments:\n  what:\n    description: The drink\n  how:\n    default: "slowly"\n---\nBrew {{what}} {{how}}.\n',
};

export const ONLY = ['skill_registry', 'mcp_server', 'recipes', 'saved_skills'];

export async function kernelWith(script: readonly ScriptedStep[] = [], options: TestKernelOptions = {}): Promise<TestKernel> {
  const model = scriptedModel(script);
  return kernelOf({ model, only: ONLY, commands: kernelCommands, ...options, files: { ...FILES, ...options.files } });
}

/** A client of `pith mcp serve` in this process. `version`: the only one of the protocol that it speaks; default: as the package negotiates it. */
export async function connected(
  pith: TestKernel,
  { userId = 'local', args = {}, version }: { userId?: string; args?: Readonly<Record<string, string>>; version?: string } = {},
) {
  const { commands } = pith.kernel.host.providers;
  const command = (await commands.of('mcp_server')).find(({ path }) => path === 'mcp serve')!;
  const [toServer, toClient] = [new PassThrough(), new PassThrough()];
  const errors: string[] = [];
  const io = {
    print: (line: string) => void toClient.write(line),
    error: (line: string) => void errors.push(line),
    ask: async () => null,
    interactive: false,
    wantsJson: false,
    userId,
    shell: { piped: { bytes: toServer, mayBeIdle: false }, plain: false },
  } as unknown as CommandIO;
  const stop = new AbortController();
  const served = command.run({ arguments: {}, options: args }, io, stop.signal);
  const client = new Client({ name: 'test', version: '1' }, version === undefined ? {} : { supportedProtocolVersions: [version] });
  await Promise.race([served, client.connect(new StdioServerTransport(toClient, toServer))]);
  onTestFinished(async () => {
    stop.abort();
    await served;
  });
  return {
    client,
    errors,
    /** Writes to its input what need not be a message. */
    write: (text: string) => void toServer.write(text),
    /** As a client ends it. */
    async end() {
      toServer.end();
      await served;
    },
    /** The text of a tool's answer. */
    async call(name: string, input: Readonly<Record<string, unknown>> = {}) {
      const answer = await client.callTool({ name, arguments: input });
      const [first] = answer.content as readonly { readonly text: string }[];
      return { text: first?.text ?? '', isError: answer.isError === true, structured: answer.structuredContent };
    },
  };
}
