import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue, ToolResult } from 'pith';
import { testKernel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { digestOf } from '../../../sandbox/extensions/extension_builder/sources.ts';
import { Staging } from '../../../sandbox/extensions/extension_builder/staging.ts';
import { kernelCommands } from '../../../core/cli/index.ts';

/** A real kernel with the builder's tools, as a person's answer lets them through. */
export interface Bench {
  readonly test: TestKernel;
  call(tool: string, input: JsonValue): Promise<ToolResult>;
  /** Calls a tool of any extension as an agent would, behind the gate, with what a person agreed to. */
  use(extension: string, tool: string, input: JsonValue): Promise<ToolResult>;
  stage(id: string, files: Readonly<Record<string, string>>): Promise<void>;
  read(file: string): Promise<string>;
  stop(): Promise<void>;
}

export const CITY_TIME = {
  'manifest.yaml':
    'id: city_time\nname: City time\nversion: 1.0.0\ndescription: Tells the time in a city.\nentrypoint: main.ts\nprovides: [tool]\n',
  'main.ts': toolSource("return { city, time: '12:00' };"),
};

/** A tool extension whose one tool runs `body` with `city`. `before`: what the module does when it is imported. */
export function toolSource(body: string, before = ''): string {
  return `import { defineTool, z, type ToolProvider } from 'pith';
${before}
export default class CityTime implements ToolProvider {
  getTools() {
    return [
      defineTool({
        name: 'city_time',
        description: 'Current time in a city.',
        input: z.object({ city: z.string().min(1).meta({ examples: ['Berlin'] }) }),
        effect: 'read',
        execute: ({ city }) => {
          ${body}
        },
      }),
    ];
  }
}
`;
}

export async function bench(options: TestKernelOptions = {}): Promise<Bench> {
  const test = await testKernel({ commands: kernelCommands, ...options });
  const use = async (extension: string, tool: string, input: JsonValue) => {
    const spec = (await test.kernel.agents.list()).find(({ id }) => id === 'builder_agent')?.spec;
    const turn = { agent: spec, threadId: 'building', userId: 'tester' } as never;
    const { tools } = test.kernel.host.providers;
    const asks = (await tools.of(extension)).find(({ name }) => name === tool)?.needsApproval === 'maybe';
    const said = asks && (await tools.needsApproval(extension, tool, input, turn));
    const approved = typeof said === 'object' ? { approved: said.subject } : {};
    return tools.call(extension, tool, input, { turn, idempotencyKey: 'k', signal: new AbortController().signal, ...approved });
  };
  return {
    test,
    use,
    call: (tool, input) => use('extension_builder', tool, input),
    async stage(id, files) {
      for (const [name, text] of Object.entries(files)) {
        const file = path.join(test.sandbox, '.staging', 'extensions', id, name);
        await mkdir(path.dirname(file), { recursive: true });
        await writeFile(file, text);
      }
    },
    read: (file) => readFile(path.join(test.sandbox, file), 'utf8'),
    stop: () => test.stop(),
  };
}

/** The digest of what is staged, written down as checked: the compiler takes its time, and these tests are not about it. */
export async function passed({ test }: Bench, id = 'city_time'): Promise<string> {
  const dataDirectory = path.join(test.kernel.settings.data_dir, 'extensions', 'extension_builder');
  const staging = new Staging({ dataDirectory, clock: test.kernel.clock }, test.sandbox);
  const digest = digestOf(await staging.sources('extensions', id));
  await staging.remember('extensions', id, digest, true);
  return digest;
}

/** The digest of what passed its check. */
export async function checked({ call }: Bench, id = 'city_time'): Promise<string> {
  const result = await call('check_extension', { id });
  if (!result.ok) throw new Error(result.error.message);
  const { ok, digest, checks } = result.output as { ok: boolean; digest: string; checks: unknown };
  if (!ok) throw new Error(JSON.stringify(checks, null, 2));
  return digest;
}
