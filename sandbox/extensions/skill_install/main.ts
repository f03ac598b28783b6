import path from 'node:path';
import type { Command, CommandProvider } from 'pith';
import { SkillExplainer, SkillInspector, type SkillRecord, SkillWriter } from 'pith/skill_registry';
import { installCommands } from './commands.ts';
import { config, type InstallContext } from './install-context.ts';

/** Installs, updates, removes and begins skills, and looks at them before anybody trusts them. */
export default class SkillInstall implements CommandProvider {
  static get config() {
    return config();
  }

  constructor(private readonly context: InstallContext) {
    context.provide(SkillInspector, { inspect });
    context.provide(SkillExplainer, { explainSkill: (skill) => this.#origin(skill) });
  }

  getCommands(): readonly Command[] {
    return installCommands(this.context);
  }

  /** Where it was installed from. */
  async #origin({ id, source, directory }: SkillRecord): ReturnType<SkillExplainer['explainSkill']> {
    const writer = this.context.use(SkillWriter);
    const place = (await writer.places()).find(({ label, skills }) => label === source && path.dirname(directory) === skills);
    const entry = place && (await writer.installed(place.source)).find((one) => one.id === id);
    if (entry === undefined) return null;
    const { origin, commit, digest, installedAt } = entry;
    const { treeDigest } = await import('@pith/skill-files');
    const isEdited = (await treeDigest(directory)) !== digest;
    const at = [origin.path, commit === null ? undefined : `commit ${commit.slice(0, 12)}`].filter((part) => part !== undefined).join(', ');
    const line = `installed from ${origin.location}${at === '' ? '' : ` (${at})`}, ${installedAt}${isEdited ? '; changed by hand since' : ''}`;
    return { lines: [line], json: { origin: { ...origin }, commit, digest, installedAt, edited: isEdited } };
  }
}

async function inspect(directory: string): ReturnType<SkillInspector['inspect']> {
  const { inspectSkill } = await import('./safety/inspection.ts');
  return (await inspectSkill(directory)).findings;
}
