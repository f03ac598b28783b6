import type { CommandIO } from 'pith';
import type { SavedSkill, SkillFile } from '../domain/index.ts';

/** Asks a person what a skill is made of; what they leave empty stays. null: they left. */
export async function askSkill(io: CommandIO, before: SavedSkill | null): Promise<SkillFile | null> {
  io.print(before === null ? 'A skill needs instructions; the rest may stay empty.' : 'Enter keeps what there is.');
  const prompt = await io.ask(before === null ? 'Instructions (what it does, in a few sentences):' : 'Instructions:');
  if (prompt === null || (before === null && prompt.trim() === '')) return null;
  const description = await io.ask('What it does, in one line for people who choose it:');
  if (description === null) return null;
  const tools = await io.ask('Tools it may call, as extension/tool, separated by commas:');
  if (tools === null) return null;
  const inputs = await io.ask(
    'Inputs, as name:type (string, int, float, bool, user, channel, url), separated by commas; add ! to a required one, as in city:string!:',
  );
  if (inputs === null) return null;
  const listed = (text: string) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  return {
    ...(prompt.trim() === '' ? {} : { system_prompt: prompt.trim() }),
    ...(description.trim() === '' ? {} : { description: description.trim() }),
    ...(tools.trim() === '' ? {} : { tools: listed(tools) }),
    ...(inputs.trim() === '' ? {} : { input_schema: listed(inputs).map(fieldOf) }),
  };
}

function fieldOf(text: string): SavedSkill['input_schema'][number] {
  const [name = '', type = 'string'] = text.replace(/!$/, '').split(':', 2);
  return {
    name: name.trim(),
    description: '',
    type: type.trim() as SavedSkill['input_schema'][number]['type'],
    required: text.endsWith('!'),
    default: null,
    choices: [],
  };
}
