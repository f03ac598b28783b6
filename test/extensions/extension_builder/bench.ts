import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestKernel, TestKernelOptions } from 'pith/testing';
import { systemClock } from '@pith/promises';
import { digestOf } from '../../../sandbox/extensions/extension_builder/sources.ts';
import { Staging } from '../../../sandbox/extensions/extension_builder/staging.ts';
import { kernelCommands } from '../../../core/cli/index.ts';
import { kernelOf } from '../../places.ts';
import { type AskedTools, askedTools } from '../asked-tools.ts';

/** A real kernel with the builder's tools, as a person's answer lets them through. */
export interface Bench extends AskedTools {
  readonly test: TestKernel;
  stage(id: string, files: Readonly<Record<string, string>>): Promise<void>;
  read(file: string): Promise<string>;
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
  const test = await kernelOf({
    commands: kernelCommands,
    only: ['builder_agent', 'core_tools', 'extension_builder', 'skill_lint', 'skill_registry'],
    ...options,
  });
  return {
    ...askedTools(test, 'extension_builder'),
    test,
    async stage(id, files) {
      for (const [name, text] of Object.entries(files)) await test.write(`.staging/extensions/${id}/${name}`, text);
    },
    read: (file) => readFile(path.join(test.sandbox, file), 'utf8'),
  };
}

/** The digest of what is staged, written down as checked: the compiler takes its time, and these tests are not about it. */
export async function passed({ test }: Bench, id = 'city_time'): Promise<string> {
  const dataDirectory = path.join(test.kernel.settings.data_dir, 'extensions', 'extension_builder');
  const staging = new Staging({ dataDirectory, clock: systemClock }, test.sandbox);
  const digest = digestOf(await staging.sources('extensions', id));
  await staging.remember(id, digest, true);
  return digest;
}
