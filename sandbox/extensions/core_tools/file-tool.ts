import { defineTool, toolError, toolResult, z, type Tool, type ToolResult } from 'pith';
import type { Entry, Jail } from './jail.ts';
import { segmentsOf } from './path.ts';
import type { Policy } from './policy.ts';
import { FileRefused, refusalOf, unavailable } from './refusal.ts';
import { binaryType, digestOf, PART_BYTES, readPart } from './text.ts';

const MAX_WRITE_BYTES = 1024 * 1024;
const MAX_COPY_BYTES = 16 * 1024 * 1024;
const MAX_ENTRIES = 500;

const input = z.object({
  action: z.enum(['read', 'write', 'list', 'stat', 'move', 'copy', 'delete']),
  path: z.string().describe('Relative to the sandbox, such as "extensions/kv/main.ts"; "." is the sandbox itself.'),
  content: z.string().optional().describe('For write: the whole new text.'),
  to: z.string().optional().describe('For move and copy: the new path.'),
  part: z.int().min(1).default(1).describe('For read: which part of a long file.'),
  overwrite: z.boolean().default(false).describe('For move and copy: replace what stands there.'),
});

type Input = z.infer<typeof input>;

/**
 * One tool for all actions. Its effect is `write` as a whole: a call that was cut off is reported to the model, not
 * repeated, also where it only read.
 */
export function fileTool(jail: Jail, policy: Policy): Tool {
  return defineTool({
    name: 'file',
    description:
      'Read, write, list, stat, move, copy or delete files of the sandbox. Files only; delete also removes an empty folder. ' +
      'Changes to extensions, agents and new skills wait for approval; an existing skill is changed by propose_skill_update.',
    input,
    effect: 'write',
    async needsApproval(call) {
      try {
        const verdicts = await Promise.all(changedPaths(call).map((path) => policy.verdictOnChange(segmentsOf(path, jail.root))));
        return verdicts.includes('ask');
      } catch (error) {
        if (error instanceof FileRefused) return false; // the call itself will be refused: no person need be asked
        throw error;
      }
    },
    async execute(call, { signal }) {
      try {
        return await run(jail, policy, call, signal);
      } catch (error) {
        return refusalOf(error, call.path, signal);
      }
    },
    present: (result) => (result.ok ? (result.title ?? 'Done') : `Error: ${result.error.message}`),
  });
}

function changedPaths(call: Input): readonly string[] {
  if (call.action === 'write' || call.action === 'delete') return [call.path];
  if (call.action === 'copy') return call.to === undefined ? [] : [call.to];
  return call.action === 'move' && call.to !== undefined ? [call.path, call.to] : [];
}

async function run(jail: Jail, policy: Policy, call: Input, signal: AbortSignal): Promise<ToolResult> {
  const segments = segmentsOf(call.path, jail.root);
  const path = segments.join('/') || '.';
  policy.requireReadable(segments);
  for (const changed of changedPaths(call)) await policy.verdictOnChange(segmentsOf(changed, jail.root));
  signal.throwIfAborted();
  switch (call.action) {
    case 'read':
      return read(jail, segments, call.part, signal);
    case 'list':
      return list(jail, policy, segments);
    case 'stat': {
      const entry = await jail.stat(segments);
      if (entry === null || entry.type === 'other') throw unavailable(path);
      return toolResult({ path, type: entry.type, size: entry.size, modified: entry.modified }, { title: `${path}: ${entry.type}` });
    }
    case 'write': {
      if (call.content === undefined) return toolError('content_missing', 'write needs `content`');
      const bytes = Buffer.from(call.content);
      if (bytes.length > MAX_WRITE_BYTES)
        return toolError('file_too_large', `'${path}' would have ${bytes.length} bytes; at most ${MAX_WRITE_BYTES} are written`);
      await (await jail.stage(segments, bytes)).commit();
      return toolResult({ path, bytes: bytes.length }, { title: `Wrote ${path}` });
    }
    case 'delete':
      await jail.remove(segments);
      return toolResult({ path, deleted: true }, { title: `Deleted ${path}` });
    case 'move':
    case 'copy':
      return transfer(jail, call, segments);
  }
}

async function read(jail: Jail, segments: readonly string[], part: number, signal: AbortSignal): Promise<ToolResult> {
  const path = segments.join('/');
  return jail.read(segments, async (handle, size) => {
    const parts = Math.max(1, Math.ceil(size / PART_BYTES));
    if (part > parts) return toolError('part_unknown', `'${path}' has ${parts} part${parts === 1 ? '' : 's'}; part ${part} was asked for`);
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

async function list(jail: Jail, policy: Policy, segments: readonly string[]): Promise<ToolResult> {
  const path = segments.join('/') || '.';
  const { entries, total } = await jail.list(segments, MAX_ENTRIES);
  const shown = entries.filter((entry) => entry.type !== 'other' && isReadable(policy, [...segments, entry.name]));
  return toolResult(
    { path, entries: shown.map(lineOf), ...(total > MAX_ENTRIES ? { more: total - MAX_ENTRIES } : {}) },
    { title: `Listed ${path}` },
  );
}

async function transfer(jail: Jail, call: Input, from: readonly string[]): Promise<ToolResult> {
  if (call.to === undefined) return toolError('target_missing', `${call.action} needs \`to\``);
  const to = segmentsOf(call.to, jail.root);
  const paths = { path: from.join('/'), to: to.join('/') };
  if (!call.overwrite && (await jail.stat(to)) !== null)
    return toolError('target_exists', `'${paths.to}' exists; set overwrite to replace it`);
  if (call.action === 'move') {
    await jail.move(from, to);
  } else {
    const bytes = await jail.read(from, async (handle, size) => {
      if (size > MAX_COPY_BYTES)
        throw new FileRefused('file_too_large', `'${paths.path}' has ${size} bytes; at most ${MAX_COPY_BYTES} are copied`);
      return handle.readFile();
    });
    await (await jail.stage(to, bytes)).commit();
  }
  return toolResult({ ...paths, done: true }, { title: `${call.action === 'move' ? 'Moved' : 'Copied'} ${paths.path} to ${paths.to}` });
}

function isReadable(policy: Policy, segments: readonly string[]): boolean {
  try {
    policy.requireReadable(segments);
    return true;
  } catch (error) {
    if (error instanceof FileRefused) return false;
    throw error;
  }
}

function lineOf({ name, type, size }: Entry) {
  return type === 'directory' ? { name, type } : { name, type, size };
}
