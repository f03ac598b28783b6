import SkillStats from '../../sandbox/extensions/skill_stats/main.ts';
import { z } from 'zod';
import { config as embedding } from '../../sandbox/extensions/embedding/config.ts';
import SkillInstall from '../../sandbox/extensions/skill_install/main.ts';
import { configSchema } from '../../sandbox/extensions/skill_registry/config.ts';
import { configSchema as scripts } from '../../sandbox/extensions/skill_scripts/config.ts';
import { configSchema as search } from '../../sandbox/extensions/skill_search/config.ts';
import { configSchema as triggers } from '../../sandbox/extensions/skill_triggers/config.ts';

/** The block `skills:`, of which each extension of the family checks its own keys. */
export function skillsSchema() {
  return z.strictObject({
    ...configSchema().shape,
    ...SkillInstall.config.shape,
    ...SkillStats.config.shape,
    ...search().shape,
    ...scripts().shape,
    ...triggers().shape,
    embedding: embedding.shape.embedding,
  });
}

/** What the keys of the block `skills:` mean. */
export const SKILLS_SETTINGS: ReadonlyMap<string, string> = new Map([
  [
    'enabled',
    'false leaves out the catalog, the skill tools, bound skills and what skills run; `--no-skills` does the same for one command.',
  ],
  ['allowed', 'Ids that may be used; empty means all.'],
  ['disabled', 'Ids that may not be used.'],
  [
    'enable',
    'Ids of skills that are off by default (`default_enabled: false`, `disable-model-invocation: true`) and wanted. Changes nothing else.',
  ],
  [
    'sources',
    'Folders of skills beside the default ones; `{ replace: […] }` takes the place of all of them. Relative to the project, the folder of the sandbox.',
  ],
  ['skills_path', 'One more folder of skills.'],
  [
    'poll_seconds',
    'Seconds between looks at the folders, more where a look takes over a hundredth of that; 0 switches them off. A turn looks anyway.',
  ],
  [
    'history_skills',
    'How many skills of `sandbox/skills` and `~/.pith/skills` get a history in the background. Others get one when they are first loaded, changed by a command, or asked for.',
  ],
  [
    'trust',
    'Which changes of a trusted project source are asked about again: `ask` all, `auto` those of links, scripts and toolsets. See [Get skills](install-skills.md).',
  ],
  [
    'new_skills',
    'What becomes of a new skill that an agent writes: `ask` keeps it as a draft that nothing offers until you accept it, `auto` accepts at once what is text only, comes from a conversation that read nothing from outside, and gains by its own cases; `never` refuses it.',
  ],
  ['trusted_links', 'Folders outside of a source to which its links may lead.'],
  [
    'private_origins',
    'Addresses outside of the public internet that `pith skills update` may fetch from, such as `https://git.example.internal`. What you type to `pith skills install` needs no entry.',
  ],
  ['stats_days', 'How many days the use of skills in each turn is kept (`pith skills stats`); 0 records nothing.'],
  ['max_skills', 'Mode `triggers`: how many skills one message brings, beside those that it names. For agents that say nothing else.'],
  ['ranker', 'The extension whose [ranker](search.md#your-own-ranker) finds skills; null: only words shared with ids, names and tags do.'],
  [
    'embedding',
    'Where an [embedding model](search.md#embeddings) is set up: `measured` leaves out one that makes the order of your examples worse, `always` takes it, `off` asks for no vectors.',
  ],
  [
    'learn_examples',
    "Whether a person's text for which a skill was loaded helps to find that skill again, for 90 days. No ranker or embedding model of others gets it. `pith skills forget` removes what was learned.",
  ],
  ['scripts', 'Limits of skill scripts.'],
  ['scripts.timeout_s', 'Seconds until a script is ended.'],
  ['scripts.max_output_bytes', 'Bytes of output that are read.'],
  ['scripts.max_args', 'Arguments of one call.'],
  ['scripts.max_arg_bytes', 'Bytes of all arguments of one call.'],
  ['scripts.sandbox', 'What confines a script: `bubblewrap`, or `none`, and it can do all that you can.'],
  ['scripts.approval', 'Whether a person is asked before a script runs: `ask` or `never`.'],
  ['scripts.env', 'Names of the environment and of stored secrets that a script may have, where its skill asks for them.'],
]);

/** What the keys of `agent.triggers` mean. */
export const AGENT_TRIGGERS: ReadonlyMap<string, string> = new Map([
  ['max_skills', 'How many skills one message brings, beside those that it names; without it, `skills.max_skills`.'],
]);

/** What the keys of `agent.skills` mean. */
export const AGENT_SKILLS: ReadonlyMap<string, string> = new Map([
  [
    'mode',
    'How the agent meets skills. `catalog`: one line for each, and tools to read them; `single_tool`: one tool that lists them; `none`: not at all; `triggers`: as with the key `triggers`.',
  ],
  ['allow', 'Patterns over ids, names and `source/id`; `*` stands for any text.'],
  ['deny', 'As `allow`; what matches is left out.'],
  ['scope', '`declared`: only what the manifest itself names.'],
  ['max_skills', 'With `mode: triggers`: as `max_skills` of the key `triggers`.'],
  ['budget_tokens', 'Tokens of the catalog, from 100 to 20,000; without it, 1 % of the window of the model, from 600 to 2,000.'],
  ['learn_examples', 'false: nothing is learned from its turns.'],
  [
    'pinned',
    'Skills that keep their line when the catalog does not fit: ids or patterns as in `allow`. `pith doctor` names those that do not exist.',
  ],
]);
