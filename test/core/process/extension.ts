import type { TestKernel, TestKernelOptions } from 'pith/testing';
import { kernelOf } from '../../places.ts';

/** A kernel whose extensions run in processes, with an agent `asker` that has their tools. */
export const inProcesses = (options: TestKernelOptions = {}): Promise<TestKernel> =>
  kernelOf({
    isolation: 'process',
    only: [],
    ...options,
    files: { 'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: ["*"] }\n', ...options.files },
  });

/** The manifest of an extension with `main.ts` as its entrypoint. */
export function manifest(id: string, fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return { [`extensions/${id}/manifest.yaml`]: JSON.stringify({ id, version: '1.0.0', entrypoint: 'main.ts', ...fields }) };
}

/** A `main.ts` with this body of its class, which keeps its context as `context`. */
export function main(id: string, body: string, head = ''): Record<string, string> {
  const text = `import { defineTool, defineTopic, PithError, toolError, z } from 'pith';\n${head}\nexport default class {\n  constructor(context) { this.context = context; }\n${body}\n}\n`;
  return { [`extensions/${id}/main.ts`]: text };
}

/** A `main.ts` with these tools, which may use `context`. */
export function tools(id: string, list: string, head = ''): Record<string, string> {
  return main(id, offering(list), head);
}

/** A kernel in whose processes the extension `mine` runs: its manifest has these fields, its class this body. */
export function mine(
  fields: Readonly<Record<string, unknown>>,
  body: string,
  options: TestKernelOptions & { readonly head?: string } = {},
) {
  const { head, files, ...more } = options;
  return inProcesses({ ...more, files: { ...manifest('mine', fields), ...main('mine', body, head), ...files } });
}

/** The same with these tools, which may use `context`. */
export function mineWith(list: string, options: TestKernelOptions & { readonly fields?: object; readonly head?: string } = {}) {
  const { fields, ...more } = options;
  return mine({ provides: ['tool'], ...fields }, offering(list), more);
}

function offering(list: string): string {
  return `getTools() { const { context } = this; return [${list}]; }`;
}
