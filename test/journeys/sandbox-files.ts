/** The texts that journeys write into their sandboxes. */
import { readdirSync } from 'node:fs';

export function skillFile(id: string, description: string, body: string): string {
  return `---\nname: ${id}\ndescription: ${description}\n---\n\n${body}\n`;
}

export interface AgentFile {
  readonly uses_tools?: readonly string[];
  readonly uses_skills?: readonly string[];
  readonly instructions?: string;
  readonly skills?: Readonly<Record<string, unknown>>;
  readonly delegates_to?: readonly string[];
  /** Keys of extensions, and slips. */
  readonly [key: string]: unknown;
}

export function agentFile(id: string, agent: AgentFile = {}): string {
  return JSON.stringify({ id, agent }, null, 2); // JSON is YAML
}

export interface ExtensionFiles {
  readonly provides: readonly string[];
  /** The text of main.ts. */
  readonly main: string;
  readonly manifest?: Readonly<Record<string, unknown>>;
}

/** `extensions/<id>/manifest.yaml` and `main.ts`. */
export function extensionFiles(id: string, { provides, main, manifest }: ExtensionFiles): Record<string, string> {
  return {
    [`extensions/${id}/manifest.yaml`]: JSON.stringify({ id, entrypoint: 'main.ts', provides, ...manifest }, null, 2),
    [`extensions/${id}/main.ts`]: main,
  };
}

/** An extension that says `text` in the system text at `priority`. */
export function contextExtension(id: string, priority: number, text: string): Record<string, string> {
  return extensionFiles(id, {
    provides: ['context'],
    main: `export default class {\n  contextPriority = ${priority};\n  async getContext() { return ${JSON.stringify(text)}; }\n}\n`,
  });
}

/** An extension with one tool of no input that answers `body`, an expression. */
export function toolExtension(id: string, tool: string, body: string): Record<string, string> {
  return extensionFiles(id, {
    provides: ['tool'],
    main: [
      "import { defineTool, z } from 'pith';",
      'export default class {',
      `  getTools() { return [defineTool({ name: '${tool}', description: 'The tool ${tool}.', input: z.object({}), effect: 'read', execute: async () => ${body} })]; }`,
      '}',
      '',
    ].join('\n'),
  });
}

/** The settings of a sandbox without what ships but these, which run inside the kernel: for kernels that start often. */
export const bare = (
  ids: readonly string[] = [],
  { extensions = {}, ...more }: { readonly extensions?: object; readonly [key: string]: unknown } = {},
) => ({
  'pith.yaml': JSON.stringify({
    ...more,
    extensions: {
      ...Object.fromEntries(readdirSync('sandbox/extensions').map((id) => [id, { enabled: false }])),
      ...Object.fromEntries(ids.map((id) => [id, { isolation: 'in_process' }])),
      ...extensions,
    },
  }),
});
