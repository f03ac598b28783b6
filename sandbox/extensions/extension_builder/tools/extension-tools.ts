import { defineTool, messageOf, toolError, toolResult, z, type Tool, type TurnInfo, PithError, type ApprovalQuestion } from 'pith';
import { giveTools } from '../agent-tools.ts';
import { askerOf, type Builder } from '../builder.ts';
import { checkJson } from '../finding.ts';
import { readSources, type Source } from '../sources.ts';
import { extensionTemplate, KINDS, type ExtensionKind } from '../templates.ts';
import { WATCH_MS } from '../versions/activation.ts';
import { activationSummary, answered, enforcedText, subjectOf, summaryText } from '../activation-summary.ts';

const id = z.string().min(1).describe('The extension, in snake_case, such as city_time.');
const digest = z.string().min(1).describe('The digest that the check answered for these files.');

export function extensionTools(builder: Builder): readonly Tool[] {
  return [stage(builder), check(builder), activate(builder), rollBack(builder)];
}

function stage(builder: Builder): Tool {
  const { staging } = builder;
  return defineTool({
    name: 'stage_extension',
    description:
      'Begin to write or change an extension: makes a copy that nothing loads, from a template, from the active extension, or empty. ' +
      'Write its files with the file tool at the path that comes back, then call check_extension.',
    input: z.object({
      id,
      kind: z
        .enum(KINDS)
        .optional()
        .describe('The template for a new one. Without it: a copy of the active extension, or an empty folder.'),
      restart: z.boolean().default(false).describe('Throw away what is staged under this id and start over.'),
    }),
    effect: 'idempotent',
    permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
    async execute(input, { signal }) {
      const isKept = staging.exists('extensions', input.id) && !input.restart;
      const made = isKept ? null : await beginning(builder, input.id, input.kind, signal);
      if (made !== null) await staging.begin('extensions', input.id, made.sources);
      const sources = await staging.sources('extensions', input.id);
      const path = staging.path('extensions', input.id);
      return toolResult(
        {
          path,
          from: made?.from ?? 'what was staged before; restart starts over',
          files: sources.map((source) => `${path}/${source.path}`),
        },
        { title: `Staged ${input.id}` },
      );
    },
  });
}

async function beginning(
  builder: Builder,
  extension: string,
  kind: ExtensionKind | undefined,
  signal: AbortSignal,
): Promise<{ readonly from: string; readonly sources: readonly Source[] }> {
  const active = await builder.kernel.show(extension, signal);
  if (kind !== undefined) {
    const from = `the template for ${kind}${active === null ? '' : '; activating it replaces the extension that has this id'}`;
    return { from, sources: await extensionTemplate(builder.places.shippedSandbox, kind, extension) };
  }
  if (active !== null) return { from: 'the active extension', sources: await readSources(active.directory) };
  return { from: 'nothing: the folder is empty', sources: [] };
}

function check(builder: Builder): Tool {
  const { staging, sandbox } = builder;
  const asked = new Set<string>();
  const agreed = new Set<string>();
  const conversation = (extension: string, turn: Pick<TurnInfo, 'threadId'>) => `${turn.threadId} ${extension}`;
  return defineTool({
    name: 'check_extension',
    description:
      'Check a staged extension: manifest, imports, types, loading in a separate process, contract, its own tests (*.test.ts), ' +
      'and one call of each tool that changes nothing. Returns findings with file, line and cure, and the digest that activate_extension wants.',
    input: z.object({ id }),
    effect: 'idempotent',
    permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
    timeoutMs: 240_000,
    async needsApproval(input, turn) {
      const key = conversation(input.id, turn);
      if (agreed.has(key)) return false;
      const question = await unconfinedText(builder, input.id);
      if (question !== false) asked.add(key);
      return question;
    },
    async execute(input, { signal, turn }) {
      const key = conversation(input.id, turn);
      if (asked.has(key)) agreed.add(key); // it comes here only after a yes
      await staging.sources('extensions', input.id);
      const found = await builder.checkExtension(staging.folder('extensions', input.id), signal);
      await staging.remember(input.id, found.digest, found.ok);
      return toolResult(
        {
          ok: found.ok,
          digest: found.digest,
          checks: found.checks.map((each) => checkJson(each, sandbox)),
          tools: found.tools.map((each) => ({ ...each })),
          tried: [...found.tried],
          next: found.ok ? 'activate_extension with this digest; a person is asked' : 'fix the errors, then check again',
        },
        { title: found.ok ? `${input.id} passes` : `${input.id} does not pass` },
      );
    },
  });
}

/** What is staged was written without a person: only a sandbox lets it run unasked. False where there is one, whatever the input. */
async function unconfinedText(builder: Builder, extension: string): Promise<string | boolean> {
  const why = await builder.unconfined().catch(messageOf);
  if (why === null) return false;
  const path = builder.staging.path('extensions', extension);
  return `the check runs the code and the tests in ${path} as you, with your files and network, because nothing confines it here:  ${why}`;
}

function activate(builder: Builder): Tool {
  const { staging, sandbox, activation } = builder;
  return defineTool({
    name: 'activate_extension',
    description:
      'Make a staged extension that has passed its checks the active one; a person is asked. Its tools reach agents with uses_tools "*" from ' +
      'their next turn, and the agents in give_to. It is watched for a minute; when it fails, the version before comes back by itself.',
    input: z.object({
      id,
      digest,
      give_to: z.array(z.string().min(1)).default([]).describe('Agents of this sandbox that get it in uses_tools.'),
    }),
    permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
    timeoutMs: 90_000,
    needsApproval: (input) =>
      questionOf(async () => {
        const { sources, why } = await staging.passed(input.id, input.digest);
        if (why !== null) return { why };
        const before = await builder.folders.sources(input.id);
        const summary = activationSummary(before, sources);
        const missing = await builder.unconfined().catch(messageOf);
        const text = summaryText(summary, input.give_to, missing === null);
        return {
          summary: `${before === null ? 'activate the new extension' : 'replace the extension'} ${input.id}`,
          text:
            missing === null ? text : `It will run not sandboxed on this system, as you, with your files and network: ${missing}\n${text}`,
          enforced: enforcedText(summary, missing === null),
          subject: subjectOf(before, sources, input.give_to),
        };
      }),
    async execute(input, call) {
      const { sources, why } = await staging.passed(input.id, input.digest);
      if (why !== null) return toolError('not_checked', `'${input.id}' was not activated: ${why}`);
      const before = await builder.folders.sources(input.id);
      const summary = answered(activationSummary(before, sources)); // refuses what nobody could have read
      requireAgreed(subjectOf(before, sources, input.give_to), call.approved, input.id);
      const given: string[] = [];
      const edit = async () => {
        for (const agent of input.give_to) if (await giveTools(sandbox, agent, input.id)) given.push(agent);
        return given;
      };
      const result = await activation.activate(input.id, sources, { asker: askerOf(call), edit }, call.signal);
      if (!result.ok) {
        const now = result.former === null ? 'it was removed again' : `version ${result.former} is active again`;
        return toolError(
          'activation_failed',
          `'${input.id}' failed when it was activated: ${result.reason}; ${now}. Correct the staged files and check again`,
        );
      }
      return toolResult(
        { id: input.id, version: result.version, before: result.former, given_to: given, watched_seconds: WATCH_MS / 1000 },
        { title: `Activated ${input.id}, version ${result.version}`, metadata: { ...summary } },
      );
    },
  });
}

function rollBack(builder: Builder): Tool {
  return defineTool({
    name: 'rollback_extension',
    description: 'Make a former version of an extension active again; a person is asked. activate_extension answers the numbers.',
    // The number is part of the question: what is before the active one may be another by the time of the answer.
    input: z.object({ id, version: z.int().min(1).describe('Its number.') }),
    permission: { authoring: 'admin', calling: 'admin', safeToShare: false },
    timeoutMs: 90_000,
    needsApproval: (input) => questionOf(() => rollbackOf(builder, input.id, input.version)),
    async execute(input, call) {
      const { subject } = await rollbackOf(builder, input.id, input.version);
      requireAgreed(subject, call.approved, input.id);
      const result = await builder.activation.rollBack(input.id, input.version, askerOf(call), call.signal);
      if (!result.ok)
        return toolError(
          'activation_failed',
          `version ${result.version} of '${input.id}' failed: ${result.reason}; version ${result.former} stays`,
        );
      return toolResult(
        { id: input.id, version: result.version, before: result.former },
        { title: `${input.id} is at version ${result.version}` },
      );
    },
  });
}

/** What a person agrees to when they go back. */
async function rollbackOf(builder: Builder, extension: string, version: number): Promise<Agreed> {
  const active = await builder.folders.sources(extension);
  const wanted = await builder.versions.read(extension, version);
  const summary = activationSummary(active, wanted);
  const isConfined = (await builder.unconfined().catch(messageOf)) === null;
  return {
    summary: `go back to version ${version} of the extension ${extension}`,
    text: summaryText(summary, [], isConfined),
    enforced: enforcedText(summary, isConfined),
    subject: subjectOf(active, wanted, version),
  };
}

/** What a person agrees to before files become active: what they read, and what names exactly those files. */
interface Agreed {
  /** In one line. */
  readonly summary: string;
  readonly text: string;
  /** What the code is held to once it is active; absent: it is no code. */
  readonly enforced?: string;
  readonly subject: string;
}

/**
 * The question before an activation. It is always one: what would be refused now may pass a moment later, when a call beside this one has
 * written the staged files again. It is never for `always`, because the next activation is of other code.
 */
export async function questionOf(read: () => Promise<Agreed | { readonly why: string }>): Promise<ApprovalQuestion> {
  try {
    const found = await read();
    return 'text' in found ? { ...found, once: true } : refused(found.why);
  } catch (error) {
    return refused(messageOf(error));
  }
}

/** Throws for a call whose files are not those that were agreed to. */
export function requireAgreed(subject: string, approved: string | undefined, id: string): void {
  if (approved === subject) return;
  throw new PithError(
    'approval_needed',
    `'${id}' stays as it is: a person has not agreed to these very files; make the call again, so that they are asked`,
  );
}

function refused(why: string): ApprovalQuestion {
  return { text: `as it is now, this will be refused: ${why}`, once: true };
}
