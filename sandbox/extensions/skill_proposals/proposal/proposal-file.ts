import { messageOf } from 'pith';
import { yamlValue } from '@pith/guarded-yaml';
import type { Entry, Proposal } from './proposal.ts';
import { headSchema } from './proposal.ts';

/** As a person reads it: frontmatter, then the diff in a fence and the texts as quotations, which nothing in them can end. */
export function fileText({ diff, justification, evidence, ...head }: Proposal): string {
  const longest = Math.max(2, ...[...diff.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const keys = Object.keys(headSchema.shape) as (keyof typeof head)[];
  const lines = keys.flatMap((key) => (head[key] === null ? [] : `${key}: ${scalar(head[key])}`));
  const parts = ['---', ...lines, '---', '', '# Diff', '', `${fence}diff`, diff.replace(/\n$/u, ''), fence];
  return [...parts, '', '# Justification', '', quoted(justification), '', '# Evidence', '', quoted(evidence), ''].join('\n');
}

/** JSON is YAML; a plain word reads better. */
function scalar(value: unknown): string {
  if (typeof value === 'string' && /^[a-z][\w.-]*$/iu.test(value) && !/^(?:true|false|null|yes|no|on|off|y|n)$/iu.test(value)) return value;
  return JSON.stringify(value);
}

function quoted(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n');
}

const FILE =
  /^---\n([^]*?)\n---\n+# Diff\n\n(`{3,})diff\n([^]*?)\n\2\n+# Justification\n\n((?:>[^\n]*\n)*)\n*# Evidence\n\n((?:>[^\n]*(?:\n|$))*)\s*$/u;

/** Never throws: what is no proposal is `malformed`, with the reason. */
export function entryOf(file: Entry['file']): Entry {
  const name = file.name.replace(/\.md$/u, '');
  const malformed = (problem: string): Entry => ({ id: name, state: 'malformed', proposal: null, problem, file });
  if (file.text === '') return malformed('it is empty, too large, or not a regular file of this user');
  const [, head, , diff, justification, evidence] = FILE.exec(file.text) ?? [];
  if (head === undefined || diff === undefined)
    return malformed('it lacks its frontmatter, or one of its sections Diff, Justification and Evidence');
  let value: unknown;
  try {
    value = yamlValue(head);
  } catch (error) {
    return malformed(`its frontmatter cannot be read: ${messageOf(error).split('\n', 1)[0]}`);
  }
  const { data, error } = headSchema.safeParse(value);
  if (error !== undefined) {
    const [issue] = error.issues;
    const place = issue === undefined || issue.path.length === 0 ? 'its frontmatter' : `'${issue.path.join('.')}' in its frontmatter`;
    return malformed(`${place} is not valid: ${issue?.message ?? ''}`);
  }
  if (data.id !== name) return malformed(`its id is '${data.id}', and its file has another name`);
  const proposal = { ...data, diff: `${diff}\n`, justification: unquoted(justification ?? ''), evidence: unquoted(evidence ?? '') };
  return { id: name, state: data.status, proposal, problem: null, file };
}

function unquoted(text: string): string {
  return text
    .replace(/\n+$/u, '')
    .split('\n')
    .map((line) => line.replace(/^> ?/u, ''))
    .join('\n');
}
