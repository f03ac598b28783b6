import { readFile } from 'node:fs/promises';
import path from 'node:path';

const FURTHER: ReadonlyMap<string, string> = new Map([
  ['Catalog', 'one line for each skill that an agent may load, in the system text'],
  ['Bound skill', "a skill in an agent's `uses_skills`: its body is in the instructions of every turn"],
  ['Instructions', 'bodies of bound skills, then the prompt template, then inline instructions'],
  ['Source', 'a folder in which skills are found; of two skills with one id, that of the higher source is used'],
  ['Mode', 'how an agent meets its skills: `catalog`, `single_tool`, `triggers` or `none`'],
  ['Recipe', 'a named text with blanks that a person fills in and says as a message'],
  ['Trigger', 'words of a skill that, standing in a message, bring its text beside that message'],
  ['Toolset', 'modules of a skill that give tools; they run in a separate process'],
  ['Trust', "a person's yes to a folder or to skills of a project, after they were shown; without it nothing of them is used"],
  ['Scan', 'a reading of the files of a skill for dangers, before it is trusted or installed'],
  ['Offered', 'the state of a skill that may be loaded; others are shadowed, disabled, untrusted, invalid or a draft'],
  ['Shipped', "what comes with Pith: its own `sandbox/`, a layer below the user's"],
  ['Idle', 'the state of an extension that is declared and has not been needed yet: no code of it is loaded'],
  ['Degraded', 'the state of an agent that works without something that it names, and says so'],
  ['Tier', 'where the code of an extension runs: in the kernel or in a separate process'],
  ['Effect', 'what a tool does to the world: `read`, `idempotent` or `write`; decides what a resumed turn may repeat'],
  ['Reference', 'the name of a model: `provider/model`; an *alias* such as `default` stands for one'],
]);

/** The words at the head of the contract, and some that the guides use. */
export async function glossaryPage(root: string): Promise<string> {
  const contract = await readFile(path.join(root, 'core/contract/index.ts'), 'utf8');
  const words = [...contract.matchAll(/^ \* - \*\*([^*]+)\*\*: (.+)$/gm)].map(
    ([, word = '', meaning = '']) => [word, meaning.replace(/\.$/, '')] as const,
  );
  if (words.length < 10) throw new Error('the head of core/contract/index.ts has no list of words');
  const rows = [...words, ...FURTHER].sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  return `<!-- made from core/contract/index.ts by npm run docs -->
# Glossary

Code, messages and pages use these words, and no others for the same things.

| word | is |
|---|---|
${rows.map(([word, meaning]) => `| **${word}** | ${meaning} |`).join('\n')}
`;
}
