import { runCommands } from '../../sandbox/extensions/saved_skills/commands/run-commands.ts';
import { savedCommands } from '../../sandbox/extensions/saved_skills/commands/saved-commands.ts';
import { tokenCommands } from '../../sandbox/extensions/http/commands.ts';
import { webCommand } from '../../sandbox/extensions/web_channel/command.ts';
import { vaultCommands } from '../../sandbox/extensions/skill_vault/commands.ts';
import { webhookCommands } from '../../sandbox/extensions/skill_webhooks/commands.ts';
import { suggest } from '../../sandbox/extensions/skill_stats/suggest.ts';
import { stats } from '../../sandbox/extensions/skill_stats/stats.ts';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { COMMON_OPTIONS } from '../../core/cli/common-options.ts';
import { CORE_COMMANDS } from '../../core/cli/core-commands.ts';
import { commandUsage, optionUsage, type CommandShape, type CommandOption } from '@pith/command-line';
import type { Command, CommandContext, ExtensionContext } from '../../core/contract/index.ts';
import { chatCommand } from '../../sandbox/extensions/cli_channel/chat-command.ts';
import { localCommands } from '../../sandbox/extensions/cli_channel/local-commands.ts';
import { Terminals } from '../../sandbox/extensions/cli_channel/terminal.ts';
import type { Builder } from '../../sandbox/extensions/extension_builder/builder.ts';
import builderCommands from '../../sandbox/extensions/extension_builder/commands.ts';
import { probeCommand, rollbackCommand, validateCommand } from '../../sandbox/extensions/extension_builder/commands/extension-commands.ts';
import { listHooks } from '../../sandbox/extensions/hooks/list-hooks.ts';
import { mcpCommands } from '../../sandbox/extensions/mcp/commands.ts';
import { skillCommands } from '../../sandbox/extensions/mcp/skill-commands.ts';
import { serveCommand } from '../../sandbox/extensions/mcp_server/serve-command.ts';
import { listRecipes, showRecipe } from '../../sandbox/extensions/recipes/commands.ts';
import { initializedCommands } from '../../sandbox/extensions/skill_registry/commands/initialized.ts';
import { installCommands } from '../../sandbox/extensions/skill_install/commands.ts';
import { allow } from '../../sandbox/extensions/skill_scripts/allow.ts';
import { proposalCommands } from '../../sandbox/extensions/skill_proposals/commands/commands.ts';
import lintCommands from '../../sandbox/extensions/skill_lint/commands.ts';
import SkillLint from '../../sandbox/extensions/skill_lint/main.ts';
import { enrich } from '../../sandbox/extensions/skill_search/enriching/enrich.ts';
import { evaluate } from '../../sandbox/extensions/skill_evals/command/evaluate.ts';
import { forget } from '../../sandbox/extensions/skill_search/learning/forget.ts';
import { search } from '../../sandbox/extensions/skill_search/commands.ts';
import Setup from '../../sandbox/extensions/setup/main.ts';
import { scheduleCommands } from '../../sandbox/extensions/scheduler/commands.ts';
import { undoCommand } from '../../sandbox/extensions/project_tools/changes/undo-command.ts';
import { taskCommands } from '../../sandbox/extensions/task_engine/commands.ts';

type Described = CommandShape & Pick<Command, 'description' | 'slash' | 'hidden'>;

/** Every command, from the definitions that the command line itself uses. */
export async function commandsPage(root: string): Promise<string> {
  const extensions: readonly Described[] = [
    chatCommand({} as ExtensionContext, new Terminals()),
    ...initializedCommands({} as never, {} as never),
    ...installCommands({} as never),
    allow({} as never),
    ...new SkillLint({} as never).getCommands(),
    ...lintCommands(),
    ...proposalCommands({} as never, {} as never),
    stats({} as never, {} as never),
    suggest({} as never, {} as never),
    search({} as never, {} as never),
    enrich({} as never, {} as never, {} as never),
    evaluate({} as never, {} as never),
    forget({} as never, {} as never),
    ...taskCommands({} as ExtensionContext, {} as never),
    undoCommand(null, {} as never),
    ...scheduleCommands({} as never, {} as never),
    ...builderCommands({} as CommandContext),
    validateCommand({} as Builder),
    probeCommand({} as Builder),
    rollbackCommand({} as Builder),
    ...savedCommands({} as never),
    ...runCommands({} as never),
    ...vaultCommands({} as never, () => ({}) as never),
    ...webhookCommands({ skills: () => ({}) as never, keys: {} as never, url: '' }),
    webCommand({} as never),
    ...tokenCommands({} as never, { now: () => 0 }),
    listHooks([]),
    ...mcpCommands({ refused: [] } as never),
    ...skillCommands({} as never, {} as never),
    serveCommand({} as never),
    listRecipes({} as never, {} as never),
    showRecipe({} as never),
    ...new Setup({} as never).getCommands(),
  ];
  const switches = await switchesOf(root, extensions);
  const line = [...CORE_COMMANDS.filter(({ only }) => only !== 'chat'), ...extensions].filter(isShown).sort(byPath);
  const local = localCommands({
    conversation: {} as never,
    agents: {} as never,
    screen: null,
    found: [],
    all: async () => [],
    leave: () => undefined,
    resume: () => undefined,
  });
  const names = new Set([...line, ...local].map(({ path: name }) => name));
  const chatOnly = [...local, ...CORE_COMMANDS.filter(({ path: name }) => !names.has(name))].filter(isShown).sort(byPath);
  const inChat = new Set(CORE_COMMANDS.filter(({ only }) => only !== 'command line').map(({ path: name }) => name));
  const notInChat = [...CORE_COMMANDS.filter(({ path: name }) => !inChat.has(name)), ...extensions.filter(({ slash }) => slash === false)];
  return `<!-- made from the command definitions by npm run docs -->
# Commands

Inside the project \`npx pith\` is the local command; \`npm start\` is \`npx pith chat\`. The words of a command come first, options anywhere.

[Output](serve.md#output) and [exit codes](serve.md#exit-codes) are the same for all.

## Options of every command

${[...COMMON_OPTIONS, ...switches].map(optionItem).join('\n')}

${line.map(section).join('\n\n')}

## In chat

A slash and the same words: \`/skills list\`, or \`/skills\` for short, as in a shell. Options work as on the command line. Left out are ${notInChat
    .filter(isShown)
    .sort(byPath)
    .map((command) => `\`${command.path}\``)
    .join(', ')}. Only in chat:

${chatOnly.map((command) => item(`/${usage(command)}`, command.description)).join('\n')}
`;
}

function section(command: Described): string {
  const { arguments: given = [], options = [], description } = command;
  const items = [...given.map((argument) => item(argument.name, argument.description)), ...options.map(optionItem)];
  const used = items.length === 0 ? `${description}.` : `${description}: \`npx pith ${commandUsage(command)}\``;
  return [`## pith ${command.path}`, used, ...(items.length === 0 ? [] : [items.join('\n')])].join('\n\n');
}

function optionItem(option: CommandOption): string {
  const short = option.short === undefined ? '' : `-${option.short}, `;
  const fallback =
    option.default === undefined || option.default === false || option.default === '' ? '' : ` (default ${String(option.default)})`;
  return item(`${short}${optionUsage(option)}`, `${option.description}${fallback}`);
}

function item(name: string, description: string): string {
  return `- \`${name}\`: ${description}`;
}

function usage(command: CommandShape): string {
  return commandUsage({ ...command, options: [] });
}

/** Former names and what is for programs are on no page. */
function isShown({ hidden }: Described): boolean {
  return hidden !== true;
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1;
}

/** What manifests declare as `switches`, each once. Throws when one declares commands that are not described here. */
async function switchesOf(root: string, known: readonly Described[]): Promise<readonly CommandOption[]> {
  const switches: CommandOption[] = [];
  const folder = path.join(root, 'sandbox/extensions');
  for (const id of await readdir(folder)) {
    const manifest = parse(await readFile(path.join(folder, id, 'manifest.yaml'), 'utf8')) as {
      readonly commands?: readonly { readonly path: string }[];
      readonly switches?: readonly Pick<CommandOption, 'name' | 'description'>[];
    };
    for (const { name, description } of manifest.switches ?? [])
      if (!switches.some((known) => known.name === name)) switches.push({ name, description, type: 'boolean' });
    for (const { path: declared } of manifest.commands ?? []) {
      if (!known.some((command) => command.path === declared || command.path.startsWith(`${declared} `)))
        throw new Error(`the commands '${declared}' of ${id} are missing in scripts/docs/commands-page.ts`);
    }
  }
  return switches;
}
