import { type AgentSpec, defineProtocol, method, defineTopic, type Diagnostic, type SkillProvider, type TurnInfo } from 'pith';
import type { FolderChange } from '@pith/folder-changes';
import type { CopiedFile, SkillFields } from '@pith/skill-files';

export type { CopiedFile };

/** The ids of skills that came, differ and went. */
export interface SkillsChange {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export const skillsChanged = defineTopic<SkillsChange>('skills.changed');

/** What a turn did with a skill, or what a compaction did to it. Published by whoever did it. */
export interface SkillUsed {
  /** null where a person compacted the thread. */
  readonly turnId: string | null;
  readonly threadId: string;
  readonly agentId: string;
  readonly skillId: string;
  /** Its display name, where it is not the id. */
  readonly skillName?: string;
  /** URI of the folder from which it came. */
  readonly source?: string;
  readonly state: 'loaded' | 'resource_read' | 'script_run' | 'dropped';
  /** By which tool or mode it was loaded. */
  readonly how?: string;
  /** Of the text that was loaded or dropped. */
  readonly sha256?: string;
  /** Which of its numbered parts; absent: the whole body. */
  readonly part?: number;
  /** The thread held it already, and was only pointed to it. */
  readonly again?: boolean;
  /** It came by what an earlier message matched. */
  readonly carried?: boolean;
  /** Of the resource or script. */
  readonly path?: string;
  /** The script's exit code; null when it was ended. */
  readonly exit?: number | null;
  readonly correlationId: string | null;
}

export const skillUsed = defineTopic<SkillUsed>('skill.used');

/** What a turn's model was shown of the skills, once for each turn that began. Published by whoever shows them: the catalog, a tool or a mode. */
export interface SkillsOffered {
  readonly turnId: string;
  readonly threadId: string;
  readonly agentId: string;
  /** Ids of those that have a line; `all` that its agent may read. */
  readonly offered: readonly string[] | 'all';
  /** Ids of those that were beside this message only. */
  readonly shown: readonly string[];
  readonly counts: { readonly readable: number; readonly offered: number; readonly shown: number };
  readonly correlationId: string;
}

export const skillsOffered = defineTopic<SkillsOffered>('skills.offered');

/** What a turn's model looked for among its skills. Published by the tool that searched. */
export interface SkillsSearched {
  readonly turnId: string;
  readonly threadId: string;
  readonly agentId: string;
  /** Its words; null where the turn is not a person's own. */
  readonly query: string | null;
  /** How many skills match more than weakly. */
  readonly fitting: number;
  readonly correlationId: string;
}

export const skillsSearched = defineTopic<SkillsSearched>('skills.searched');

/** What can be searched of one skill. */
export interface RankerDocument {
  readonly id: string;
  /** Changes with any of the rest. */
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** What people say when they want it, as its author writes it. */
  readonly examples: readonly string[];
  /** What else says when it fits: its triggers, and keys of other systems. */
  readonly whenToUse: readonly string[];
  /** At most the first 20,000 characters. */
  readonly body: string;
}

export interface RankerOptions {
  readonly k: number;
  readonly agentId?: string;
  /** The ids that may be in the answer; absent: all. Others are dropped from it. */
  readonly among?: readonly string[];
  /** Whether weak matches fill the answer up. */
  readonly weak?: boolean;
  /** Decides between equals: the same seed gives the same order. */
  readonly seed?: string;
}

export interface RankedSkill {
  readonly id: string;
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
  /** Why, in words that a model and a person read: the query's words that matched. */
  readonly why: readonly string[];
  /** It fills up the answer to so many: it has little to do with the text. Beside a message for which all are weak, none is suggested. */
  readonly weak?: boolean;
}

/** Ranks skills for a text, where the setting `skills.ranker` names its extension. */
export interface RankerProvider {
  /** Which of these documents it has kept since an earlier process, by their versions: those are not sent. Absent: it keeps none. */
  recall?(versions: readonly Pick<RankerDocument, 'id' | 'version'>[], signal?: AbortSignal): Promise<readonly string[]>;
  /** Takes documents, new ones and changed ones. When a version of the extension begins, all that it does not recall are sent again. It is asked once it has all, or has recalled more than half. */
  upsert(documents: readonly RankerDocument[], signal?: AbortSignal): Promise<void>;
  remove(ids: readonly string[], signal?: AbortSignal): Promise<void>;
  /** Best first, at most `k`; empty when nothing matches well. Words shared with ids, names and tags decide where this rejects or is late. */
  rank(query: string, options: RankerOptions, signal?: AbortSignal): Promise<readonly RankedSkill[]>;
}

export const RankerProvider = defineProtocol<RankerProvider>('skills.ranker', {
  recall: method({ optional: true, timeoutMs: 60_000, signalAt: 1 }),
  upsert: method({ timeoutMs: 60_000, signalAt: 1 }),
  remove: method({ signalAt: 1 }),
  rank: method({ signalAt: 2 }),
});

/** What comes before the id of a skill where the tools of its toolset are named: `toolset:<skill>/<tool>`. */
export const TOOLSET = 'toolset:';

/** What the source of a kept version begins with; `sha256:` and hex digits of the whole folder follow. */
export const KEPT_VERSION = 'version:';

/** All that the registry keeps of one SKILL.md; never the body. */
export interface SkillRecord extends SkillFields {
  /** The directory's name; of a plugin's skill `plugin:folder`. */
  readonly id: string;
  /** The label of the source it was found in: `sandbox/skills`, `bundled`, … `source/id` names one of several skills of one id. */
  readonly source: string;
  /** Absolute path of the folder as it was found. */
  readonly directory: string;
  /** Where that folder really was when it was found, links followed: nothing outside of it is ever read. */
  readonly realDirectory: string;
  /** Absolute path of the SKILL.md. */
  readonly file: string;
  /** What identifies this version of the file without reading it. */
  readonly stamp: string;
  /** Of the body. */
  readonly tokens: number;
  /** `tokens` is taken from the size, because nobody has read the body yet. */
  readonly tokensEstimated: boolean;
  readonly state: Awaited<ReturnType<SkillProvider['listSkills']>>[number]['state'];
  /** Why it is not offered; null when it is. */
  readonly reason: string | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** One immutable view of all skills. The same object until something changes. */
export interface SkillRecords {
  readonly generation: number;
  /** The one of each id that counts, in whatever state, sorted by id. */
  readonly skills: readonly SkillRecord[];
  /** All that were found, shadowed ones too, sorted by id, then precedence. */
  readonly all: readonly SkillRecord[];
  /** What an agent may do with them; null where no turn or agent was asked about. */
  readonly agent: AgentSkillRecords | null;
}

export interface AgentSkillRecords {
  /** Ids of all that its tools can read, sorted. */
  readonly readable: readonly string[];
  /** Ids of those that it carries (`uses_skills`). */
  readonly bound: readonly string[];
  /** The checked values of its key `skills`. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** A body as it is on disk. */
export interface SkillText {
  readonly skill: SkillRecord;
  /** What follows the frontmatter, byte for byte. */
  readonly body: string;
  /** Hex digest of the whole SKILL.md. */
  readonly sha256: string;
  /** Why this is not what the file holds now; absent when it is. */
  readonly stale?: string;
  /** As a model is given it: what it is, the text, its files, and an end that the text cannot imitate. */
  readonly envelope: string;
}

/** What a search found. */
export interface FoundSkills {
  /** Best first. */
  readonly ranked: readonly RankedSkill[];
  /** The extension that ranked; null: words shared with ids, names and tags decided. */
  readonly by: string | null;
  /** What is not as the settings want it, in one line; null where nothing is. */
  readonly note: string | null;
}

/** What the extensions of the skill family ask of the registry. */
export interface SkillLibrary {
  /** For a turn as they were when it began; for an agent, and without `of`, as the last look found them, which has just been made; `'now'`: by a new look, for who decides by it. */
  records(of?: { readonly turn: TurnInfo } | { readonly agent: AgentSpec } | 'now'): Promise<SkillRecords>;
  /** The skill that a turn's agent means by an id, a unique display name or `source/id`, still trusted; or the error for its model. */
  find(
    name: string,
    turn: TurnInfo,
  ): Promise<{ readonly skill: SkillRecord } | { readonly error: { readonly code: string; readonly message: string } }>;
  /** The skill that a person means in a command, in whatever state; `id@version` is one that was kept. Rejects `skill_not_found`, with what lies there instead. */
  named(reference: string): Promise<SkillRecord>;
  /** `ref`: `source/id`, or the id of the one that counts. `notes` are before the body in the envelope. Rejects `skill_not_found` and `skill_not_offered`. */
  readBody(ref: string, notes?: readonly string[]): Promise<SkillText>;
  /** One file of a skill; null for what is not there, no regular file, outside, or of more than `most` bytes. */
  readFile(ref: string, path: string, most: number): Promise<Uint8Array | null>;
  /** All files of a skill that a model may read, by path, `SKILL.md` among them; null where they are more than 512, or of more than `most` bytes together. */
  readFiles(ref: string, most: number): Promise<Readonly<Record<string, Uint8Array>> | null>;
  /** Looks at its files: whether it is still what a person trusted. Ask before anything of it runs. `copy`: and whether these are its files, as they were trusted. */
  isTrusted(ref: string, copy?: readonly CopiedFile[]): Promise<boolean>;
  /** What a ranker is given of an offered skill. Rejects `skill_not_found`. */
  document(ref: string): Promise<RankerDocument>;
  /** The same of a folder that need not be a skill here, as that skill. null: it cannot be read. */
  documentAt(directory: string, id: string): Promise<RankerDocument | null>;
  /** What all extensions that scan find in the folder of a skill; null: none is on. One that fails has not scanned, which is a finding. */
  scan(directory: string): Promise<readonly SkillFinding[] | null>;
  /** Ids of the offered skills that have a line in the catalog of an agent that may read all, with a model of a large or unknown window. */
  catalogued(): Promise<readonly string[]>;
  /** Finds skills as a turn does, for a command: everything is sent to the ranker first. `agent`: among what it may read. */
  search(query: string, options: { readonly k: number; readonly agent?: AgentSpec }, signal?: AbortSignal): Promise<FoundSkills>;
}

export const SkillLibrary = defineProtocol<SkillLibrary>(
  'skills.library',
  {
    records: method(),
    find: method(),
    named: method(),
    readBody: method(),
    readFile: method({ byReference: true }),
    readFiles: method({ byReference: true }),
    isTrusted: method(),
    document: method(),
    documentAt: method(),
    scan: method({ timeoutMs: 60_000 }),
    catalogued: method(),
    search: method({ timeoutMs: 60_000, signalAt: 2 }),
  },
  { inProcessOnly: true },
);

/** Adds its part to `pith skills explain`. */
export interface SkillExplainer {
  /** `text`: what a person would say; null: nothing was given. `json` is under the extension's id; null: nothing to say. */
  explainSkill(
    skill: SkillRecord,
    asked: { readonly agent: AgentSpec | null; readonly text: string | null },
    signal?: AbortSignal,
  ): Promise<{ readonly lines: readonly string[]; readonly json: unknown } | null>;
}

export const SkillExplainer = defineProtocol<SkillExplainer>('skills.explainer', {
  explainSkill: method({ signalAt: 2 }),
});

/** A further mode in which agents meet their skills. */
export interface SkillMode {
  /** Its word where this agent meets its skills by it, as by its own key under `agent:`; else null. Such an agent gets no catalog; the tools that read a skill it gets. */
  modeOf(agent: AgentSpec): Promise<string | null>;
  /** Ids of the skills that it brings to this turn: what they bring themselves comes along. */
  skillsFor(turn: TurnInfo): Promise<readonly string[]>;
}

export const SkillMode = defineProtocol<SkillMode>('skills.mode', {
  modeOf: method(),
  skillsFor: method(),
});

/** Says which skills the words of a message call for. */
export interface SkillSuggester {
  /** Ids, best first. In the mode `catalog` they are beside the message, before those that a ranker finds. */
  suggestionsFor(turn: TurnInfo): Promise<readonly string[]>;
}

export const SkillSuggester = defineProtocol<SkillSuggester>('skills.suggester', {
  suggestionsFor: method({ timeoutMs: 1000 }),
});

/** What a person should look at before they trust a skill. */
export interface SkillFinding {
  /** `high` stops what nobody watches; `medium` and `low` are shown. */
  readonly severity: 'high' | 'medium' | 'low';
  readonly code: string;
  /** Relative to the skill's folder; `.` for the whole of it. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** Looks at skills before a person trusts them. */
export interface SkillInspector {
  /** Worst first. Runs nothing of the skill. Rejects where the folder cannot be read. What all inspectors find counts. */
  inspect(directory: string): Promise<readonly SkillFinding[]>;
}

export const SkillInspector = defineProtocol<SkillInspector>(
  'skills.inspector',
  { inspect: method({ timeoutMs: 60_000 }) },
  { inProcessOnly: true },
);

/** A folder into which skills are written: of this project, or for every project of this user. */
export interface SkillPlace {
  readonly source: 'project' | 'user';
  /** As the registry calls this source. */
  readonly label: string;
  /** It holds the skills' folders. */
  readonly skills: string;
  /** Beside it: what was written, and where it came from. */
  readonly lockFile: string;
}

/** Where a skill was fetched. What kinds there are and what they mean is known to who fetches. */
export interface SkillOrigin {
  readonly kind: string;
  /** An absolute path, or an address without passwords. */
  readonly location: string;
  /** Branch, tag or commit. */
  readonly ref?: string;
  /** The folder in it. */
  readonly path?: string;
}

/** What the lock file says of a skill. It comes with the project: check it before you act on it. */
export interface InstalledSkill {
  readonly origin: SkillOrigin;
  readonly commit: string | null;
  /** Of the folder as it was written. */
  readonly digest: string;
  readonly installedAt: string;
}

/** One skill that is put in place or taken away: its folder is relative to those of the place, `entry` is for the lock file. */
export type SkillChange = FolderChange<InstalledSkill>;

/** One accepted change of a skill. */
export interface SkillVersion {
  /** `1`, `2`, … in the order of its history. */
  readonly number: number;
  /** Of the whole folder: `sha256:` and hex digits; null: it was removed. */
  readonly digest: string | null;
  /** What its frontmatter said; null: nothing. */
  readonly version: string | null;
  readonly at: number;
  /** `found`: the first that was seen. `by_hand`: the folder differs from the version before, and no command of Pith changed it. */
  readonly how: 'found' | 'by_hand' | 'new' | 'install' | 'update' | 'remove' | 'enrich' | 'proposal' | 'rollback' | 'accepted';
  /** `person`, or the id of an agent. */
  readonly by: string;
  readonly reason: string | null;
  /** The id of the proposal; null: it came otherwise. */
  readonly proposal: string | null;
}

/** Who changes a skill, and why: kept in its history. */
export interface SkillNote extends Pick<SkillVersion, 'how' | 'by'> {
  readonly reason?: string;
  readonly proposal?: string;
}

/** The accepted changes of skills in the folders that the writer writes. */
export interface SkillHistory {
  /** `source/id` of every skill that has a history, sorted. */
  recorded(): Promise<readonly string[]>;
  /** Oldest first. What the folder holds now is recorded before. `reference`: `source/id`, or the id; empty for a skill without a history. */
  of(reference: string): Promise<readonly SkillVersion[]>;
}

export const SkillHistory = defineProtocol<SkillHistory>(
  'skills.history',
  { recorded: method(), of: method({ timeoutMs: 60_000 }) },
  { inProcessOnly: true },
);

/** The file of a proposed change of a skill, for a person to read. */
export interface SkillProposalFile {
  /** `<skill id>-<time>.md`. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Empty where it cannot be read. */
  readonly text: string;
}

/** The one that writes folders of skills. A change that is cut off is undone at the next start, and what a person wrote since stays. */
export interface SkillWriter {
  /** The one that wins first. */
  places(): Promise<readonly SkillPlace[]>;
  /** Rejects `lock_damaged`. */
  installed(source: SkillPlace['source']): Promise<readonly (InstalledSkill & { readonly id: string })[]>;
  /** A folder in which changes of that place are prepared: nothing in it is a skill. Give it back with `unstage`. */
  stage(source: SkillPlace['source'], signal?: AbortSignal): Promise<string>;
  /** Makes all changes or none, and records them. Rejects `skill_exists`, `skill_edited` and `skill_not_found` where something else is there than it says. */
  change(staged: string, changes: readonly SkillChange[], note: SkillNote): Promise<void>;
  unstage(staged: string): Promise<void>;
  /** Keeps a skill as it is now, and returns `id@sha256:…`, by which it is found from then on. Accepts `id@version` too. Rejects `skill_not_found`, `skill_not_offered` and `version_not_kept`. */
  keepVersion(reference: string): Promise<string>;
  /** The files of proposals, sorted by name. What they mean is known to who writes them. */
  proposals(): Promise<readonly SkillProposalFile[]>;
  /** Replaces such a file, or moves it to `removed/` where `text` is null. `expects`: its present text; null: it is new. Rejects `proposal_changed`, `proposal_too_large` and `proposals_busy`. */
  writeProposal(name: string, text: string | null, expects: string | null): Promise<void>;
}

export const SkillWriter = defineProtocol<SkillWriter>(
  'skills.writer',
  {
    places: method(),
    installed: method(),
    stage: method({ timeoutMs: null, signalAt: 1 }),
    change: method({ timeoutMs: null }),
    unstage: method(),
    keepVersion: method({ timeoutMs: 60_000 }),
    proposals: method(),
    writeProposal: method({ timeoutMs: 60_000 }),
  },
  { inProcessOnly: true },
);

/** Two versions of a skill: absolute paths of their folders. */
export interface SkillVersions {
  readonly id: string;
  /** null: it is new. */
  readonly before: string | null;
  readonly after: string;
}

/** How two versions of a skill do by its own cases. */
export interface SkillComparison {
  /** `worse`: at least one case is broken. */
  readonly verdict: 'better' | 'same' | 'worse';
  /** For a person: what passed before and after, what broke, by which model, how sure. `same` says 'no measured gain'. */
  readonly lines: readonly string[];
  /** The texts of cases, for a person only: held-out ones are among them. */
  readonly broken: readonly string[];
  readonly repaired: readonly string[];
  /** For the agent that proposed: one sentence for each training case that failed, and nothing of a held-out one. */
  readonly forAuthor: readonly string[];
  /** The new version changes `evals/`: it was judged by the old cases. */
  readonly changesCases: boolean;
  /** At least three cases, of which a third are held out, and one of these repaired and none broken. */
  readonly gain: boolean;
}

/** Measures two versions of one skill by its cases. */
export interface SkillEvaluator {
  /** Runs the offline cases, and adds what runs with a model have measured of these versions; asks no model. null: the skill has no cases. */
  compare(versions: SkillVersions, signal?: AbortSignal): Promise<SkillComparison | null>;
}

export const SkillEvaluator = defineProtocol<SkillEvaluator>(
  'skills.evaluator',
  { compare: method({ timeoutMs: 60_000, signalAt: 1 }) },
  { inProcessOnly: true },
);

/** What a conversation read that came from outside: pages, answers of servers, messages of other people. Whoever keeps that, says it; where nobody does, nothing is accepted without a person. */
export interface ThreadSources {
  /** Each source in a few words, such as its address; empty: none. */
  sourcesOf(threadId: string): Promise<readonly string[]>;
}

export const ThreadSources = defineProtocol<ThreadSources>('skills.thread_sources', { sourcesOf: method() });

/** Who wrote a draft, and after having read what. */
export interface DraftOrigin {
  readonly agent: string;
  readonly threadId: string;
  readonly at: number;
  /** Of its conversations, from outside; null: nobody keeps that. */
  readonly sources: readonly string[] | null;
}

/** A new skill that an agent wrote and nobody has accepted yet. It lies in `.staging/skills` of the sandbox, where nothing offers it. */
export interface SkillDraft {
  readonly id: string;
  /** null: no tool recorded it. */
  readonly origin: DraftOrigin | null;
  readonly directory: string;
  /** Of the whole folder: an acceptance is for this. */
  readonly digest: string;
  /** All that a person looks at: where it came from, what the scan found, and the files. */
  readonly text: string;
  /** Why it cannot be accepted, as the end of a sentence; null: it can. */
  readonly why: string | null;
}

/** A file that a tool is about to write into a draft. */
export interface DraftedFile {
  /** Relative to the folder of the draft. */
  readonly path: string;
  /** Hex digest of its bytes. */
  readonly sha256: string;
  /** Of a SKILL.md: what it will hold. */
  readonly text?: string;
}

/** Keeps what agents write of new skills apart from the skills of people. */
export interface SkillDrafts {
  /** Absolute paths of all folders in which skills lie: nothing that an agent runs writes there. */
  folders(): Promise<readonly string[]>;
  /**
   * Before a tool writes these files of a draft: records who does. Answers with the nearest skills, best first. Rejects `use_proposal` for
   * a skill that exists or is nearly this one, `not_allowed` for the draft of another agent. Without files it only says whether it may be.
   */
  write(id: string, files: readonly DraftedFile[], turn: TurnInfo): Promise<readonly string[]>;
  /** Before a program runs that no sandbox holds back, such as an unconfined command: what it changes in skills during this turn waits for a person. */
  unconfined(program: string, turn: TurnInfo): Promise<void>;
  /** What an agent does in place of a change of a skill, as the end of a sentence. */
  proposalCure(turn: TurnInfo): Promise<string>;
  /** Rejects `skill_not_found`. */
  look(id: string): Promise<SkillDraft>;
  /** Makes it a skill, where it is what was shown. `by`: `person`, or the id of an agent. Rejects `skill_edited`, and what `skills.writer` rejects. */
  accept(id: string, digest: string, by: string): Promise<void>;
  /** Removes it, where all of it was written by tools. Rejects `skill_edited`. */
  discard(id: string): Promise<void>;
}

export const SkillDrafts = defineProtocol<SkillDrafts>(
  'skills.drafts',
  {
    folders: method(),
    write: method({ timeoutMs: 60_000 }),
    unconfined: method({ timeoutMs: 60_000 }),
    proposalCure: method(),
    look: method({ timeoutMs: 60_000 }),
    accept: method({ timeoutMs: null }),
    discard: method({ timeoutMs: null }),
  },
  { inProcessOnly: true },
);
