import path from 'node:path';
import type { BroughtExtensions } from '../contract/index.ts';
import { type Declaration, shortId } from '../declarations/index.ts';
import { Problem } from '../kernel/index.ts';
import { BROUGHT_ENTRY } from './brought.ts';
import { bundle, type BundleRequest } from './bundle.ts';

type BroughtModule = Parameters<BroughtExtensions['open']>[0]['modules'][number];
type BroughtCode = NonNullable<Declaration['brought']>;
type Request = Pick<BundleRequest, 'directory' | 'packageRoot' | 'file'>;

/**
 * All modules as one, which share what they import. One that cannot be bundled is left out with its reason; never throws for that.
 * `seen`: files that were read, and paths that were looked for; they may lie outside.
 */
export async function bundleBrought(
  request: Request,
  id: string,
  { by, entry, modules }: BroughtCode,
): Promise<{ readonly text: string; readonly seen: ReadonlySet<string> }> {
  const seen = new Set(modules.flatMap((module) => ('file' in module ? path.resolve(request.directory, module.file) : [])));
  const build = (of: readonly BroughtModule[]) =>
    bundle({
      ...request,
      entry: BROUGHT_ENTRY,
      text: `import make from 'pith/${by}';\nexport default await make(${JSON.stringify(shortId(id))}, [\n${of.map(textOf).join('\n')}\n]);\n`,
      owner: id.slice(0, id.indexOf(':')),
      contracts: { [by]: { file: entry } },
      seen: (file) => seen.add(file),
    });
  try {
    return { text: await build(modules), seen };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // Which of them it was shows by bundling each alone.
    const whole = modules.map(async (module) => ('problem' in module ? module : { ...module, ...(await whyNot(build, module)) }));
    return { text: await build(await Promise.all(whole)), seen };
  }
}

async function whyNot(
  build: (of: readonly BroughtModule[]) => Promise<string>,
  module: BroughtModule,
): Promise<{ readonly problem: string } | null> {
  try {
    await build([module]);
    return null;
  } catch (error) {
    if (error instanceof Problem) return { problem: `${error.message}; ${error.cure ?? 'correct the source'}` };
    throw error;
  }
}

function textOf(module: BroughtModule): string {
  const { name } = module;
  if ('problem' in module) return `  ${JSON.stringify({ name, problem: module.problem })},`;
  return `  { name: ${JSON.stringify(name)}, load: () => import(${JSON.stringify(`./${module.file}`)}) },`;
}
