import path from 'node:path';
import { bundle, type BundleRequest } from '../loader/bundle.ts';
import { Problem } from '../kernel/records/problem.ts';
import { placeOfModule, type ModulePlace } from './module-place.ts';

/** What the bundle of a toolset exports as `modules`, one for each `path:Export`. */
export type ToolsetModule =
  | { readonly spec: string; readonly exported: string; load(): Promise<Readonly<Record<string, unknown>>> }
  /** Why it cannot be loaded, as a sentence with its cure. */
  | { readonly spec: string; readonly problem: string };

type ToolsetRequest = Pick<BundleRequest, 'directory' | 'packageRoot' | 'file'>;

export interface ToolsetBundle {
  readonly text: string;
  /** Files that were read, and paths that were looked for; they may lie outside. */
  readonly seen: ReadonlySet<string>;
}

/** All modules as one, which share what they import. One that cannot be bundled is left out with its reason; never throws for that. */
export async function bundleToolset(request: ToolsetRequest, modules: readonly string[]): Promise<ToolsetBundle> {
  const seen = new Set(modules.map((spec) => path.resolve(request.directory, spec.replace(/:[^:]*$/, ''))));
  return { text: await textOf(request, modules, (file) => seen.add(file)), seen };
}

async function textOf(request: ToolsetRequest, modules: readonly string[], seen: (file: string) => void): Promise<string> {
  const places = modules.map((spec) => placeOfModule(request.directory, spec));
  const build = (of: readonly ModulePlace[]) => bundle({ ...request, entry: ENTRY, text: entryOf(of), owner: 'skill', seen });
  try {
    return await build(places);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // Which of them it was shows by bundling each alone.
    return build(
      await Promise.all(places.map(async (place) => ('problem' in place ? place : withProblem(place, await whyNot(build, place))))),
    );
  }
}

/** Names the generated entry in messages. */
const ENTRY = 'toolset.js';

async function whyNot(build: (of: readonly ModulePlace[]) => Promise<string>, place: ModulePlace): Promise<Problem | null> {
  try {
    await build([place]);
    return null;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

function withProblem(place: ModulePlace, why: Problem | null): ModulePlace {
  return why === null ? place : { spec: place.spec, problem: why.message, cure: why.cure ?? 'correct the source' };
}

function entryOf(places: readonly ModulePlace[]): string {
  return `export const modules = [\n${places.map(moduleText).join('\n')}\n];\n`;
}

function moduleText(place: ModulePlace): string {
  const spec = JSON.stringify(place.spec);
  if ('problem' in place) return `  { spec: ${spec}, problem: ${JSON.stringify(`${place.problem}; ${place.cure}`)} },`;
  return `  { spec: ${spec}, exported: ${JSON.stringify(place.exported)}, load: () => import(${JSON.stringify(`./${place.file}`)}) },`;
}
