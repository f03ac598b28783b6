import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { manifestSchema } from '../../core/trust/index.ts';
import { frontmatter } from '../../sandbox/extensions/agent_files/config.ts';
import { ENVIRONMENT_SETTINGS } from '../../core/declarations/settings.ts';
import { settingsSchema } from '../../core/declarations/settings-schema.ts';
import { agentSkillsSchema } from '../../sandbox/extensions/skill_registry/config.ts';
import { keyTable, rowsOf, schemaOf } from './schema-rows.ts';
import { agentKeySchema } from '../../sandbox/extensions/skill_triggers/config.ts';
import { AGENT_SKILLS, AGENT_TRIGGERS, SKILLS_SETTINGS, skillsSchema } from './skills-settings.ts';

const AGENT_FILE: ReadonlyMap<string, string> = new Map([
  ['name', 'Required.'],
  ['description', 'What it is for.'],
  ['provider', 'What comes before the slash of the model.'],
  ['model', 'An alias, `provider/model`, or the name alone beside `provider`.'],
  ['allow_skills', 'Whether it meets skills.'],
  ['uses_tools', 'As in a manifest; without it `core_tools`.'],
  ['uses_skills', 'As in a manifest.'],
  ['limits', 'As in a manifest.'],
  ['limits.max_turns', 'Model steps in one turn.'],
  ['limits.max_tool_calls', 'Tool calls in one turn.'],
  ['limits.max_tokens', 'Tokens in one turn.'],
  ['limits.time_budget_ms', 'Milliseconds for one turn.'],
]);

/** Every setting, and every key of agents, from the schemas. */
export async function configurationPage(root: string): Promise<string> {
  const skill = await readFile(path.join(root, 'sandbox/skills/extension-development/SKILL.md'), 'utf8');
  return `<!-- made from the schemas by npm run docs -->
# Configuration

Pith works without settings. It reports an unknown key or an invalid value with file, line and the nearest known key. A safeguard is never ignored: a slip of its name, such as \`skills.disable\` or \`isolaton\`, counts as that safeguard, and the narrowest value stands for one that cannot be read (\`enabled: flase\` is off, and switches no [guard](tools.md#guards) off; \`isolation: proces\` is \`process\`). Every other mistake leaves the default.

## Where settings come from

Later ones win, key by key:

1. the defaults below
2. \`~/.pith/config.yaml\`
3. \`sandbox/pith.yaml\`; every setting, commented, is in \`sandbox/pith.sample.yaml\`
4. environment variables
5. options of the command, such as \`--no-skills\`

A running chat or \`pith serve\` takes changes of these files within five seconds. Mistakes in an edit are left out, and the rest counts. While a file cannot be read at all, as with broken YAML, the settings from before the edit stay; a start has none, so every tool asks until the file is correct. Paths are relative to the file that they are in unless the table says otherwise; \`~/\` is the home folder. Keys and passwords are never in settings: \`api_key_env\` names the variable that holds one.

## Settings

${keyTable(
  rowsOf(schemaOf(settingsSchema())).filter(({ key }) => key !== 'skills'),
  new Map(),
)}

Further keys below \`extensions.<id>\` belong to the extension: they override the \`config\` of its manifest, and the extension checks them. An example is \`shell.timeout_seconds\` of \`project_tools\`.

\`\`\`yaml
models:
  default: ollama/qwen3:4b
extensions:
  project_tools:
    shell: { timeout_seconds: 300 }
skills:
  sources: [team-skills]
\`\`\`

## Skills

The block \`skills:\`.

${keyTable(rowsOf(schemaOf(skillsSchema())), SKILLS_SETTINGS)}

## Environment

| variable | sets |
|---|---|
${Object.entries(ENVIRONMENT_SETTINGS)
  .map(([name, [setting, kind]]) => `| \`${name}\` | \`${setting}\`${kind === 'list' ? ', separated by commas' : ''} |`)
  .join('\n')}
| \`PITH_SKILLS_<KEY>\` | \`skills.<key>\`, as JSON or plain text |
| \`PITH_SANDBOX\` | the sandbox, where \`--sandbox\` does not |
| \`PITH_USER\` | who gives commands and messages: the owner of [saved skills](saved-skills.md); default \`local\` |
| \`PITH_MASTER_KEY\`, \`PITH_MASTER_KEY_OLD\` | the key that [seals what saved skills keep](saved-skills.md#encryption), and the former one; \`pith secrets set\` keeps them better |
| \`PITH_TRUST\` | \`1\`: the sandbox is trusted for this process, as with \`--trust\`; see [Trust and security](security.md) |
| \`NO_COLOR\` | no colours |

## Manifest

\`manifest.yaml\` of an agent; [Manifest](../sandbox/skills/extension-development/SKILL.md#manifest) has all keys.

${keyTable(rowsOf(schemaOf(manifestSchema())), manifestMeanings(skill), ({ key }) => /^(?:id|name|version|description|enabled|agent|agent\..*)$/.test(key))}

### Keys under \`agent:\` that the skill registry owns

\`\`\`yaml
agent:
  skills: { mode: catalog, scope: all }
\`\`\`

${keyTable(rowsOf(schemaOf(agentSkillsSchema())), AGENT_SKILLS)}

### The key \`triggers\` under \`agent:\`

With it [a message brings the skills that it needs](skill-modes.md#triggers), and there is no catalog: \`triggers: {}\`.

${keyTable(rowsOf(schemaOf(agentKeySchema())), AGENT_TRIGGERS)}

## AGENT.md

An agent as one Markdown file, \`agents/<id>/AGENT.md\`: frontmatter with these keys, then the instructions.

${keyTable(rowsOf(schemaOf(frontmatter)), AGENT_FILE)}
`;
}

/** The rows of the skill's manifest table. A row of several keys has a part for each, or says the same of each. */
function manifestMeanings(skill: string): ReadonlyMap<string, string> {
  const section = skill.split('\n## Manifest\n')[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return new Map(
    rows.flatMap((row) => {
      const [, keys = '', meaning = ''] = row.split('|');
      const named = [...keys.matchAll(/`([^`]+)`/g)];
      const parts = meaning.trim().split('; ');
      return named.map(
        ([, key = ''], index) => [key, (parts.length === named.length ? parts[index] : undefined) ?? meaning.trim()] as const,
      );
    }),
  );
}
