import {
  defineTool,
  toolError,
  toolResult,
  z,
  type ApprovalQuestion,
  type Tool,
  type ToolCall,
  type ToolResult,
  type TurnInfo,
} from 'pith';
import { counted } from '@pith/plain-text';
import type { OneAtATime } from '@pith/folder-changes';
import {
  binaryType,
  digestOf,
  FileRefused,
  isRefusal,
  PART_BYTES,
  readPart,
  unavailable,
  unlessRefused,
  type Entry,
  type Jail,
} from '@pith/safe-files';
import { isShowable, questionOf, requireApproved, type Asked } from './change-question.ts';
import { noted, type Policy } from './policy.ts';
import { isShipped, pathOf, withoutPrefix, type ReadableRoot } from './readable-root.ts';

const MAX_WRITE_BYTES = 1024 * 1024;
const MAX_COPY_BYTES = 16 * 1024 * 1024;
const MAX_ENTRIES = 500;

const input = z.object({
  action: z.enum(['read', 'write', 'list', 'stat', 'move', 'copy', 'delete']),
  path: z
    .string()
    .describe(
      'Relative to the sandbox, such as "extensions/kv/main.ts"; "." is the sandbox itself. What ships with Pith is read as "shipped:extensions/kv/main.ts".',
    ),
  content: z.string().optional().describe('For write: the whole new text.'),
  to: z.string().optional().describe('For move and copy: the new path.'),
  part: z.int().min(1).default(1).describe('For read: which part of a long file.'),
  overwrite: z.boolean().default(false).describe('For move and copy: replace an existing file.'),
});

type Input = z.infer<typeof input>;

/**
 * One tool for all actions. Its effect is always `write`: an interrupted call is reported to the model and not repeated, even where it only
 * read.
 */
export function fileTool(jail: Jail, policy: Policy, shipped: ReadableRoot, changes: OneAtATime): Tool {
  const own: ReadableRoot = { jail, prefix: '', isReadable: (names) => policy.isReadable(names) };
  return defineTool({
    name: 'file',
    description:
      'Read, write, list, stat, move, copy or delete files of the sandbox. Files only; delete also removes an empty folder. ' +
      'Changes to code, agents, recipes, dot files, lock files, package and build files and agent instructions wait for approval. ' +
      'A new skill, skills/<id>/SKILL.md, is a draft until a person accepts it; a change of an existing skill is proposed.',
    input,
    effect: 'write',
    permission: { authoring: 'admin', safeToShare: false },
    needsApproval: (call, turn) =>
      // Shipped files are only read, or refused.
      unlessRefused(async () => (isShipped(call) ? null : (await prepare(jail, policy, call, turn)).question) ?? false, false),
    execute(call, about) {
      if (isShipped(call)) return readShipped(shipped, call, about.signal);
      const work = () => run(own, policy, call, about);
      return changedPaths(call).length === 0 ? work() : changes.run(jail.root, work, about.signal);
    },
    present: (result) => (result.ok ? (result.title ?? 'Done') : `Error: ${result.error.message}`),
  });
}

function changedPaths(call: Input): readonly string[] {
  if (call.action === 'write' || call.action === 'delete') return [call.path];
  if (call.action === 'copy') return call.to === undefined ? [] : [call.to];
  return call.action === 'move' && call.to !== undefined ? [call.path, call.to] : [];
}

/** A call with its present effect. */
interface Prepared {
  /** What a person must approve first; null: nothing. */
  readonly question: ApprovalQuestion | null;
  /** The bytes that a move or copy writes after approval: exactly those that were shown. */
  readonly content: Buffer | null;
}

async function prepare(jail: Jail, policy: Policy, call: Input, turn: TurnInfo): Promise<Prepared> {
  const from = policy.namesOf(call.path);
  if (call.action !== 'write') policy.requireReadable(from); // the author of a new skill writes its cases
  const asked: Asked[] = [];
  for (const changed of changedPaths(call)) {
    const segments = policy.namesOf(changed);
    const why = await policy.reasonToAsk(segments, turn);
    if (why !== null) asked.push({ path: segments.join('/'), why });
  }
  if (asked.length === 0) return { question: null, content: null };
  const target = call.to === undefined ? null : policy.namesOf(call.to);
  const to = target?.join('/') ?? null;
  const bound = [call.action, from.join('/'), to, call.overwrite, call.content ?? null];
  const summary = `${call.action} ${from.join('/')}${to === null ? '' : ` to ${to}`}`;
  if (call.action === 'write' && call.content !== undefined) {
    const shown = [{ path: from.join('/'), before: await textAt(jail, from), after: Buffer.from(call.content) }];
    return { question: questionOf({ summary, asked, shown, bound }), content: null };
  }
  if (target === null || to === null || !asked.some(({ path }) => path === to))
    return { question: questionOf({ summary, asked, shown: [], bound }), content: null };
  await requireFree(jail, call, target);
  const content = await contentOf(jail, from);
  const before = (await jail.stat(target)) === null ? null : await contentOf(jail, target);
  return { question: questionOf({ summary, asked, shown: [{ path: to, before, after: content }], bound }), content };
}

/** The present content for a comparison; null: none, or it cannot be shown. */
async function textAt(jail: Jail, names: readonly string[]): Promise<Buffer | null> {
  if ((await jail.stat(names))?.type !== 'file') return null;
  const bytes = await contentOf(jail, names).catch((error: unknown) => {
    if (isRefusal(error)) return null;
    throw error;
  });
  return bytes !== null && isShowable(bytes) ? bytes : null;
}

/** Shipped files can only be read, wherever a call names one. */
async function readShipped(shipped: ReadableRoot, call: Input, signal: AbortSignal): Promise<ToolResult> {
  const names = shipped.jail.namesOf(withoutPrefix(call.path));
  if (call.action !== 'read' && call.action !== 'list' && call.action !== 'stat')
    return toolError('protected', 'what ships with Pith is only read; write a copy with another path into the sandbox');
  if (!shipped.isReadable(names)) throw unavailable(call.path);
  return look(shipped, call, names, signal);
}

async function look(root: ReadableRoot, { action, part }: Input, names: readonly string[], signal: AbortSignal): Promise<ToolResult> {
  if (action === 'read') return read(root, names, part, signal);
  if (action === 'list') return list(root, names);
  const path = pathOf(root, names);
  const entry = await root.jail.stat(names);
  if (entry === null || entry.type === 'other') throw unavailable(path);
  return toolResult({ path, type: entry.type, size: entry.size, modified: entry.modified }, { title: `${path}: ${entry.type}` });
}

async function run(own: ReadableRoot, policy: Policy, call: Input, { approved, signal, turn }: ToolCall): Promise<ToolResult> {
  const { jail } = own;
  const segments = policy.namesOf(call.path);
  const path = segments.join('/') || '.';
  const { question, content } = await prepare(jail, policy, call, turn);
  requireApproved(question, approved);
  signal.throwIfAborted();
  switch (call.action) {
    case 'read':
    case 'list':
    case 'stat':
      return look(own, call, segments, signal);
    case 'write': {
      if (call.content === undefined) return toolError('content_missing', 'write needs `content`');
      const bytes = Buffer.from(call.content);
      if (bytes.length > MAX_WRITE_BYTES)
        return toolError('file_too_large', `'${path}' would have ${bytes.length} bytes; at most ${MAX_WRITE_BYTES} are written`);
      const draft = await policy.beforeWrite([{ names: segments, bytes }], turn);
      (await jail.stage(segments, bytes)).commit();
      return toolResult({ path, bytes: bytes.length, ...noted(draft) }, { title: `Wrote ${path}` });
    }
    case 'delete':
      await jail.remove(segments);
      return toolResult({ path, deleted: true }, { title: `Deleted ${path}` });
    case 'move':
    case 'copy':
      return transfer(jail, policy, { call, from: segments, content }, turn);
  }
}

async function read(root: ReadableRoot, segments: readonly string[], part: number, signal: AbortSignal): Promise<ToolResult> {
  const path = pathOf(root, segments);
  return root.jail.read(segments, async (handle, size) => {
    const parts = Math.max(1, Math.ceil(size / PART_BYTES));
    if (part > parts) return toolError('part_unknown', `'${path}' has ${counted(parts, 'part')}; part ${part} was asked for`);
    const text = await readPart(handle, size, part);
    if (text === null) {
      const sha256 = await digestOf(handle, signal);
      return toolResult({ path, binary: true, type: binaryType(path), size, sha256 }, { title: `${path}: binary, ${size} bytes` });
    }
    return toolResult(
      { path, size, ...(parts > 1 ? { part, parts } : {}), text },
      { title: `Read ${path}${parts > 1 ? ` (${part}/${parts})` : ''}` },
    );
  });
}

async function list(root: ReadableRoot, segments: readonly string[]): Promise<ToolResult> {
  const path = pathOf(root, segments);
  const { entries, total } = await root.jail.list(segments, MAX_ENTRIES);
  const shown = entries.filter((entry) => entry.type !== 'other' && root.isReadable([...segments, entry.name]));
  return toolResult(
    { path, entries: shown.map(lineOf), ...(total > MAX_ENTRIES ? { more: total - MAX_ENTRIES } : {}) },
    { title: `Listed ${path}` },
  );
}

interface Transfer {
  readonly call: Input;
  readonly from: readonly string[];
  /** What a person has seen, which is written instead of the present content of `from`. */
  readonly content: Buffer | null;
}

async function transfer(jail: Jail, policy: Policy, { call, from, content }: Transfer, turn: TurnInfo): Promise<ToolResult> {
  if (call.to === undefined) return toolError('target_missing', `${call.action} needs \`to\``);
  const to = policy.namesOf(call.to);
  const paths = { path: from.join('/'), to: to.join('/') };
  await requireFree(jail, call, to);
  const bytes = content ?? (policy.isOfDraft(to) || call.action === 'copy' ? await contentOf(jail, from) : null);
  const draft = bytes === null ? [] : await policy.beforeWrite([{ names: to, bytes }], turn);
  if (bytes === null || call.action === 'move') await jail.move(from, to, bytes);
  else (await jail.stage(to, bytes)).commit();
  return toolResult(
    { ...paths, done: true, ...noted(draft) },
    { title: `${call.action === 'move' ? 'Moved' : 'Copied'} ${paths.path} to ${paths.to}` },
  );
}

async function requireFree(jail: Jail, { overwrite }: Input, to: readonly string[]): Promise<void> {
  if (!overwrite && (await jail.stat(to)) !== null)
    throw new FileRefused('target_exists', `'${to.join('/')}' exists; set overwrite to replace it`);
}

function contentOf(jail: Jail, segments: readonly string[]): Promise<Buffer> {
  return jail.read(segments, async (handle, size) => {
    if (size > MAX_COPY_BYTES)
      throw new FileRefused('file_too_large', `'${segments.join('/')}' has ${size} bytes; at most ${MAX_COPY_BYTES} are copied`);
    return handle.readFile();
  });
}

function lineOf({ name, type, size }: Entry) {
  return type === 'directory' ? { name, type } : { name, type, size };
}
