import type { Command, CommandProvider, ExtensionContext, Tool, ToolProvider } from 'pith';
import { SavedSkills } from 'pith/saved_skills';
import { vaultCommands } from './commands.ts';
import { masterKeyOf } from './sealing.ts';
import { vaultTools } from './tools.ts';
import { Vault } from './vault.ts';

/** What saved skills keep between runs. */
export default class SkillVault implements ToolProvider, CommandProvider {
  readonly #vault: Vault;

  constructor(private readonly context: ExtensionContext) {
    const secret = (name: string) => () => masterKeyOf(context.getSecret(name));
    this.#vault = new Vault(context.database, { current: secret('PITH_MASTER_KEY'), former: secret('PITH_MASTER_KEY_OLD') });
  }

  getTools(): readonly Tool[] {
    return vaultTools(this.#vault, () => this.context.use(SavedSkills));
  }

  getCommands(): readonly Command[] {
    return vaultCommands(this.#vault, () => this.context.use(SavedSkills));
  }
}
