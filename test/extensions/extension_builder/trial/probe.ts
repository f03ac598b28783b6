import { captureCommand } from '@pith/command-line';
import { testKernel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { kernelCommands } from '../../../../core/cli/index.ts';
import type { TrialReport } from '../../../../sandbox/extensions/extension_builder/trial/report.ts';

export function trialKernel(files?: TestKernelOptions['files']): Promise<TestKernel> {
  return testKernel({ commands: kernelCommands, ...(files === undefined ? {} : { files }) });
}

/** What `pith extensions probe` says of a folder. */
export async function probe({ kernel }: TestKernel, folder: string): Promise<TrialReport & { readonly ok: boolean }> {
  const builder = { getCommands: () => kernel.host.providers.commands.of('extension_builder') };
  await kernel.host.extensions.activate('extension_builder');
  const { values } = await captureCommand(builder, 'extensions probe', { arguments: { dir: folder } }, AbortSignal.timeout(120_000));
  return values.at(-1) as never;
}
