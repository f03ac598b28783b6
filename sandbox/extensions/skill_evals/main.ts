import type { Command, CommandProvider, ExtensionContext } from 'pith';
import { SkillEvaluator } from 'pith/skill_registry';
import { type Config, configSchema } from './config.ts';
import { Runner } from './runs/runner.ts';

/** Measures skills by their own cases. */
export default class SkillEvals implements CommandProvider {
  static get config() {
    return configSchema();
  }

  private readonly context: ExtensionContext<Config>;
  private readonly runner: Runner;

  constructor(context: ExtensionContext<Config>) {
    this.context = context;
    this.runner = new Runner(context);
    context.provide(SkillEvaluator, {
      compare: async (versions, signal) => {
        const { compareVersions } = await import('./compare.ts');
        return compareVersions(versions, { context, store: this.runner.store }, signal ?? new AbortController().signal);
      },
    });
  }

  async getCommands(): Promise<readonly Command[]> {
    const { evaluate } = await import('./command/evaluate.ts');
    return [evaluate(this.context, this.runner)];
  }
}
