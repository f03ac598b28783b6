import { codeOf, messageOf, type JsonValue } from 'pith';
import { scriptedModel, type ScriptedStep, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { kernelOf } from '../../places.ts';

/** What a command printed as JSON, or the code with which it was refused. */
export interface Said {
  readonly code: number;
  readonly json: JsonValue | undefined;
  readonly text: string;
  readonly error: string | null;
  readonly message: string;
}

export interface SavedKernel {
  readonly pith: TestKernel;
  readonly model: ReturnType<typeof scriptedModel>;
  /** One command as a user, with its JSON. */
  as(userId: string, line: string | readonly string[]): Promise<Said>;
  /** As after a restart, with its services. */
  restart(): Promise<void>;
}

/** An agent that has the tools of saved skills. */
export const HELPER = { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [saved_skills] }\n' };

/** Settings in which the default lane has so many slots. */
export const lanes = (slots: number) => ({
  'pith.yaml': `admins: [admin]\nextensions: { saved_skills: { lanes: { skill-default: { slots: ${slots} } } } }\n`,
});

/** What of Pith is there. Skills that ship name tools of `project_tools`. */
export const ONLY = ['saved_skills', 'orchestrator'];
export const WITH_BUILTINS = { only: [...ONLY, 'project_tools'] };
export const WITH_WEBHOOKS = { only: [...ONLY, 'skill_webhooks'] };

/** A kernel whose services run, with `admin` as its administrator. */
export async function savedKernel(
  script: readonly ScriptedStep[] = [],
  { onKernel, ...options }: TestKernelOptions & { readonly onKernel?: (events: TestKernel['kernel']['events']) => void } = {},
): Promise<SavedKernel> {
  const model = scriptedModel(script);
  const files = { 'pith.yaml': 'admins: [admin]\n', ...options.files };
  const pith = await kernelOf({ model, only: ONLY, ...options, files });
  onKernel?.(pith.kernel.events);
  await pith.kernel.start();
  return {
    pith,
    model,
    async restart() {
      await pith.restart();
      onKernel?.(pith.kernel.events);
      await pith.kernel.start();
    },
    async as(userId, line) {
      try {
        const { code, values, text } = await pith.command(line, { json: true, userId });
        return { code, json: values.at(-1), text, error: null, message: '' };
      } catch (error) {
        return { code: 1, json: null, text: '', error: codeOf(error, 'unknown'), message: messageOf(error) };
      }
    },
  };
}

/** A skill.yml, relative to nothing: written where the kernel's sandbox is. */
export async function saveAs(kernel: SavedKernel, userId: string, name: string, file: object): Promise<Said> {
  await kernel.pith.write(`files/${name}.yml`, JSON.stringify(file));
  return kernel.as(userId, ['saved', 'new', name, '--file', `${kernel.pith.sandbox}/files/${name}.yml`]);
}

export async function editAs(kernel: SavedKernel, userId: string, name: string, file: object): Promise<Said> {
  await kernel.pith.write(`files/edit.yml`, JSON.stringify(file));
  return kernel.as(userId, ['saved', 'edit', name, '--file', `${kernel.pith.sandbox}/files/edit.yml`]);
}
