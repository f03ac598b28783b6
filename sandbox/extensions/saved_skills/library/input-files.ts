import { stat } from 'node:fs/promises';
import path from 'node:path';
import { PithError } from 'pith';
import type { InputField, Inputs } from '../domain/inputs.ts';
import { isBelow, isNothingThere } from '@pith/safe-files';
import { printableLine } from '@pith/plain-text';

/** Throws `input_invalid` where an input names a file that is not in the project: no model is asked about it. */
export async function checkFiles(fields: readonly InputField[], inputs: Inputs, project: string | null): Promise<void> {
  for (const { name, type } of fields) {
    const value = inputs[name];
    if (type !== 'file' || value === undefined || (await isFileIn(project, String(value)))) continue;
    const message = `there is no file '${printableLine(String(value), 200)}' in the project`;
    throw new PithError('input_invalid', `input '${name}': ${message}`, {
      cure: 'name it by its path from the folder of the project',
      problems: [{ path: [name], message }],
    });
  }
}

async function isFileIn(project: string | null, name: string): Promise<boolean> {
  if (project === null) return false;
  const file = path.resolve(project, name);
  if (!isBelow(file, project)) return false;
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    if (isNothingThere(error)) return false;
    throw error;
  }
}
