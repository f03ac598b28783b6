import type {
  Command,
  CommandProvider,
  DeclarationProvider,
  Diagnostic,
  ExtensionContext,
  Remote,
  Tool,
  ToolProvider,
  TurnInfo,
} from 'pith';
import { SkillExplainer, SkillLibrary, skillsChanged } from 'pith/skill_registry';
import { allow } from './allow.ts';
import { configSchema, type ScriptsConfig } from './config.ts';
import { scriptTool, unconfinedNotes } from './scripts/script-tool.ts';
import { toolsetsOfTurn, type TurnTool } from './toolsets/skill-toolset.ts';
import { Toolsets } from './toolsets/toolsets.ts';

/** What of a skill runs: its scripts, and its toolsets as extensions that this one declares. */
export default class SkillScripts implements ToolProvider, DeclarationProvider, CommandProvider {
  static get config() {
    return configSchema();
  }

  static settingsNotes(config: ScriptsConfig) {
    return unconfinedNotes(config);
  }

  readonly #context: ExtensionContext<ScriptsConfig>;
  readonly #library: Remote<SkillLibrary>;
  readonly #toolsets: Toolsets;

  constructor(context: ExtensionContext<ScriptsConfig>) {
    this.#context = context;
    this.#library = context.use(SkillLibrary);
    this.#toolsets = new Toolsets(context, this.#library);
    context.provide(SkillExplainer, {
      async explainSkill(skill, { agent }) {
        const { explanationOf } = await import('./explanation.ts');
        return explanationOf(skill, agent, context.id);
      },
    });
    context.own(context.events.handle(skillsChanged, () => this.#toolsets.follow()));
    context.own(context.events.handle('extension.reloaded', () => this.#toolsets.follow())); // other settings may keep a skill back
  }

  getTools(): readonly Tool[] {
    return this.#enabled ? [scriptTool(this.#context, this.#library)] : [];
  }

  async getTurnTools(turn: TurnInfo): Promise<readonly TurnTool[]> {
    return this.#enabled ? toolsetsOfTurn(turn, this.#library, this.#context) : [];
  }

  async declarations(id: string | null): ReturnType<DeclarationProvider['declarations']> {
    if (!this.#enabled) return [];
    return id === null ? this.#toolsets.all() : this.#toolsets.one(id);
  }

  async findings(): Promise<readonly Diagnostic[]> {
    return [...this.#toolsets.waiting.values()].map(({ diagnostic }) => diagnostic);
  }

  getCommands(): readonly Command[] {
    return [allow(this.#toolsets)];
  }

  get #enabled(): boolean {
    return this.#context.config.enabled;
  }
}
