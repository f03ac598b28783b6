import { dirname } from 'node:path';
import {
  Permissions,
  Places,
  type Command,
  type CommandProvider,
  type ContextProvider,
  type Diagnostic,
  type ExtensionContext,
  type ToolProvider,
  type TurnInfo,
} from 'pith';
import { SkillDrafts } from 'pith/skill_registry';
import { WorkProvider, type RunningWork } from 'pith/task_engine';
import { printableLine } from '@pith/plain-text';
import { OneAtATime } from '@pith/folder-changes';
import { fileBusy, skillFolders, StagingNotes, stateFolder } from '@pith/safe-files';
import { changeTools, type Changes } from './changes/change-tools.ts';
import { undoCommand } from './changes/undo-command.ts';
import { UndoLog } from './changes/undo-log.ts';
import { config, type Config } from './config.ts';
import { environmentText } from './environment.ts';
import { withInstructions } from './files/joined-instructions.ts';
import { listFilesTool } from './files/list-files.ts';
import { readFileTool } from './files/read-file.ts';
import { searchFilesTool } from './files/search-files.ts';
import { openProject, type Project } from './files/project.ts';
import { CommandRuns, type BackgroundCommand } from './shell/command-runs.ts';
import { shellTools } from './shell/shell-tools.ts';

/** Offers nothing where there is no trusted project. */
export default class ProjectTools implements ToolProvider, ContextProvider, CommandProvider {
  static readonly config = config;
  readonly contextPriority = 21;
  readonly #project: Project | null;
  readonly #changes: Changes;
  #runs: CommandRuns | null = null;

  constructor(private readonly context: ExtensionContext<Config>) {
    const notes = new StagingNotes(stateFolder(context.dataDirectory, 'staged'));
    this.#project = openProject(context.use(Places), () => dirname(dirname(context.dataDirectory)), {
      notes,
      mayChangePith: async (userId) => userId === 'local' || context.use(Permissions).isAdmin(userId),
      unconfined: async (program, turn) => context.find(SkillDrafts)[0]?.unconfined(program, turn),
      proposalCure: async (turn) => context.find(SkillDrafts)[0]?.proposalCure(turn) ?? 'propose a change to the person, who makes it',
      skills: async () => context.find(SkillDrafts)[0]?.folders() ?? skillFolders(context.use(Places)),
    });
    this.#changes = {
      undo: new UndoLog(context, stateFolder(context.dataDirectory, 'undo')),
      inTurn: new OneAtATime({ folder: stateFolder(context.dataDirectory, 'locks'), busy: fileBusy }),
    };
    context.provide(WorkProvider, {
      listWork: async () => this.#runs?.list().map(workOf) ?? [],
      endWork: async (id) => {
        const ended = await this.#runs?.stop(id);
        return ended ? workOf(ended) : null;
      },
    });
  }

  getTools() {
    const project = this.#project;
    if (project === null) return [];
    project.jail.clearStaged();
    const reading = [readFileTool(project), listFilesTool(project), searchFilesTool(project, this.context.clock)];
    const files = [...reading, ...changeTools(project, this.#changes)];
    return [
      ...files.map((tool) => withInstructions(tool, project, this.context)),
      ...shellTools(this.#runsIn(project), this.#changes.undo),
    ];
  }

  #runsIn(project: Project): CommandRuns {
    return (this.#runs ??= new CommandRuns(this.context, project));
  }

  async getContext(_prompt: string, turn: TurnInfo): Promise<string | null> {
    return this.#project === null ? null : environmentText(this.#project.root, turn, this.context.clock);
  }

  async banner(signal: AbortSignal = new AbortController().signal): Promise<string | null> {
    return this.#project === null ? null : this.#runsIn(this.#project).opening(signal);
  }

  async findings(signal: AbortSignal = new AbortController().signal): Promise<readonly Diagnostic[]> {
    return this.#project === null ? [] : this.#runsIn(this.#project).findings(signal);
  }

  getCommands(): readonly Command[] {
    return [undoCommand(this.#project, this.#changes)];
  }
}

function workOf({ id, command, startedAt, ended, output }: BackgroundCommand): RunningWork {
  const how = ended === null ? null : ended.why === null ? `ended (exit code ${ended.exit})` : `ended (${ended.why})`;
  return { id, title: printableLine(command, 200), startedAt, ended: how, output };
}
