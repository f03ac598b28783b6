import { captureCommand } from '@pith/command-line';
import { testKernel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { kernelCommands } from '../../../../core/cli/index.ts';
import { AGENT } from '../../../../sandbox/extensions/extension_builder/trial/inside.ts';
import type { TrialReport } from '../../../../sandbox/extensions/extension_builder/trial/report.ts';

export type Probed = TrialReport & { readonly ok: boolean };

export function trialKernel(files?: TestKernelOptions['files']): Promise<TestKernel> {
  return testKernel({ commands: kernelCommands, only: ['extension_builder'], ...(files === undefined ? {} : { files }) });
}

/** What `pith extensions probe` says of a folder. */
export function probe(test: TestKernel, folder: string): Promise<Probed> {
  return probed(test, { arguments: { dir: folder } });
}

/** What a trial does inside, of an extension of these files in this process: without the two processes of `pith` that a whole trial starts. */
export async function probeHere(
  id: string,
  files: Readonly<Record<string, string>>,
  isolation: TestKernelOptions['isolation'] = 'in_process',
): Promise<Probed> {
  const own = Object.entries(files).map(([name, text]) => [`extensions/${id}/${name}`, text] as const);
  await using test = await testKernel({
    commands: kernelCommands,
    isolation,
    flags: { extensions: { [id]: { memory_mb: 128 } } },
    only: ['extension_builder'],
    files: { [`agents/${AGENT}/manifest.yaml`]: `id: ${AGENT}\nagent: { uses_tools: [${id}] }\n`, ...Object.fromEntries(own) },
  });
  return await probed(test, { arguments: { dir: id }, options: { here: true } });
}

async function probed({ kernel }: TestKernel, input: Parameters<typeof captureCommand>[2]): Promise<Probed> {
  const builder = { getCommands: () => kernel.host.providers.commands.of('extension_builder') };
  await kernel.host.extensions.activate('extension_builder');
  const { values } = await captureCommand(builder, 'extensions probe', input, AbortSignal.timeout(120_000));
  return values.at(-1) as never;
}
