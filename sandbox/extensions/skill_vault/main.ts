import type { Command, CommandProvider, Diagnostic, ExtensionContext, ServiceProvider, Tool, ToolProvider } from 'pith';
import { RunSealing, SavedSkills } from 'pith/saved_skills';
import { vaultCommands } from './commands.ts';
import { masterKeyOf } from './sealing.ts';
import { vaultTools } from './tools.ts';
import { SET_KEY, Vault } from './vault.ts';

/** Stores what saved skills keep between runs. */
export default class SkillVault implements ToolProvider, CommandProvider, ServiceProvider {
  readonly #vault: Vault;

  constructor(private readonly context: ExtensionContext) {
    const secret = (name: string) => () => masterKeyOf(context.getSecret(name), name);
    this.#vault = new Vault(context.database, { current: secret('PITH_MASTER_KEY'), former: secret('PITH_MASTER_KEY_OLD') });
    const vault = this.#vault;
    context.provide(RunSealing, { seal: (id, text) => vault.sealRun(id, text), open: (id, sealed) => vault.openRun(id, sealed) });
  }

  getTools(): readonly Tool[] {
    return vaultTools(this.#vault, () => this.context.use(SavedSkills));
  }

  getCommands(): readonly Command[] {
    return vaultCommands(this.#vault, () => this.context.use(SavedSkills));
  }

  async findings(): Promise<readonly Diagnostic[]> {
    const why = await this.#vault.whyLocked();
    if (why === null) return [];
    const message = `saved skills cannot read or write what they keep encrypted: ${why}`;
    return [{ severity: 'warning', code: 'key_unavailable', message, cure: SET_KEY }];
  }

  /** Warns at the start: otherwise a missing key would show in the middle of a run. */
  async runBackground(): Promise<void> {
    const found = await this.findings().catch(() => []); // the database cannot be used, which Pith itself reports
    for (const { message, cure } of found) this.context.logger.warn(`${message}; ${cure}`);
  }
}
