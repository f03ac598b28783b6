import type { CommandIO } from 'pith';
import { coerce, type GivenInputs, type InputField } from '../domain/index.ts';

/** Asks a person for what a skill needs and was not given, one input after the other. null: they left. */
export async function askInputs(fields: readonly InputField[], given: GivenInputs, io: CommandIO): Promise<GivenInputs | null> {
  const answers: Record<string, string> = {};
  for (const field of fields) {
    if (!io.interactive || !field.required || field.default !== null || given[field.name] !== undefined) continue;
    const answer = await askOne(field, io);
    if (answer === null) return null;
    answers[field.name] = answer;
  }
  return { ...given, ...answers };
}

async function askOne({ name, description, type, choices }: InputField, io: CommandIO): Promise<string | null> {
  const question = `${description === '' ? name : `${description} (${name})`}${type === 'string' || choices.length > 0 ? '' : `, ${type}`}:`;
  for (;;) {
    const answer = await io.ask(question, choices.length > 0 ? { choices } : {});
    if (answer === null || answer.trim() === '') return null;
    const read = coerce(type, answer);
    if ('value' in read) return answer;
    io.print(`It ${read.problem}`);
  }
}
