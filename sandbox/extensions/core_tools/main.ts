import { dirname } from 'node:path';
import { Permissions, Places, type Diagnostic, type ExtensionContext, type ToolProvider } from 'pith';
import { SkillDrafts } from 'pith/skill_registry';
import { OneAtATime } from '@pith/folder-changes';
import { fileBusy, Jail, stateFolder } from '@pith/safe-files';
import { config, type Config } from './config.ts';
import { fileTool } from './file-tool.ts';
import { kernelTools } from './kernel-tools.ts';
import { patchTool } from './patch-tool.ts';
import { Policy } from './policy.ts';
import { shippedRoot } from './readable-root.ts';
import { todoTool } from './todo-tool.ts';

export default class CoreTools implements ToolProvider {
  static readonly config = config;

  constructor(private readonly context: ExtensionContext<Config>) {}

  getTools() {
    const { sandbox, shippedSandbox } = this.context.use(Places);
    const jail = new Jail(sandbox);
    const policy = new Policy(jail, {
      data: () => dirname(dirname(this.context.dataDirectory)),
      drafts: () => this.context.find(SkillDrafts)[0] ?? null,
      mayChangePith: async (userId) => userId === 'local' || this.context.use(Permissions).isAdmin(userId),
    });
    const changes = new OneAtATime({ folder: stateFolder(this.context.dataDirectory, 'locks'), busy: fileBusy });
    return [
      fileTool(jail, policy, shippedRoot(shippedSandbox), changes),
      patchTool(jail, policy, changes),
      todoTool(),
      ...kernelTools(this.context),
    ];
  }

  findings(): readonly Diagnostic[] {
    const { new_skills: former } = this.context.config;
    if (former === undefined) return [];
    return [
      {
        severity: 'warning',
        code: 'setting_moved',
        message: "'extensions.core_tools.new_skills' has no effect any more",
        cure: `remove it, and write  skills: { new_skills: ${former} }`,
      },
    ];
  }
}
