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

const GOOD_TOOL = "import { defineTool, z } from 'pith';\n";
const klass = (body: string) => `export default class {\n${body}\n}\n`;
const manifest = (id: string, text: string) => ({
  [`extensions/${id}/manifest.yaml`]: text,
  [`extensions/${id}/main.ts`]: klass('  getTools() { return []; }'),
});
const tool = (id: string, main: string, more?: Record<string, unknown>) => extensionFiles(id, { provides: ['tool'], main, manifest: more });
const extension = (
  id: string,
  code: string,
  says: RegExp,
  at: string,
  files: Record<string, string>,
  state: 'failed' | 'blocked' = 'failed',
): Neighbour => ({
  id,
  kind: 'extension',
  code,
  says,
  at: `extensions/${id}/${at}`,
  files,
  state,
});
const agent = (id: string, code: string, says: RegExp, at: string, files: Record<string, string>): Neighbour => ({
  id,
  kind: 'agent',
  code,
  says,
  at: `agents/${id}/${at}`,
  files,
  state: 'failed',
});
const skill = (id: string, code: string, says: RegExp, line: number, text: string): Neighbour => ({
  id,
  kind: 'skill',
  code,
  says,
  at: `skills/${id}/SKILL.md:${line}`,
  files: { [`skills/${id}/SKILL.md`]: text },
});

export const NEIGHBOURS: readonly Neighbour[] = [
  // manifests
  extension(
    'bad_yaml',
    'manifest_invalid',
    /./u,
    'manifest.yaml:3',
    manifest('bad_yaml', 'id: bad_yaml\nprovides: [tool\nentrypoint: "main.ts\n'),
  ),
  extension(
    'typo_key',
    'unknown_key',
    /'provide'.*did you mean 'provides'/su,
    'manifest.yaml:3',
    manifest('typo_key', 'id: typo_key\nentrypoint: main.ts\nprovide: [tool]\n'),
  ),
  extension(
    'bad_value',
    'manifest_invalid',
    /tools.*(?:tool|one of)/su,
    'manifest.yaml:3',
    manifest('bad_value', 'id: bad_value\nentrypoint: main.ts\nprovides: [tools]\n'),
  ),
  extension(
    'other_id',
    'id_mismatch',
    /somebody_else/u,
    'manifest.yaml:1',
    manifest('other_id', 'id: somebody_else\nentrypoint: main.ts\nprovides: [tool]\n'),
  ),
  extension('not_a_map', 'manifest_invalid', /./u, 'manifest.yaml:1', manifest('not_a_map', '- one\n- two\n')),
  extension(
    'no_provides',
    'manifest_invalid',
    /provides/u,
    'manifest.yaml',
    manifest('no_provides', 'id: no_provides\nentrypoint: main.ts\n'),
  ),
  // order
  extension(
    'cycle_one',
    'dependency_cycle',
    /cycle_one.*cycle_two|cycle_two.*cycle_one/su,
    'manifest.yaml',
    tool('cycle_one', klass(''), { depends_on: ['cycle_two'] }),
  ),
  extension(
    'cycle_two',
    'dependency_cycle',
    /cycle_one.*cycle_two|cycle_two.*cycle_one/su,
    'manifest.yaml',
    tool('cycle_two', klass(''), { depends_on: ['cycle_one'] }),
  ),
  extension(
    'lonely',
    'dependency_missing',
    /skill_registri.*skill_registry/su,
    'manifest.yaml',
    tool('lonely', klass(''), { depends_on: ['skill_registri'] }),
    'blocked',
  ),
  extension(
    'dependent',
    'dependency_failed',
    /throws_import/u,
    'manifest.yaml',
    tool('dependent', klass('  getTools() { return []; }'), { depends_on: ['throws_import'] }),
    'blocked',
  ),
  // code
  extension('no_entry', 'entrypoint_missing', /elsewhere\.ts/u, 'manifest.yaml', {
    'extensions/no_entry/manifest.yaml': 'id: no_entry\nentrypoint: elsewhere.ts\nprovides: [tool]\n',
  }),
  extension('syntax', 'bundle_failed', /./u, 'main.ts:2', tool('syntax', 'export default class {\n  getTools( { return [] }\n}\n')),
  extension('no_export', 'import_failed', /default.*main\.ts/su, 'manifest.yaml', tool('no_export', 'export const nothing = 1;\n')),
  extension(
    'trespass',
    'import_forbidden',
    /own files|other extension|outside/u,
    'main.ts:1',
    tool('trespass', "import other from '../kind/main.ts';\nexport default other;\n"),
  ),
  extension(
    'throws_import',
    'import_failed',
    /boom-import/u,
    'main.ts',
    tool('throws_import', "throw new Error('boom-import');\n" + klass('')),
  ),
  extension(
    'throws_new',
    'construct_failed',
    /boom-construct/u,
    'main.ts:2',
    tool('throws_new', klass("  constructor() { throw new Error('boom-construct'); }\n  getTools() { return []; }")),
  ),
  extension(
    'throws_init',
    'initialize_failed',
    /boom-initialize/u,
    'main.ts:2',
    tool('throws_init', klass("  async initialize() { throw new Error('boom-initialize'); }\n  getTools() { return []; }")),
  ),
  extension(
    'misspelt',
    'provides_mismatch',
    /getTools\(\).*getTool/su,
    'manifest.yaml',
    tool('misspelt', klass('  getTool() { return []; }')),
  ),
  extension(
    'bad_config',
    'config_invalid',
    /colour/u,
    'manifest.yaml',
    tool(
      'bad_config',
      "import { z } from 'pith';\n" + klass('  static config = z.strictObject({ colour: z.enum(["red"]) });\n  getTools() { return []; }'),
      { config: { colour: 'blue' } },
    ),
  ),
  extension(
    'bad_tool_name',
    'tool_name_invalid',
    /not a name/u,
    'manifest.yaml',
    tool(
      'bad_tool_name',
      GOOD_TOOL +
        klass("  getTools() { return [defineTool({ name: 'not a name', description: 'x', input: z.object({}), execute: () => 1 })]; }"),
    ),
  ),
  // agents
  {
    ...agent('typo_agent', 'agent_key_unowned', /uses_tool.*did you mean 'uses_tools'/su, 'manifest.yaml:3', {
      'agents/typo_agent/manifest.yaml': 'id: typo_agent\nagent:\n  uses_tool: []\n',
    }),
    state: 'degraded', // another manifest cannot be read, and might own the key
  },
  {
    ...agent('lost_tool', 'name_unknown', /core_tool.*core_tools/su, 'manifest.yaml:3', {
      'agents/lost_tool/manifest.yaml': 'id: lost_tool\nagent:\n  uses_tools: [core_tool]\n',
    }),
    state: 'degraded',
  },
  {
    ...agent('lost_skill', 'skill_not_found', /code-reviw.*code-review/su, 'manifest.yaml:3', {
      'agents/lost_skill/manifest.yaml': 'id: lost_skill\nagent:\n  uses_skills: [code-reviw]\n',
    }),
    state: 'degraded',
  },
  {
    ...agent('lost_friend', 'name_unknown', /orchestrater.*orchestrator/su, 'manifest.yaml:3', {
      'agents/lost_friend/manifest.yaml': 'id: lost_friend\nagent:\n  delegates_to: [orchestrater]\n',
    }),
    state: 'degraded',
  },
  agent('odd_symbol', 'prompt_symbol_unknown', /agnet/u, 'prompt.jinja2:2', {
    'agents/odd_symbol/manifest.yaml': agentFile('odd_symbol'),
    'agents/odd_symbol/prompt.jinja2': 'One line.\nYou are {{ agnet.name }}.\n',
  }),
  agent('odd_prompt', 'prompt_invalid', /./u, 'prompt.jinja2:2', {
    'agents/odd_prompt/manifest.yaml': agentFile('odd_prompt'),
    'agents/odd_prompt/prompt.jinja2': 'One line.\n{% if agent %}never closed\n',
  }),
  {
    ...agent('odd_file', 'unknown_key', /modle.*did you mean 'model'/su, 'AGENT.md:3', {
      'agents/odd_file/AGENT.md': '---\nname: odd_file\nmodle: fast\n---\nBe odd.\n',
    }),
    state: 'degraded',
  },
  // skills
  skill('no-frontmatter', 'frontmatter_missing', /frontmatter/u, 1, '# Only a heading\n'),
  skill('no-description', 'description_missing', /description/u, 1, '---\nname: no-description\n---\nBody.\n'),
  skill('unclosed', 'frontmatter_unclosed', /never closed/u, 1, '---\nname: unclosed\ndescription: Goes on and on.\n\nBody.\n'),
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
