import { readFile } from 'node:fs/promises';
import path from 'node:path';

const FURTHER: ReadonlyMap<string, string> = new Map([
  ['Catalog', 'one line for each skill that an agent may load, in the system text'],
  ['Bound skill', "a skill in an agent's `uses_skills`: its body is in the instructions of every turn"],
  ['Instructions', 'bodies of bound skills, then the prompt template, then inline instructions'],
  ['Source', 'a folder in which skills are found; of two skills with one id, that of the higher source is used'],
  ['Mode', 'how an agent meets its skills: `catalog`, `single_tool`, `triggers` or `none`'],
  ['Recipe', 'a named text with blanks that a person fills in and says as a message'],
  ['Trigger', 'words of a skill that, in a message, bring its text beside that message'],
  ['Toolset', 'modules of a skill that give tools; they run in a separate process'],
  ['Trust', "a person's yes to a folder or to skills of a project, after they were shown; without it nothing of them is used"],
  ['Scan', 'a search of sources for skills, or of the files of a skill for dangers before it is trusted or installed'],
  ['Offered', 'the state of a skill that may be loaded; others are shadowed, disabled, untrusted, invalid or a draft'],
  ['Shipped', "what comes with Pith: its own `sandbox/`, a layer below the user's"],
  ['Idle', 'the state of an extension that is declared and has not been needed yet: no code of it is loaded'],
  ['Degraded', 'the state of an agent that works without something that it names, and says so'],
  ['Tier', 'where the code of an extension runs: in the kernel or in a separate process'],
  ['Dynamic extension', 'one that is declared by another extension and not by a folder: `<word>:<name>`, such as `toolset:dice`'],
  ['Effect', 'what a tool does to the world: `read`, `idempotent` or `write`; decides what a resumed turn may repeat'],
  ['Guard', 'an extension that is asked before each tool call, and may refuse it or have a person asked'],
  ['Banner', 'lines of an extension for the person, where a conversation begins'],
  ['Attempt', "one call of a job's handler; a failed one is tried again, and one that died with its process is a *loss*"],
  ['Cancellation', 'the end of open questions, of a job, a task or a run, because a person or a caller wants none of it any more'],
  ['Claimant', 'the process that carries out a run; *waiters* wait for the end of the run'],
  ['Declaration', 'what a folder, or another extension (*dynamic*), says about an extension before any of its code runs'],
  ['Dead', 'the end of a job that is not tried again until a person says so'],
  [
    'Fallback',
    'what is used in place of something that cannot be used: the last good version of an extension, a line for a text without room',
  ],
  ['Fence', 'how often a job was taken; what an older attempt writes is refused'],
  ['Hold', 'until it is released, no job of a name, lane or owner begins; people say *pause*'],
  ['Lease', 'a claim that runs out by itself; the *stop reason* says why a process gave its run up'],
  ['Load status', 'whether a conversation already has the text of a skill: new, same or changed'],
  ['Overridable', 'of a command or tool: it gives way to every other of that name'],
  ['Pending version', 'the version of an extension that is being loaded'],
  ['Persistence', 'in findings: what a skill leaves behind so that it starts again by itself'],
  ['Raw argument', "what is typed after a command's name, as one argument and as it is"],
  ['Supervised process', 'one that cannot outlive who started it and keeps to limits'],
  ['Weakened', 'of a safeguard: a setting of the sandbox allows more than its default'],
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
