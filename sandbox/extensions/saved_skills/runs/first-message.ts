import { renderTemplate } from '@pith/guarded-templates';
import type { Inputs } from '../domain/index.ts';

/** What a run is told first: the skill's own message with the inputs in it, else the inputs themselves. */
export async function firstMessage(template: string, inputs: Inputs, names: readonly string[]): Promise<string> {
  if (template !== '') {
    const values = Object.fromEntries(names.map((name) => [name, Object.hasOwn(inputs, name) ? String(inputs[name]) : '']));
    return renderTemplate(template, values, []);
  }
  const given = Object.entries(inputs);
  return given.length === 0 ? 'Run.' : given.map(([name, value]) => `${name}: ${String(value)}`).join('\n');
}
