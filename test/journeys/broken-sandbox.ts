import { execFileSync } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { agentFile, contextExtension, extensionFiles, skillFile, toolExtension } from './sandbox-files.ts';

/** One broken neighbour and what `pith doctor` must say of it. */
export interface Neighbour {
  readonly id: string;
  readonly kind: 'extension' | 'agent' | 'skill' | 'settings';
  readonly files: Readonly<Record<string, string>>;
  readonly code: string;
  readonly state?: 'failed' | 'blocked' | 'degraded';
  /** What reason and cure must hold. */
  readonly says: RegExp;
  /** `file` or `file:line`, below the sandbox. */
  readonly at: string;
}

const klass = (body: string) => `export default class {\n${body}\n}\n`;
const EMPTY = klass('  getTools() { return []; }');
type Told = readonly [code: string, says: RegExp, at: string];
const extension = (id: string, [code, says, at]: Told, files: Readonly<Record<string, string>>): Neighbour => {
  const state = code === 'dependency_missing' || code === 'dependency_failed' ? 'blocked' : 'failed';
  return { id, kind: 'extension', code, says, at: `extensions/${id}/${at}`, files, state };
};
/** With this manifest. */
const manifest = (id: string, told: Told, text: string) =>
  extension(id, told, { [`extensions/${id}/manifest.yaml`]: text, [`extensions/${id}/main.ts`]: EMPTY });
/** A provider of tools with this code. */
const tool = (id: string, told: Told, main: string, more?: Record<string, unknown>) =>
  extension(id, told, extensionFiles(id, { provides: ['tool'], main, manifest: more }));
const agent = (id: string, [code, says, at]: Told, files: Readonly<Record<string, string>>): Neighbour => ({
  id,
  kind: 'agent',
  code,
  says,
  at: `agents/${id}/${at}`,
  files: Object.fromEntries(Object.entries(files).map(([name, text]) => [`agents/${id}/${name}`, text])),
  state: code.startsWith('prompt_') ? 'failed' : 'degraded',
});
const skill = (id: string, code: string, says: RegExp, text: string): Neighbour => {
  const file = `skills/${id}/SKILL.md`;
  return { id, kind: 'skill', code, says, at: `${file}:1`, files: { [file]: text } };
};
const CYCLE: Told = ['dependency_cycle', /cycle_one.*cycle_two|cycle_two.*cycle_one/su, 'manifest.yaml'];
const SCHEMA =
  "import { z } from 'pith';\n" + klass('  static config = z.strictObject({ colour: z.enum(["red"]) });\n  getTools() { return []; }');
const ODD_NAME = `import { defineTool, z } from 'pith';
${klass("  getTools() { return [defineTool({ name: 'not a name', description: 'x', input: z.object({}), execute: () => 1 })]; }")}`;
const throwing = (method: string, why: string) => klass(`  ${method} { throw new Error('${why}'); }\n  getTools() { return []; }`);

export const NEIGHBOURS: readonly Neighbour[] = [
  // manifests
  manifest('bad_yaml', ['manifest_invalid', /./u, 'manifest.yaml:3'], 'id: bad_yaml\nprovides: [tool\nentrypoint: "main.ts\n'),
  manifest(
    'typo_key',
    ['unknown_key', /'provide'.*did you mean 'provides'/su, 'manifest.yaml:3'],
    'id: typo_key\nentrypoint: main.ts\nprovide: [tool]\n',
  ),
  manifest(
    'bad_value',
    ['manifest_invalid', /tools.*(?:tool|one of)/su, 'manifest.yaml:3'],
    'id: bad_value\nentrypoint: main.ts\nprovides: [tools]\n',
  ),
  manifest('other_id', ['id_mismatch', /somebody_else/u, 'manifest.yaml:1'], 'id: somebody_else\nentrypoint: main.ts\nprovides: [tool]\n'),
  manifest('not_a_map', ['manifest_invalid', /./u, 'manifest.yaml:1'], '- one\n- two\n'),
  manifest('no_provides', ['manifest_invalid', /provides/u, 'manifest.yaml'], 'id: no_provides\nentrypoint: main.ts\n'),
  // order
  tool('cycle_one', CYCLE, klass(''), { depends_on: ['cycle_two'] }),
  tool('cycle_two', CYCLE, klass(''), { depends_on: ['cycle_one'] }),
  tool('lonely', ['dependency_missing', /skill_registri.*skill_registry/su, 'manifest.yaml'], klass(''), {
    depends_on: ['skill_registri'],
  }),
  tool('dependent', ['dependency_failed', /throws_import/u, 'manifest.yaml'], EMPTY, { depends_on: ['throws_import'] }),
  // code
  extension('no_entry', ['entrypoint_missing', /elsewhere\.ts/u, 'manifest.yaml'], {
    'extensions/no_entry/manifest.yaml': 'id: no_entry\nentrypoint: elsewhere.ts\nprovides: [tool]\n',
  }),
  tool('syntax', ['bundle_failed', /./u, 'main.ts:2'], 'export default class {\n  getTools( { return [] }\n}\n'),
  tool('no_export', ['import_failed', /default.*main\.ts/su, 'manifest.yaml'], 'export const nothing = 1;\n'),
  tool(
    'trespass',
    ['import_forbidden', /own files|other extension|outside/u, 'main.ts:1'],
    "import other from '../kind/main.ts';\nexport default other;\n",
  ),
  tool('throws_import', ['import_failed', /boom-import/u, 'main.ts'], "throw new Error('boom-import');\n" + klass('')),
  tool('throws_new', ['construct_failed', /boom-construct/u, 'main.ts:2'], throwing('constructor()', 'boom-construct')),
  tool('throws_init', ['initialize_failed', /boom-initialize/u, 'main.ts:2'], throwing('async initialize()', 'boom-initialize')),
  tool('misspelt', ['provides_mismatch', /'getTools'.*'getTool'/su, 'manifest.yaml'], klass('  getTool() { return []; }')),
  tool('bad_config', ['config_invalid', /colour/u, 'manifest.yaml'], SCHEMA, { config: { colour: 'blue' } }),
  tool('bad_tool_name', ['tool_name_invalid', /not a name/u, 'manifest.yaml'], ODD_NAME),
  // agents; another manifest cannot be read, and might own the key of the first
  agent('typo_agent', ['agent_key_unowned', /uses_tool.*did you mean 'uses_tools'/su, 'manifest.yaml:3'], {
    'manifest.yaml': 'id: typo_agent\nagent:\n  uses_tool: []\n',
  }),
  agent('lost_tool', ['name_unknown', /core_tool.*core_tools/su, 'manifest.yaml:3'], {
    'manifest.yaml': 'id: lost_tool\nagent:\n  uses_tools: [core_tool]\n',
  }),
  agent('lost_skill', ['skill_not_found', /code-reviw.*code-review/su, 'manifest.yaml:3'], {
    'manifest.yaml': 'id: lost_skill\nagent:\n  uses_skills: [code-reviw]\n',
  }),
  agent('lost_friend', ['name_unknown', /orchestrater.*orchestrator/su, 'manifest.yaml:3'], {
    'manifest.yaml': 'id: lost_friend\nagent:\n  delegates_to: [orchestrater]\n',
  }),
  agent('odd_symbol', ['prompt_symbol_unknown', /agnet/u, 'prompt.jinja2:2'], {
    'manifest.yaml': agentFile('odd_symbol'),
    'prompt.jinja2': 'One line.\nYou are {{ agnet.name }}.\n',
  }),
  agent('odd_prompt', ['prompt_invalid', /./u, 'prompt.jinja2:2'], {
    'manifest.yaml': agentFile('odd_prompt'),
    'prompt.jinja2': 'One line.\n{% if agent %}never closed\n',
  }),
  agent('odd_file', ['unknown_key', /modle.*did you mean 'model'/su, 'AGENT.md:3'], {
    'AGENT.md': '---\nname: odd_file\nmodle: fast\n---\nBe odd.\n',
  }),
  // skills
  skill('no-frontmatter', 'frontmatter_and_text_missing', /frontmatter/u, '# Only a heading\n'),
  skill('no-description', 'description_missing', /description/u, '---\nname: no-description\n---\n'),
  skill('unclosed', 'frontmatter_unclosed', /never closed/u, '---\nname: unclosed\ndescription: Goes on and on.\n\nBody.\n'),
  // settings
  {
    id: 'pith.yaml',
    kind: 'settings',
    code: 'unknown_key',
    says: /default_agnt.*did you mean 'default_agent'/su,
    at: 'pith.yaml:2',
    files: { 'pith.yaml': '# settings\ndefault_agnt: orchestrator\n' },
  },
];

/** Neighbours that are healthy until they are used, and healthy ones that must not suffer. */
const OTHERS: Readonly<Record<string, string>> = {
  ...toolExtension('kind', 'kind_tool', "'kindness'"),
  ...toolExtension('tool_throws', 'throwing_tool', "{ throw new Error('boom-tool'); }"),
  ...toolExtension('tool_odd', 'odd_tool', '(() => () => 1)()'),
  ...contextExtension('kind_context', 70, 'KIND-CONTEXT'),
  ...usedContext('context_throws', "throw new Error('boom-context')"),
  ...usedContext('context_hangs', 'return new Promise(() => {})'),
  'skills/good/SKILL.md': skillFile('good', 'A good skill.', 'GOOD-BODY'),
  'skills/crlf/SKILL.md': '\uFEFF---\r\nname: crlf\r\ndescription: Has a mark and other line ends: still good.\r\n---\r\n\r\nBody.\r\n',
  'skills/empty-folder/notes.txt': 'nothing to see',
};

export const BROKEN_SANDBOX: Readonly<Record<string, string>> = Object.assign(
  {},
  OTHERS,
  ...NEIGHBOURS.map(({ files }) => files),
) as Record<string, string>;

/** What no list of texts can hold: a loop of links, a folder and a pipe where a file should be. */
export async function addOddFiles(sandbox: string): Promise<void> {
  const skills = path.join(sandbox, 'skills');
  await mkdir(path.join(skills, 'folder-as-file', 'SKILL.md'), { recursive: true });
  await mkdir(path.join(skills, 'pipe'), { recursive: true });
  execFileSync('mkfifo', [path.join(skills, 'pipe', 'SKILL.md')]);
  await symlink('.', path.join(skills, 'loop'));
  await symlink('/etc', path.join(skills, 'way-out'));
  await symlink('nowhere', path.join(skills, 'dangling'));
}

function usedContext(id: string, statement: string): Record<string, string> {
  return extensionFiles(id, { provides: ['context'], main: klass(`  contextPriority = 40;\n  async getContext() { ${statement}; }`) });
}
